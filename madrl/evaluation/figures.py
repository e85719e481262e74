"""Figures: where the category shares went over training, and what the evaluated responses show, with its error."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from madrl.evaluation.dumps import Run
from madrl.evaluation.metrics import jsd_per_prompt_floor
from madrl.report.evaluation_tables import first_and_last, label, title

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers as well."""


def training_figure(run: Run, history: Mapping[int, Mapping[str, float]], title: str, path: Path) -> None:
    """Two panels over training steps, as a PNG to ``path``: shares against the target, and the JSD, of the pooled batch
    and as the mean of single prompts, each against its own floor (mean to 95th percentile).

    ``history`` is ``RunFolder.history()``; behind each step of it are ``prompts`` times ``group`` responses, and the
    floors are those at as many on-support ones.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings, prompts, group = run.settings, run.prompts_per_step, run.group_size
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

    drawn = (
        ("mad/jsd_per_prompt", "JSD, mean of single prompts", group, (group,) * prompts, COLORS[2]),
        ("mad/jsd", "JSD, pooled batch", prompts * group, (prompts * group,), COLORS[0]),
    )
    for metric, name, n, _, color in drawn:
        values = [history[step].get(metric, math.nan) for step in steps]
        right.plot(steps, values, color=color, linewidth=1.8, label=f"{name}, n = {n}")
    off = [max(history[s]["mad/off_support_rate"], 0.0) for s in steps]
    right.plot(steps, off, color=COLORS[5], linewidth=1.2, linestyle=":", label="off-support rate")
    for _, _, n, counts, color in drawn:
        floor = jsd_per_prompt_floor(settings.target, counts)  # of the pool as of a single prompt
        label = f"floor at n = {n}: mean to p95"
        right.axhspan(floor.mean, floor.p95, color=color, alpha=0.22, linewidth=0, label=label)
    right.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
    right.set(xlabel="training step", ylabel="nats (JSD), share (off-support)", ylim=(0, 1.0))
    right.set_title("Distance to the target", loc="left", fontsize=11)
    # Below the panel, where no curve can reach it.
    right.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(left=min(steps, default=0), right=max(steps, default=1))
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.savefig(path, format="png", dpi=130)
    plt.close(figure)


def evaluation_figure(result: Mapping[str, Any], path: Path) -> None:
    """What ``score.evaluate_run`` or ``evaluate_file`` returned, as a PNG, first and last evaluation of each split.

    Left, a panel for each split: the category shares with their 95 % intervals, and the target. Right: the JSD with its
    interval on a log scale, each on its own floor (mean to 95th percentile).
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = first_and_last(result["evaluations"])
    splits = list(dict.fromkeys(row["split"] for row in rows))
    # One colour for a split's first evaluation where there is a later one, the other for its last.
    colors = [
        COLORS[4] if any(later["split"] == row["split"] for later in rows[i + 1 :]) else COLORS[0]
        for i, row in enumerate(rows)
    ]
    figure = plt.figure(figsize=(11, max(3.8, 2.7 * len(splits) + 0.5)), layout="constrained")
    grid = figure.add_gridspec(len(splits), 2)
    for i, split in enumerate(splits):
        axes = figure.add_subplot(grid[i, 0])
        of_split = [(row, color) for row, color in zip(rows, colors, strict=True) if row["split"] == split]
        _draw_shares(axes, result["target"], of_split)
        axes.set_title(split, loc="left", fontsize=11)
    _draw_jsd(figure.add_subplot(grid[:, 1]), rows, colors)
    figure.suptitle(title(result), x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.savefig(path, format="png", dpi=130)
    plt.close(figure)


def _draw_shares(axes: Any, target: Mapping[str, float], rows: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    width = 0.7 / len(rows)
    for i, (row, color) in enumerate(rows):
        offset = (i - (len(rows) - 1) / 2) * width
        found = [row["by_category"][name] for name in target]
        shares = [category["share"] or 0.0 for category in found]
        name = f"{label(row).splitlines()[-1]} (n = {row['on_support']})"
        places = [k + offset for k in range(len(found))]
        axes.bar(places, shares, width * 0.92, color=color, label=name)
        for place, category in zip(places, found, strict=True):
            if category["share_interval"] is not None:
                axes.plot([place, place], category["share_interval"], color="black", linewidth=1.1)
    for k, share in enumerate(target.values()):
        axes.plot([k - 0.42, k + 0.42], [share, share], color=COLORS[5], linewidth=2.0, label="_" if k else "target")
    axes.set_xticks(range(len(target)), target)
    axes.set(ylabel="share of on-support", ylim=(0, 1.0))
    # Above the panel, where no bar can reach it.
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        borderaxespad=0.0,
        ncols=3,
        handlelength=1.2,
        handletextpad=0.5,
        columnspacing=1.2,
        frameon=False,
        fontsize=8.5,
    )
    axes.spines[["top", "right"]].set_visible(False)


def _draw_jsd(axes: Any, rows: Sequence[Mapping[str, Any]], colors: Sequence[str]) -> None:
    measured = [row for row in rows if row["jsd"] is not None]
    # Zero, where an interval may start, has no place on a log scale: it is drawn to the left edge.
    left = min([row["floor"] for row in measured if row["floor"]], default=1e-3) / 5
    for place, (row, color) in enumerate(zip(rows, colors, strict=True)):
        if row["jsd"] is None:
            axes.text(left * 1.2, place, "no on-support response", va="center", fontsize=9)
            continue
        band = "_" if row is not measured[0] else "floor: mean to 95th percentile"
        axes.fill_betweenx([place - 0.3, place + 0.3], row["floor"], row["floor_p95"], color="0.82", label=band)
        if row["jsd_interval"] is not None:
            ends = [max(end, left) for end in row["jsd_interval"]]
            axes.plot(ends, [place, place], color="black", linewidth=1.1, marker="|", markersize=11)
        axes.plot([max(row["jsd"], left)], [place], "o", color=color, markersize=6)
        verdict = "off target" if row["off_target"] else "within the floor"
        axes.annotate(
            f"{row['jsd']:.4f}, {verdict}",
            (max(row["jsd"], left), place),
            (0, 9),
            fontsize=9,
            ha="center",
            textcoords="offset points",
        )
    axes.set_xscale("log")
    axes.set_xlim(left, 3.0)  # log 2 and the words above it
    axes.set_ylim(len(rows) - 0.3, -0.6)
    axes.set_yticks(range(len(rows)), [label(row) for row in rows])
    axes.set_xlabel("JSD of the pooled shares to the target, nats")
    axes.set_title("Distance to the target", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
