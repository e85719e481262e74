"""The interactive plots of a page: plain dicts in plotly.js's schema, one or several choices behind each.

plotly's Python package is not needed for them, and its plotly.js is four times the size of the bundle that the page
carries (``madrl.report.page``).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.curves import Curve, Curves, study_curves
from madrl.report.figures import (
    FILE_COLOR,
    PALE,
    REWARD_COLORS,
    bars,
    bars_note,
    incomplete_note,
    measured_on,
    target_of,
)
from madrl.report.rows import FloorAt, Study, TableRow
from madrl.report.study import dataset_label, is_synthetic
from madrl.report.tables import row_label, target_label

FLOOR_COLOR = "rgba(120,120,120,0.22)"
METRICS = {"jsd": "JSD", "l2": "L2", "fkl": "forward KL", "rkl": "reverse KL"}
"""In the order in which a page offers them: the one that everything else is told in comes first."""


class Choice(NamedTuple):
    """One plot, and the names of the buttons that show it, one for each row of buttons."""

    labels: list[str]
    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Plot(NamedTuple):
    """A place on the page."""

    name: str
    title: str
    caption: str
    choices: list[Choice]


def study_plots(study: Study) -> list[Plot]:
    """The report's three figures, as the PNGs have them."""
    panels = study.panels()
    graded = [panel for panel in panels if not is_synthetic(panel[0])]
    curves = study_curves(study)
    plots = [
        Plot(
            "shares",
            "Category shares against the target",
            "Bars: median over the runs of a reward (SYNTHETIC: mean over seeds). Whiskers: interquartile range "
            "(minimum to maximum); of a single run or file its 95 % interval. Dashes: the target. Pale: runs are "
            "missing.",
            [_shares(study, dataset, target) for dataset, target in panels],
        )
    ]
    if graded:
        plots.append(
            Plot(
                "accuracy",
                "pass@1 within each category",
                "Correct and graded responses summed over the runs of a reward. A dot on the axis: fewer than "
                f"{MIN_COMPLETIONS} graded responses, which is not a measured zero.",
                [_accuracy(study, dataset, target) for dataset, target in graded],
            )
        )
    if curves:
        plots.append(
            Plot(
                "divergence",
                "Divergence over training steps",
                "Validation responses under each of the four metrics: of the pooled shares; for SYNTHETIC the mean "
                "over prompts of each prompt's own, but for forward KL, which is infinite as soon as one prompt lacks "
                "a wanted category. Lines: mean over the runs of a training objective; bands: their "
                "minimum and maximum; dots: runs are missing; a gap: infinite, as a wanted category is missing. The "
                "grey band is the JSD of a policy on the target at n responses. Click a name to hide its curve.",
                [_divergence(of, metric) for of in curves for metric in METRICS],
            )
        )
    return plots


def _panel(dataset: str, target: str) -> str:
    return f"{dataset_label(dataset)}, {target_label(target)}"


def _shares(study: Study, dataset: str, target: str) -> Choice:
    wanted = target_of(study, dataset, target)
    names = list(wanted)
    rows = bars(study, dataset, target)
    data = [
        {
            **_bar(row, names),
            "y": [row.shares[name].value for name in names],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [_gap(row.shares[name].high, row.shares[name].value) for name in names],
                "arrayminus": [_gap(row.shares[name].value, row.shares[name].low) for name in names],
                "color": "#222",
                "thickness": 1.2,
                "width": 2,
            },
        }
        for row in rows
    ]
    # Only a shape is as wide as its category, and a shape has no entry in the legend: an empty trace has it.
    line = {"color": "#111", "width": 2.5, "dash": "dash"}
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "target",
            "x": [names[0]],
            "y": [None],
            "line": line,
        }
    )
    across = [
        {"type": "line", "x0": k - 0.45, "x1": k + 0.45, "y0": share, "y1": share, "line": line}
        for k, share in enumerate(wanted.values())
    ]
    return Choice(
        [_panel(dataset, target)],
        data,
        {**layout("share of on-support"), "shapes": across, **_corner(bars_note(study, dataset, target))},
    )


def _gap(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None else high - low


def _bar(row: TableRow, names: Sequence[str]) -> dict[str, Any]:
    label = row_label(row.reward)
    return {
        "type": "bar",
        "name": label,
        "x": list(names),
        "marker": {"color": REWARD_COLORS.get(row.reward, FILE_COLOR), "opacity": 1.0 if row.complete else PALE},
        "hovertemplate": f"%{{x}}: %{{y:.3f}} ({row.runs} of {row.expected} runs)<extra>{label}</extra>",
    }


def _accuracy(study: Study, dataset: str, target: str) -> Choice:
    rows = bars(study, dataset, target)
    names = list(target_of(study, dataset, target))
    data: list[dict[str, Any]] = []
    for row in rows:
        pooled = [row.accuracy[name] for name in names]
        data.append(
            {
                **_bar(row, names),
                "y": [one.accuracy for one in pooled],
                "customdata": [[one.right, one.graded] for one in pooled],
                "hovertemplate": "%{x}: %{y:.3f}, %{customdata[0]} of %{customdata[1]}"
                + f"<extra>{row_label(row.reward)}</extra>",
                "offsetgroup": row.reward,
            }
        )
        # A bar of no height with its text stands where the bar would, whichever rewards are hidden.
        low = [one.graded if one.accuracy is None else None for one in pooled]
        data.append(
            {
                **_bar(row, names),
                "y": [0.0 if graded is not None else None for graded in low],
                "text": ["●" if graded is not None else "" for graded in low],
                "textposition": "outside",
                "textfont": {"color": REWARD_COLORS.get(row.reward, FILE_COLOR), "size": 11},
                "customdata": low,
                "hovertemplate": f"%{{x}}: only %{{customdata}} graded<extra>{row_label(row.reward)}</extra>",
                "offsetgroup": row.reward,
                "legendgroup": row.reward,
                "showlegend": False,
            }
        )
        data[-2]["legendgroup"] = row.reward
    scale = {"range": [0, 1]}
    whole = layout("pass@1, counts pooled")
    return Choice(
        [_panel(dataset, target)],
        data,
        {**whole, "yaxis": {**whole["yaxis"], **scale}, **_corner(bars_note(study, dataset, target))},
    )


def _divergence(of: Curves, metric: str) -> Choice:
    data: list[dict[str, Any]] = []
    curves = of.of(metric)
    for curve in curves:
        data += band_and_line(curve)
    unit = "" if metric == "l2" else ", nats"
    whole = layout(f"{METRICS[metric]}{unit}{measured_on(of.dataset, metric)}", "training step")
    whole["yaxis"] |= {"type": "log", "dtick": "D2", "tickformat": "~g"}
    if metric == "jsd":
        whole["shapes"] = [floor_band(of.floor)]
    return Choice(
        [_panel(of.dataset, of.target), METRICS[metric]], data, {**whole, **_corner(incomplete_note(of.counts))}
    )


def floor_band(floor: FloorAt) -> dict[str, Any]:
    """The floor of a JSD, mean to 95th percentile, across a plot."""
    return {
        "type": "rect", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": floor.mean, "y1": floor.p95,
        "fillcolor": FLOOR_COLOR, "line": {"width": 0}, "layer": "below",
        "label": {
            "text": f"floor at n={floor.n}: mean to p95", "textposition": "middle left",
            "font": {"size": 11, "color": "#555"},
        },
    }  # fmt: skip


def band_and_line(curve: Curve) -> list[dict[str, Any]]:
    """A curve with its band, one entry of the legend. A gap where a value is infinite."""
    color, label = REWARD_COLORS[curve.reward], row_label(curve.reward)
    low, mean, high = (
        [v if math.isfinite(v) else None for v in values] for values in (curve.low, curve.mean, curve.high)
    )
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    common = {"x": curve.steps, "legendgroup": curve.reward}
    return [
        {**edge, **common, "y": low},
        {**edge, **common, "y": high, "fill": "tonexty", "fillcolor": color + "2e"},
        {
            **common,
            "type": "scatter",
            "mode": "lines+markers",
            "name": label,
            "y": mean,
            "line": {"color": color, "width": 2, "dash": "solid" if curve.runs == curve.expected else "dot"},
            "marker": {"size": 6},
            "hovertemplate": f"step %{{x}}: %{{y:.4f}} ({curve.runs} of {curve.expected} runs)<extra>{label}</extra>",
        },
    ]


def layout(y: str, x: str = "") -> dict[str, Any]:
    """What all plots have in common."""
    return {
        "yaxis": {"title": {"text": y}, "gridcolor": "#e8e8e8", "zerolinecolor": "#bbb", "rangemode": "tozero"},
        "xaxis": {"title": {"text": x}, "gridcolor": "#f1f1f1", "zeroline": False},
        # Above: room for two lines of legend below the buttons, which is what a narrow screen needs.
        "margin": {"l": 64, "r": 16, "t": 86, "b": 44 if x else 30},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "barmode": "group",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "hovermode": "closest",
        "plot_bgcolor": "#fff",
        "paper_bgcolor": "#fff",
    }


def _corner(text: str) -> dict[str, Any]:
    if not text:
        return {}
    note = {"text": text, "xref": "paper", "yref": "paper", "x": 1, "y": 0.99, "xanchor": "right", "yanchor": "top"}
    return {
        "annotations": [{**note, "showarrow": False, "font": {"size": 12, "color": "#666"}, "bgcolor": "#ffffffcc"}]
    }
