"""The report's figures as PNG and PDF: shares against the target, divergence over steps, accuracy within categories.

Runs that are missing behind a bar or a curve are said in its panel, and what is left is drawn pale or dashed.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from madrl.divergence import DIVERGENCES
from madrl.evaluation.figures import COLORS
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.curves import Curves, study_curves
from madrl.report.rows import Study, TableRow, rows_of
from madrl.report.study import dataset_label, is_mean_of_prompts, is_synthetic
from madrl.report.tables import row_label, target_label

REWARD_COLORS = dict(zip((*DIVERGENCES, "rlvr"), (COLORS[i] for i in (5, 0, 2, 1, 3)), strict=True))
FILE_COLOR = "#b5b5b5"
"""Of a file of responses: the SFT init's grey in the paper."""

METRIC_LABELS = {"l2": "$L_2$", "fkl": "forward KL, nats", "rkl": "reverse KL, nats", "jsd": "JSD, nats"}
PALE = 0.4
"""Opacity of what has runs missing behind it."""

DPI = 110

NOTE: dict[str, Any] = {"loc": "right", "fontsize": 8, "color": "0.35"}
"""What is missing, at the other end of a panel's title."""


def study_figures(study: Study, folder: Path) -> list[Path]:
    """Draw every figure for which there are runs, each as PNG and PDF, and return their paths."""
    panels = study.panels()
    drawn: list[Path] = []
    columns = list(dict.fromkeys(target for _, target in panels))
    with _figure(study.datasets, columns, folder / "shares", drawn) as axes:
        for dataset, target in panels:
            _draw_shares(axes[dataset, target], bars(study, dataset, target), target_of(study, dataset, target))
            axes[dataset, target].set_title(bars_note(study, dataset, target), **NOTE)
    graded = [dataset for dataset in study.datasets if not is_synthetic(dataset)]
    if graded:
        columns = list(dict.fromkeys(target for dataset, target in panels if dataset in graded))
        with _figure(graded, columns, folder / "accuracy", drawn) as axes:
            for dataset, target in panels:
                if dataset in graded:
                    _draw_accuracy(axes[dataset, target], bars(study, dataset, target))
                    axes[dataset, target].set_title(bars_note(study, dataset, target), **NOTE)
    curves = study_curves(study)
    if curves:
        drawn += _draw_curves(curves, folder / "divergence")
    return drawn


def bars(study: Study, dataset: str, target: str) -> list[TableRow]:
    """The rows that the bar charts show: the SFT init where its file was given, RLVR and the four divergences."""
    rows = rows_of(study, dataset, target)
    return [row for row in rows if row.reward == "SFT init" or (row.reward in REWARD_COLORS and row.runs)]


def bars_note(study: Study, dataset: str, target: str) -> str:
    """What is missing behind the bars, also where a bar is."""
    rows = rows_of(study, dataset, target)
    if not any(row.reward in DIVERGENCES for row in rows):
        return "no additive run"
    return incomplete_note([(row.reward, row.runs, row.expected) for row in rows if row.reward in REWARD_COLORS])


def incomplete_note(rows: Sequence[tuple[str, int, int]]) -> str:
    """Which of (reward, runs, expected) have runs missing; nothing when none has."""
    missing = [f"{row_label(reward)} {runs} of {expected}" for reward, runs, expected in rows if runs < expected]
    return f"runs there: {', '.join(missing)}" if missing else ""


def measured_on(dataset: str, metric: str) -> str:
    """What follows a metric's name where its curves are not of the pooled shares, or alone in being so."""
    if is_mean_of_prompts(dataset, metric):
        return ", mean of prompts"
    return ", pooled" if is_synthetic(dataset) else ""


def target_of(study: Study, dataset: str, target: str) -> dict[str, float]:
    """p* by category."""
    settings = study.settings(dataset, target)
    return dict(zip(settings.categories, settings.target.tolist(), strict=True))


@contextmanager
def _figure(
    datasets: Sequence[str], targets: Sequence[str], path: Path, drawn: list[Path]
) -> Iterator[dict[tuple[str, str], Any]]:
    """A panel for each dataset (row) and target (column), one legend above; saved when the block ends."""
    plt = _pyplot()
    figure, grid = plt.subplots(
        len(datasets),
        len(targets),
        figsize=(1.2 + 4.9 * len(targets), 0.7 + 2.6 * len(datasets)),
        squeeze=False,
        layout="constrained",
        sharey="row",
    )
    axes = {(d, t): grid[i][k] for i, d in enumerate(datasets) for k, t in enumerate(targets)}
    yield axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: dict[str, Any] = {}
    for (dataset, target), panel in axes.items():
        if not panel.has_data():
            panel.set_axis_off()
            panel.text(0.5, 0.5, "no run", ha="center", color="0.5", transform=panel.transAxes)
            continue
        panel.set_title(f"{dataset_label(dataset)}, {target_label(target)}", loc="left", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9, labelleft=True)
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            # Full colour: a bar that is pale in one panel is not in another.
            color = next((c for reward, c in REWARD_COLORS.items() if row_label(reward) == name), None)
            handles.setdefault(name, Patch(color=color) if color else handle)
    names = sorted(handles, key=lambda name: isinstance(handles[name], Line2D))
    _legend(figure, {name: handles[name] for name in names})
    drawn += _save(figure, path)


def _legend(figure: Any, handles: dict[str, Any]) -> None:
    names = list(handles)
    style = {"ncols": len(names), "frameon": False, "fontsize": 9}
    figure.legend(handles.values(), names, loc="outside upper center", **style)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, path: Path) -> list[Path]:
    paths = [path.with_suffix(".png"), path.with_suffix(".pdf")]
    for one in paths:
        # Without a date, the same runs give the same bytes.
        metadata = {"CreationDate": None} if one.suffix == ".pdf" else {}
        figure.savefig(one, format=one.suffix[1:], dpi=DPI, metadata=metadata)
    _pyplot().close(figure)
    return paths


def _draw_bars(
    axes: Any, rows: Sequence[TableRow], names: Sequence[str], draw: Callable[[Any, TableRow, str, float, float], None]
) -> None:
    """``draw(axes, row, name, place, width)`` for every bar, in groups by category."""
    width = 0.8 / max(len(rows), 1)
    for i, row in enumerate(rows):
        for k, name in enumerate(names):
            draw(axes, row, name, k + (i - (len(rows) - 1) / 2) * width, width * 0.9)
    axes.set_xticks(range(len(names)), names)


def _style(row: TableRow, first: bool) -> dict[str, Any]:
    return {
        "color": REWARD_COLORS.get(row.reward, FILE_COLOR),
        "alpha": 1.0 if row.complete else PALE,
        "label": row_label(row.reward) if first else "_",
    }


def _draw_shares(axes: Any, rows: Sequence[TableRow], target: dict[str, float]) -> None:
    names = list(target)

    def draw(axes: Any, row: TableRow, name: str, place: float, width: float) -> None:
        share = row.shares[name]
        axes.bar(place, share.value or 0.0, width, **_style(row, name == names[0]))
        if share.low is not None:
            axes.plot([place, place], [share.low, share.high], color="black", linewidth=1.0, label="_")

    _draw_bars(axes, rows, names, draw)
    for k, share in enumerate(target.values()):
        label = "_" if k else "target"
        axes.plot(
            [k - 0.45, k + 0.45], [share, share], color="black", linewidth=1.6, linestyle=(0, (3, 1.5)), label=label
        )
    high = max([*target.values(), *(s.high or s.value or 0.0 for row in rows for s in row.shares.values())])
    axes.set(ylabel="share of on-support", ylim=(0, min(1.0, 1.25 * high)))


def _draw_accuracy(axes: Any, rows: Sequence[TableRow]) -> None:
    names = list(rows[0].accuracy) if rows else []

    def draw(axes: Any, row: TableRow, name: str, place: float, width: float) -> None:
        accuracy = row.accuracy[name].accuracy
        style = _style(row, name == names[0])
        axes.bar(place, accuracy or 0.0, width, **style)
        if accuracy is None:
            # Above the axis line, or it would be half hidden by it.
            axes.plot(place, 0.0, "o", color=style["color"], markersize=4, clip_on=False, zorder=5, label="_")

    _draw_bars(axes, rows, names, draw)
    label = f"below {MIN_COMPLETIONS} graded responses"
    axes.plot([], [], "o", color="0.4", markersize=4, linestyle="none", label=label)
    axes.set(ylabel="pass@1, counts pooled", ylim=(0, 1.0))


def _draw_curves(found: Sequence[Curves], path: Path) -> list[Path]:
    """A row of panels for each dataset and target, a column for each metric."""
    plt = _pyplot()
    figure, grid = plt.subplots(
        len(found), len(DIVERGENCES), figsize=(13, 0.8 + 2.5 * len(found)), squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for of_target, row in zip(found, grid, strict=True):
        for metric, axes in zip(DIVERGENCES, row, strict=True):
            _draw_metric(axes, of_target, metric)
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        name = f"{dataset_label(of_target.dataset)}, {target_label(of_target.target)}"
        row[0].set_title(name, loc="left", fontsize=10)
        row[-1].set_title(incomplete_note(of_target.counts), **NOTE)
    for axes in grid[-1]:
        axes.set_xlabel("training step", fontsize=9)
    _legend(figure, handles)
    return _save(figure, path)


def _draw_metric(axes: Any, of_target: Curves, metric: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for curve in of_target.of(metric):
        finite = [math.isfinite(value) for value in curve.mean]
        steps = [step for step, ok in zip(curve.steps, finite, strict=True) if ok]
        kept = [
            [v for v, ok in zip(values, finite, strict=True) if ok] for values in (curve.mean, curve.low, curve.high)
        ]
        complete = curve.runs == curve.expected
        color = REWARD_COLORS[curve.reward]
        axes.plot(
            steps,
            kept[0],
            marker="o",
            markersize=3,
            color=color,
            linewidth=1.6,
            linestyle="-" if complete else ":",
            label=row_label(curve.reward),
        )
        axes.fill_between(steps, kept[1], kept[2], color=color, alpha=0.18, linewidth=0)
        infinite = [step for step, ok in zip(curve.steps, finite, strict=True) if not ok]
        if infinite:
            places = [1.0] * len(infinite)
            axes.plot(
                infinite, places, "^", color=color, transform=axes.get_xaxis_transform(), clip_on=False, label="_"
            )
            # One entry of the legend for all, as the first to be drawn is in no colour of its own.
            axes.plot([], [], "^", color="0.4", linestyle="none", label="infinite: a wanted category is missing")
    if metric == "jsd":
        floor = of_target.floor
        axes.axhspan(floor.mean, floor.p95, color="0.85", zorder=0, label="floor of the JSD: mean to p95")
        axes.text(
            0.99, floor.mean, f"n={floor.n}", transform=axes.get_yaxis_transform(),
            ha="right", va="bottom", fontsize=7.5, color="0.35",
        )  # fmt: skip
    axes.set_yscale("log")
    if not any(math.isfinite(value) for curve in of_target.of(metric) for value in curve.mean):
        axes.set_ylim(0.01, 1.0)  # a log scale of nothing has no limits
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(METRIC_LABELS[metric] + measured_on(of_target.dataset, metric), fontsize=9)
    axes.tick_params(labelsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)
