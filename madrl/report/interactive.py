"""Panels as plots of a page: plain dicts in plotly.js's schema.

plotly's Python package is not needed for them, and its plotly.js is four times the size of the bundle that the page
carries (``madrl.report.page``).
"""

import math
from collections.abc import Sequence
from typing import Any

from madrl.report.drawing import PALE
from madrl.report.panels import Level, Panel, Plot, Series


def plot_data(plot: Plot) -> dict[str, Any]:
    """What the page's script needs of a plot: its name, and one choice for each panel."""
    return {"name": plot.name, "choices": [_choice(panel) for panel in plot.panels]}


def _choice(panel: Panel) -> dict[str, Any]:
    traces: list[dict[str, Any]] = []
    for series in panel.series:
        seen = {trace["name"] for trace in traces if trace.get("showlegend", True)}
        traces += [
            {"showlegend": series.name not in seen, "legendgroup": series.name} | trace
            for trace in {"line": _line, "points": _points, "bars": _bars}[series.kind](series)
        ]
    shapes = [_shape(level) for level in panel.levels]
    # A dashed line at one category is a shape, which has no entry in the legend: an empty trace has it.
    dashed = {level.name: shape["line"] for level, shape in zip(panel.levels, shapes, strict=True) if level.place == 0}
    traces += [
        {"type": "scatter", "mode": "lines", "name": name, "x": panel.categories[:1], "y": [None], "line": line}
        for name, line in dashed.items()
    ]
    return {"labels": list(panel.labels), "data": traces, "layout": _layout(panel) | {"shapes": shapes}}


def _line(series: Series) -> list[dict[str, Any]]:
    """A line with its band, one entry of the legend."""
    dash = "dot" if series.weak else "solid"
    line = _trace(series, "scatter") | {
        "mode": "lines+markers" if series.markers else "lines",
        "line": {"color": series.color, "width": 2, "dash": dash},
        "marker": {"size": 6},
    }
    if not series.low:
        return [line]
    edge = {
        "type": "scatter", "mode": "lines", "name": series.name, "x": list(series.x), "line": {"width": 0},
        "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
    filled = {"fill": "tonexty", "fillcolor": series.color + "2e"}
    return [edge | {"y": _values(series.low)}, edge | {"y": _values(series.high)} | filled, line]


def _points(series: Series) -> list[dict[str, Any]]:
    marker = {"symbol": "diamond", "size": 10, "color": series.color, "line": {"color": "#fff", "width": 1.5}}
    return [_trace(series, "scatter") | {"mode": "markers", "marker": marker} | _whiskers(series)]


def _bars(series: Series) -> list[dict[str, Any]]:
    marker = {"color": series.color, "opacity": PALE if series.weak else 1.0}
    bars = _trace(series, "bar") | {"marker": marker, "offsetgroup": series.name} | _whiskers(series)
    if not series.dots:
        return [bars]
    # A bar of no height with its text stands where the bar would, whichever others are hidden.
    few = bars | {
        "y": [0.0 if value is None else None for value in series.y],
        "text": ["●" if value is None else "" for value in series.y],
        "textposition": "outside",
        "textfont": {"color": series.color, "size": 11},
        "hovertemplate": f"%{{x}}: %{{customdata}}<br>{series.dots}<extra>{series.name}</extra>",
        "showlegend": False,
    }
    return [bars, few]


def _trace(series: Series, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "name": series.name,
        "x": list(series.x),
        "y": _values(series.y),
        "customdata": list(series.notes or [""] * len(series.x)),
        "hovertemplate": f"%{{x}}: %{{y:.4f}} %{{customdata}}<extra>{series.name}</extra>",
    }


def _whiskers(series: Series) -> dict[str, Any]:
    if not series.low:
        return {}

    def reach(highs: Sequence[float | None], lows: Sequence[float | None]) -> list[float]:
        # The interval of the pooled JSD is centred below the value, which may lie above it.
        return [0.0 if h is None or lo is None else max(0.0, h - lo) for h, lo in zip(highs, lows, strict=True)]

    above, below = reach(series.high, series.y), reach(series.y, series.low)
    style = {"color": "#222", "thickness": 1.2, "width": 2}
    return {"error_y": {"type": "data", "symmetric": False, "array": above, "arrayminus": below} | style}


def _shape(level: Level) -> dict[str, Any]:
    across = {"x0": 0, "x1": 1, "xref": "paper"}
    if level.place is not None:
        across = {"x0": level.place - 0.45, "x1": level.place + 0.45}
    if level.low == level.high:
        line = {"color": level.color, "width": 2, "dash": "dash"}
        return {"type": "line", **across, "y0": level.low, "y1": level.high, "line": line}
    return {
        "type": "rect", **across, "y0": level.low, "y1": level.high,
        "fillcolor": level.color + "38", "line": {"width": 0}, "layer": "below",
        "label": {"text": level.name, "textposition": "middle left", "font": {"size": 11, "color": "#555"}},
    }  # fmt: skip


def _layout(panel: Panel) -> dict[str, Any]:
    y: dict[str, Any] = {"title": {"text": panel.y}, "gridcolor": "#e8e8e8", "zerolinecolor": "#bbb"}
    y |= {"range": [0, panel.top]} if panel.top else {"rangemode": "tozero"}
    y |= {"type": "log", "dtick": "D2", "tickformat": "~g"} if panel.log else {}
    note = {
        "text": panel.note, "xref": "paper", "yref": "paper", "x": 1, "y": 0.99, "xanchor": "right", "yanchor": "top",
        "showarrow": False, "font": {"size": 12, "color": "#666"}, "bgcolor": "#ffffffcc",
    }  # fmt: skip
    return {
        "yaxis": y,
        "xaxis": {"title": {"text": panel.x}, "gridcolor": "#f1f1f1", "zeroline": False},
        # Above: room for two lines of legend below the buttons, which is what a narrow screen needs.
        "margin": {"l": 64, "r": 16, "t": 86, "b": 44 if panel.x else 30},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "barmode": "group",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "hovermode": "closest",
        "plot_bgcolor": "#fff",
        "paper_bgcolor": "#fff",
        "annotations": [note] if panel.note else [],
    }


def _values(values: Sequence[float | None]) -> list[float | None]:
    """The values with a gap for what is infinite or NaN."""
    return [value if value is not None and math.isfinite(value) else None for value in values]
