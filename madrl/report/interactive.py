"""Panels as plots of a page: plain dicts in plotly.js's schema.

plotly's Python package is not needed for them, and its plotly.js is four times the size of the bundle that the page
carries (``madrl.report.page``).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from madrl.report.drawing import PALE
from madrl.report.panels import INK, Level, Panel, Plot, Series

INK_OF_PAGE, SOFT, LINE, PAGE = "var(--ink)", "var(--soft)", "var(--line)", "var(--page)"


def plot_data(plot: Plot) -> dict[str, Any]:
    """What the page's script needs of a plot: its name, and one choice for each panel."""
    return {"name": plot.name, "choices": [_choice(panel) for panel in plot.panels]}


def _choice(panel: Panel) -> dict[str, Any]:
    labels = list(panel.labels)  # which the page's buttons take as text
    panel = _escaped(_without_zeros(panel))
    traces: list[dict[str, Any]] = []
    for series in panel.series:
        seen = {trace["name"] for trace in traces if trace.get("showlegend", True)}
        traces += [
            {"showlegend": series.name not in seen, "legendgroup": series.name} | trace
            for trace in {"line": _line, "points": _points, "bars": _bars, "dots": _dots}[series.kind](series)
        ]
    shapes = [_shape(level) for level in panel.levels]
    # A dashed line at one category is a shape, which has no entry in the legend: an empty trace has it.
    dashed = {level.name: shape["line"] for level, shape in zip(panel.levels, shapes, strict=True) if level.place == 0}
    traces += [
        {"type": "scatter", "mode": "lines", "name": name, "x": panel.categories[:1], "y": [None], "line": line}
        for name, line in dashed.items()
    ]
    return {"labels": labels, "data": traces, "layout": _layout(panel) | {"shapes": shapes}}


def _escaped(panel: Panel) -> Panel:
    """The panel with every text as plotly shows it, which reads some HTML."""
    series = [
        replace(
            one,
            name=_text(one.name),
            x=[_text(x) if isinstance(x, str) else x for x in one.x],
            notes=[_text(note) for note in one.notes],
            dots=_text(one.dots),
        )
        for one in panel.series
    ]
    levels = [level._replace(name=_text(level.name)) for level in panel.levels]
    return replace(panel, series=series, levels=levels, x=_text(panel.x), y=_text(panel.y), note=_text(panel.note))


def _text(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")


def _without_zeros(panel: Panel) -> Panel:
    """The panel with zeros at the edge of its logarithmic axes, on which they have no place of their own."""
    for log, name in ((panel.log, "y"), (panel.log_x, "x")):
        numbers = [value for one in panel.series for values in _along(one, name).values() for value in values]
        if not log or 0 not in numbers:
            continue
        numbers += [level.low for level in panel.levels if level.axis == name]
        edge = min((v for v in numbers if isinstance(v, int | float) and v > 0), default=0.02) / 1.5
        series = []
        for one in panel.series:
            values = getattr(one, name)
            said = one.notes or [""] * len(values)
            notes = [f"{note} (is 0)" if v == 0 else note for v, note in zip(values, said, strict=True)]
            shown: dict[str, Any] = {of: [edge if v == 0 else v for v in on] for of, on in _along(one, name).items()}
            series.append(replace(one, notes=notes, **shown))
        panel = replace(panel, series=series)
    return panel


def _along(series: Series, axis: str) -> dict[str, Sequence[Any]]:
    """What has a place of its own along the axis: of a whisker that ends at 0 the axis shows as much as it has."""
    names = ("y", "low", "high") if series.kind == "line" and axis == "y" else (axis,)
    return {name: getattr(series, name) for name in names}


def _line(series: Series) -> list[dict[str, Any]]:
    """A line with its band, one entry of the legend."""
    dash = "dot" if series.weak else series.dash
    line = _trace(series, "scatter") | {
        "mode": "lines+markers" if series.markers else "lines",
        "line": {"color": _color(series.color), "width": 2, "dash": dash},
        "marker": {"size": 6},
    }
    if not series.low:
        return [line]
    edge = {
        "type": "scatter", "mode": "lines", "name": series.name, "x": list(series.x), "line": {"width": 0},
        "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
    filled = {"fill": "tonexty", "fillcolor": _color(series.color) + "2e"}
    return [edge | {"y": _values(series.low)}, edge | {"y": _values(series.high)} | filled, line]


def _points(series: Series) -> list[dict[str, Any]]:
    marker = {"symbol": "diamond", "size": 10, "color": _color(series.color), "line": {"color": PAGE, "width": 1.5}}
    return [_trace(series, "scatter") | {"mode": "markers", "marker": marker} | _whiskers(series)]


def _bars(series: Series) -> list[dict[str, Any]]:
    marker = {"color": _color(series.color), "opacity": PALE if series.weak else 1.0}
    bars = _trace(series, "bar") | {"marker": marker, "offsetgroup": series.name} | _whiskers(series)
    if not series.dots:
        return [bars]
    # A bar of no height with its text stands where the bar would, whichever others are hidden.
    few = bars | {
        "y": [0.0 if value is None else None for value in series.y],
        "text": ["●" if value is None else "" for value in series.y],
        "textposition": "outside",
        "textfont": {"color": _color(series.color), "size": 11},
        "hovertemplate": f"%{{x}}: %{{customdata}}<br>{series.dots}<extra>{series.name}</extra>",
        "showlegend": False,
    }
    return [bars, few]


def _dots(series: Series) -> list[dict[str, Any]]:
    pale = PALE if series.weak else 1.0
    line = {"color": PAGE, "width": 1}
    marker = {"symbol": series.symbol, "size": 9, "color": _color(series.color), "opacity": pale, "line": line}
    whiskers: dict[str, Any] = {
        "color": _color(series.color) + ("30" if series.weak else "70"),
        "thickness": 1,
        "width": 0,
    }
    across = {name: bars | whiskers for name, bars in _whiskers(series).items()}
    said = {"hovertemplate": f"JSD %{{x:.4f}}, %{{y:.3f}}<br>%{{customdata}}<extra>{series.name}</extra>"}
    return [_trace(series, "scatter") | {"mode": "markers", "marker": marker, "cliponaxis": False} | across | said]


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
    """The error bars along y, and along x where it has an interval too."""

    def reach(highs: Sequence[float | None], lows: Sequence[float | None]) -> list[float]:
        # The interval of the pooled JSD is centred below the value, which may lie above it.
        return [0.0 if h is None or lo is None else max(0.0, h - lo) for h, lo in zip(highs, lows, strict=True)]

    style = {"color": INK_OF_PAGE, "thickness": 1.2, "width": 2, "type": "data", "symmetric": False}
    x = [at if isinstance(at, int | float) else None for at in series.x]
    ends = {"error_y": (series.y, series.low, series.high), "error_x": (x, series.x_low, series.x_high)}
    return {
        name: style | {"array": reach(high, values), "arrayminus": reach(values, low)}
        for name, (values, low, high) in ends.items()
        if low
    }


def _shape(level: Level) -> dict[str, Any]:
    along = {"y0": level.low, "y1": level.high}
    across: dict[str, Any] = {"x0": 0, "x1": 1, "xref": "paper"}
    position: dict[str, Any] = {"textposition": "middle left"}
    if level.axis == "x":
        along = {"x0": level.low, "x1": level.high}
        across = {"y0": 0, "y1": 1, "yref": "paper"}
        position = {"textposition": "middle center", "textangle": -90}
    if level.place is not None:
        across = {"x0": level.place - 0.45, "x1": level.place + 0.45}
    if level.low == level.high:
        line = {"color": _color(level.color), "width": 2, "dash": "dash"}
        return {"type": "line", **across, **along, "line": line}
    return {
        "type": "rect", **across, **along,
        "fillcolor": _color(level.color) + "38", "line": {"width": 0}, "layer": "below",
        "label": {"text": level.name, "font": {"size": 11, "color": SOFT}, **position},
    }  # fmt: skip


def _layout(panel: Panel) -> dict[str, Any]:
    y: dict[str, Any] = {"title": {"text": panel.y}, "automargin": True, "gridcolor": LINE, "zerolinecolor": LINE}
    y |= {"range": [0, panel.top]} if panel.top else {"rangemode": "tozero" if panel.from_zero else "normal"}
    log = {"type": "log", "dtick": "D2", "tickformat": "~g"}
    y |= log if panel.log else {}
    note = {
        "text": panel.note, "xref": "paper", "yref": "paper", "x": 1, "y": 0.99, "xanchor": "right", "yanchor": "top",
        "showarrow": False, "font": {"size": 12, "color": SOFT}, "bgcolor": PAGE + "cc",
    }  # fmt: skip
    return {
        "yaxis": y,
        "xaxis": {"title": {"text": panel.x}, "gridcolor": LINE + "80", "zeroline": False}
        | (log if panel.log_x else {})
        # Which may look like numbers, and may be long.
        | ({"type": "category", "automargin": True} if panel.categories else {}),
        # Above: room for two lines of legend below the buttons, which is what a narrow screen needs.
        "margin": {"l": 64, "r": 16, "t": 86, "b": 44 if panel.x else 30},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "barmode": "group",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK_OF_PAGE},
        "hovermode": "closest",
        "plot_bgcolor": PAGE,
        "paper_bgcolor": PAGE,
        "annotations": [note] if panel.note else [],
    }


def _color(color: str) -> str:
    return INK_OF_PAGE if color == INK else color


def _values(values: Sequence[float | None]) -> list[float | None]:
    """The values with a gap for what is infinite or NaN."""
    return [value if value is not None and math.isfinite(value) else None for value in values]
