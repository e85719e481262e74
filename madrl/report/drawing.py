"""Panels as files, drawn by matplotlib."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from madrl.report.panels import DASHES, Level, Panel, Series

DPI = 110

PALE = 0.4
"""Opacity of bars that have runs missing behind them, and of dots that others are better than."""

MARKERS = {"circle": "o", "square": "s", "diamond": "D"}

LEGEND_COLUMNS = 8
"""How many names stand side by side above a figure."""

DASHED: dict[str, Any] = {"linewidth": 1.6, "linestyle": (0, (3, 1.5))}
"""A level that is a line."""

PLACE_WIDTH = 0.25
"""Of a figure with many categories, the inches of each."""

MAX_WIDTH = 100.0
"""A figure's, in inches."""

LETTER_WIDTH, LINE_HEIGHT = 0.08, 0.16
"""Of the names of categories, in inches."""

LONGEST_NAME = 24
"""Characters of a category's name where it stands upright."""

NOTE: dict[str, Any] = {"loc": "right", "fontsize": 8, "color": "0.35"}
"""What is missing, at the other end of a panel's title."""


def draw(panels: Sequence[Panel], columns: int, paths: Mapping[str, Path], title: str = "") -> None:
    """Write one figure of all panels to each of ``paths``, by format: png or pdf.

    With a ``title`` each panel has a legend of its own below it; without, one above them serves all."""
    import matplotlib

    matplotlib.use("Agg")
    with matplotlib.rc_context({"text.parse_math": False}):  # a name may have a $
        _draw(panels, columns, paths, title)


def _draw(panels: Sequence[Panel], columns: int, paths: Mapping[str, Path], title: str) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.transforms import ScaledTranslation

    rows = math.ceil(len(panels) / columns)
    height = 4.2 if title else 3.6 if any(series.kind == "dots" for series in panels[0].series) else 2.7
    places = max(len(panel.categories) for panel in panels)
    width = max(5.5 if columns < 3 else 4.4 if title else 3.3, min(places * PLACE_WIDTH, MAX_WIDTH / columns))
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(columns * width, rows * height + 0.4),
        squeeze=False,
        layout="constrained",
        sharey="row" if any(panel.categories for panel in panels) and not title else False,
    )
    shared: dict[str, Any] = {}
    deepest = 0.0
    for number, axes in enumerate(grid.flat):
        if number >= len(panels):
            axes.set_axis_off()
            continue
        panel = panels[number]
        _draw_panel(axes, panel, width)
        # The title at the first panel of those in a row that share it, what is missing at the last.
        names = [panel.labels[0] for panel in panels]
        if number % columns == 0 or names[number] != names[number - 1]:
            axes.set_title(names[number], loc="left", fontsize=10)
        if (number + 1) % columns == 0 or names[number] not in names[number + 1 :]:
            axes.set_title(panel.note, **NOTE)
        handles = _legend_handles(axes, panel)
        below = _below_a_line(axes)
        deepest = max(deepest, below)
        if title:
            style = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2 if columns < 3 else 1}
            style["bbox_transform"] = axes.transAxes + ScaledTranslation(0.0, -below, figure.dpi_scale_trans)
            axes.legend(handles.values(), handles, frameon=False, fontsize=9, **style)
        shared |= {name: handle for name, handle in handles.items() if name not in shared}
    for axes, panel in zip(grid.flat, panels, strict=False):  # now that all are drawn that share an axis
        _scale(axes, panel)
    figure.set_figheight(figure.get_figheight() + rows * deepest)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    else:
        figure.legend(
            shared.values(),
            shared,
            loc="outside upper center",
            ncols=min(len(shared), LEGEND_COLUMNS),
            frameon=False,
            fontsize=9,
        )
    for form, path in paths.items():
        # Without a date, the same runs give the same bytes.
        figure.savefig(path, format=form, dpi=DPI, metadata={"CreationDate": None} if form == "pdf" else {})
    plt.close(figure)


def _legend_handles(axes: Any, panel: Panel) -> dict[str, Any]:
    """One for each name, bars and dots in full colour: what is pale in one panel is not in another."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = {name: handle for handle, name in reversed(list(zip(*axes.get_legend_handles_labels(), strict=True)))}
    full = {
        series.name: Patch(color=series.color)
        if series.kind == "bars"
        else Line2D([], [], marker=MARKERS[series.symbol], color=series.color, linestyle="none")
        for series in panel.series
        if series.kind in ("bars", "dots")
    }
    for name in {level.name for level in panel.levels if level.axis == "y"}:
        if len({level.color for level in panel.levels if level.name == name}) > 1:
            full[name] = Line2D([], [], color="0.4", **DASHED)  # of no one's colour
    return full | {name: handles[name] for name in reversed(handles) if name not in full}


def _draw_panel(axes: Any, panel: Panel, inches: float) -> None:
    places = {name: place for place, name in enumerate(panel.categories)}
    bars = [series for series in panel.series if series.kind == "bars"]
    width = 0.8 / max(len(bars), 1)
    for series in panel.series:
        offset = (bars.index(series) - (len(bars) - 1) / 2) * width if series in bars else 0.0
        x = [places[at] + offset if isinstance(at, str) else at for at in series.x]
        draw_series = {"line": _draw_line, "points": _draw_points, "bars": _draw_bars, "dots": _draw_dots}[series.kind]
        draw_series(axes, series, x, width * 0.9)
    for level in panel.levels:
        _draw_level(axes, level)
    if places:
        _name_places(axes, list(places), inches)
    axes.set_xlabel(panel.x, fontsize=9)
    axes.set_ylabel(panel.y, fontsize=9)
    axes.tick_params(labelsize=8.5, labelleft=True)
    axes.spines[["top", "right"]].set_visible(False)


def _name_places(axes: Any, names: Sequence[str], inches: float) -> None:
    """The names of the places below a panel of this width: upright where they are too long to stand beside each other,
    and then only as many as there is room for."""
    letters = max(sum(2 if east_asian_width(letter) in "WF" else 1 for letter in name) for name in names)
    upright = letters * len(names) * LETTER_WIDTH > inches
    every = math.ceil(len(names) * LINE_HEIGHT / inches) if upright else 1
    shown = _shortened(names) if upright else names
    axes.set_xticks(range(0, len(names), every), shown[::every], rotation=90 if upright else 0)


def _shortened(names: Sequence[str]) -> Sequence[str]:
    """The names without the middle of those that are too long, and with their numbers where that leaves two alike."""
    half = LONGEST_NAME // 2
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}" for name in names]
    alike = len(set(shown)) < len(shown)
    return [f"{number}: {name}" for number, name in enumerate(shown, 1)] if alike else shown


def _below_a_line(axes: Any) -> float:
    """How much higher than a line the names below a panel are that stand upright, in inches."""
    upright = [label.get_window_extent().height for label in axes.get_xticklabels() if label.get_rotation()]
    return max(0.0, float(max(upright, default=0.0) / axes.figure.dpi) - LINE_HEIGHT)


def _scale(axes: Any, panel: Panel) -> None:
    if panel.log:
        _log_scale(axes, "y", [value for series in panel.series for value in (*series.y, *series.high)], panel.levels)
    elif panel.from_zero:
        axes.set_ylim(0.0, panel.top)
    if panel.log_x:
        _log_scale(axes, "x", [x for series in panel.series for x in (*series.x, *series.x_high)], panel.levels)


def _draw_line(axes: Any, series: Series, x: Sequence[float], width: float) -> None:
    y = _numbers(series.y)
    style: dict[str, Any] = {
        "linestyle": ":" if series.weak else DASHES[series.dash],
        "marker": "o" if series.markers else "",
        "markersize": 3,
    }
    axes.plot(x, y, color=series.color, linewidth=1.6, label=series.name, **style)
    if series.low:
        axes.fill_between(x, _numbers(series.low), _numbers(series.high), color=series.color, alpha=0.18, linewidth=0)
    infinite = [at for at, value in zip(x, series.y, strict=True) if value is not None and math.isinf(value)]
    if infinite:
        edge = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(infinite, [1.0] * len(infinite), "^", color=series.color, **edge)
        # One entry of the legend for all, as the first to be drawn is in no colour of its own.
        axes.plot([], [], "^", color="0.4", linestyle="none", label="infinite: a wanted category is missing")


def _draw_points(axes: Any, series: Series, x: Sequence[float], width: float) -> None:
    _draw_whiskers(axes, series, x)
    axes.plot(x, _numbers(series.y), "o", color=series.color, markersize=6, label=series.name)
    if series.notes:
        axes.set_xlim(min(x) - 0.6, max(x) + 1.1)  # room for the last note
    for at, value, note in zip(x, series.y, series.notes, strict=True):
        where = {"xy": (at, 1e-3), "xycoords": axes.get_xaxis_transform()} if value is None else {"xy": (at, value)}
        axes.annotate(note, **where, xytext=(9, 0), textcoords="offset points", fontsize=9, va="center")


def _draw_bars(axes: Any, series: Series, x: Sequence[float], width: float) -> None:
    alpha = PALE if series.weak else 1.0
    axes.bar(x, [value or 0.0 for value in series.y], width, color=series.color, alpha=alpha, label=series.name)
    _draw_whiskers(axes, series, x)
    few = [at for at, value in zip(x, series.y, strict=True) if value is None]
    if few and series.dots:
        # Above the axis line, or they would be half hidden by it.
        axes.plot(few, [0.0] * len(few), "o", color=series.color, markersize=4, clip_on=False, zorder=5)
        axes.plot([], [], "o", color="0.4", markersize=4, linestyle="none", label=series.dots)


def _draw_dots(axes: Any, series: Series, x: Sequence[float], width: float) -> None:
    alpha, thin = PALE if series.weak else 1.0, {"color": series.color, "linewidth": 0.8, "zorder": 1.5}
    if series.low:
        axes.vlines(x, _numbers(series.low), _numbers(series.high), alpha=alpha / 2, **thin)
    if series.x_low:
        axes.hlines(series.y, _numbers(series.x_low), _numbers(series.x_high), alpha=alpha / 2, **thin)
    style = {"color": series.color, "markersize": 6, "markeredgecolor": "white", "alpha": alpha, "clip_on": False}
    above = 2.5 if series.weak else 3
    axes.plot(x, _numbers(series.y), MARKERS[series.symbol], label=series.name, zorder=above, **style)
    for at, value, name in zip(x, series.y, series.labels or [""] * len(x), strict=True):
        axes.annotate(name, (at, value), xytext=(5, 4), textcoords="offset points", fontsize=7, color="0.25")


def _draw_whiskers(axes: Any, series: Series, x: Sequence[float]) -> None:
    if series.low:
        axes.vlines(x, _numbers(series.low), _numbers(series.high), color="black", linewidth=1.0, zorder=2.5)


def _draw_level(axes: Any, level: Level) -> None:
    ends = None if level.place is None else [level.place - 0.45, level.place + 0.45]
    dashes = {"color": level.color, "label": level.name, **DASHED}
    band = {"color": level.color, "alpha": 0.28, "linewidth": 0, "zorder": 0}
    text = {"fontsize": 7.5, "color": "0.35", "va": "bottom"}
    if level.low == level.high:
        axes.plot(ends, [level.low] * 2, **dashes) if ends else axes.axhline(level.low, **dashes)
    elif ends:
        axes.fill_between(ends, level.low, level.high, label=level.name, **band)
    elif level.axis == "x":
        axes.axvspan(level.low, level.high, **band)
        turned = {"transform": axes.get_xaxis_transform(), "ha": "left", "rotation": 90, "zorder": 0.5}
        axes.text(level.low, 0.02, level.name, **text, **turned)
    else:
        axes.axhspan(level.low, level.high, **band)
        axes.text(0.02, level.low, level.name, **text, transform=axes.get_yaxis_transform(), ha="left")


MANY_DECADES = 1e3
"""The span of a logarithmic axis above which only powers of ten are labelled: more labels would run into each other."""


def _log_scale(axes: Any, name: str, values: Sequence[float | str | None], levels: Sequence[Level]) -> None:
    """Make the axis ``name``, x or y, logarithmic, with room for the values and its levels."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    axis, set_scale, set_limits = (getattr(axes, of) for of in (f"{name}axis", f"set_{name}scale", f"set_{name}lim"))
    numbers = [value for value in values if isinstance(value, int | float)]
    numbers += [end for level in levels if level.axis == name for end in (level.low, level.high)]
    drawn = [value for value in numbers if math.isfinite(value) and value > 0]
    low, high = min(drawn, default=0.02) / 1.5, max(drawn, default=0.7) * 1.5
    if 0 in numbers:  # which has no place on a log scale: a short linear part leads to it
        ticks = [digit * 10.0**power for power in range(-9, 1) for digit in (1, 2, 5)]
        set_scale("symlog", linthresh=low, linscale=0.2)
        set_limits(0.0, high)
        axis.set_major_locator(FixedLocator([0.0, *(tick for tick in ticks if low <= tick <= high)]))
    else:
        set_scale("log")
        set_limits(low, high)
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < MANY_DECADES * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _numbers(values: Sequence[float | None]) -> list[float]:
    """The values with NaN, which matplotlib leaves out, for what is None or infinite."""
    return [value if value is not None and math.isfinite(value) else math.nan for value in values]
