"""Figures of one run: where its category shares went, and how far from the target they are."""

from collections.abc import Mapping
from pathlib import Path

from madrl.evaluation.metrics import jsd_floor
from madrl.files import replacing
from madrl.settings import Settings

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers as well."""


def training_figure(
    history: Mapping[int, Mapping[str, float]], settings: Settings, batch_responses: int, title: str, path: Path
) -> None:
    """Two panels over training steps, as a PNG: shares against the target, and JSD against its estimator floor.

    ``history`` is ``RunFolder.history()``; ``batch_responses`` is the number of responses behind each step's shares,
    at which the floor is drawn (mean and 95th percentile).
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    steps = [step for step, metrics in history.items() if "mad/jsd" in metrics]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for i, name in enumerate(settings.categories):
        share = [history[step][f"mad/share/{name}"] for step in steps]
        color = COLORS[i % len(COLORS)]
        left.plot(steps, share, color=color, linewidth=1.8, label=f"{name} (target {settings.target[i]:.2f})")
        left.axhline(settings.target[i], color=color, linewidth=0.9, linestyle=(0, (4, 4)), alpha=0.7)
    left.set(xlabel="training step", ylabel="share of on-support responses", ylim=(-0.02, 1.0))
    left.set_title("Category shares (dashes: target)", loc="left", fontsize=11)
    left.legend(frameon=False, fontsize=9)

    right.plot(steps, [history[s]["mad/jsd"] for s in steps], color=COLORS[0], linewidth=1.8, label="JSD to target")
    floor = jsd_floor(settings.target, batch_responses)
    right.axhspan(floor.mean, floor.p95, color="0.85", label=f"floor at {batch_responses} samples: mean to p95")
    off = [max(history[s]["mad/off_support_rate"], 0.0) for s in steps]
    right.plot(steps, off, color=COLORS[5], linewidth=1.2, linestyle=":", label="off-support rate")
    right.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
    right.set(xlabel="training step", ylabel="nats (JSD), share (off-support)", ylim=(0, 1.0))
    right.set_title("Distance to the target", loc="left", fontsize=11)
    right.legend(frameon=False, fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(left=min(steps, default=0), right=max(steps, default=1))
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    with replacing(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=130)
    plt.close(figure)
