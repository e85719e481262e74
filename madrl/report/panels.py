"""A plot as data, before anything is drawn: series, floors and targets, axes.

``madrl.report.drawing`` makes PNG and PDF files of it, ``madrl.report.interactive`` the plots of a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers as well."""

INK = COLORS[-1]
"""What belongs to no category: black in a file, and the colour of the text on a page."""

GREY = "#b5b5b5"

DASHES = {"solid": "-", "dash": "--", "longdash": (0, (9, 3)), "dashdot": "-."}
"""plotly's name of a line's dashes -> matplotlib's; dots are what is weak."""


def color_of(number: int) -> str:
    """The colour of the category with this number, which as many others as there are DASHES may share."""
    return COLORS[number % len(COLORS)]


def dash_of(number: int) -> str:
    """The dashes of its line, which tell it from the others of its colour."""
    return list(DASHES)[number // len(COLORS) % len(DASHES)]


Symbol = Literal["circle", "square", "diamond"]


@dataclass(frozen=True)
class Series:
    """The values that share one name and colour."""

    name: str
    kind: Literal["line", "points", "bars", "dots"]
    """Dots are places in a plane: numbers that were measured on both axes."""
    x: Sequence[float | str]
    """Steps, the names of categories, or the numbers of dots."""
    y: Sequence[float | None]
    """None is a gap; inf is above everything."""
    color: str
    low: Sequence[float | None] = ()
    """With ``high``: the band of a line, the whiskers of points, bars and dots."""
    high: Sequence[float | None] = ()
    notes: Sequence[str] = ()
    """What is said of each value: on a page when it is pointed at, in a file beside points."""
    weak: bool = False
    """Runs are missing behind it: a dotted line, pale bars. Or others are better: pale dots."""
    markers: bool = False
    """A line with a dot at each value."""
    dash: str = "solid"
    """A line's dashes, of DASHES, where it is not weak."""
    dots: str = ""
    """What a dot on the axis in place of a bar that is None means; without it such a bar is a gap."""
    x_low: Sequence[float | None] = ()
    """With ``x_high``: the whiskers of dots along x."""
    x_high: Sequence[float | None] = ()
    symbol: Symbol = "circle"
    """The form of dots."""
    labels: Sequence[str] = ()
    """What stands beside each dot in a file; nothing where there are none."""


class Level(NamedTuple):
    """What values are read against: a band from ``low`` to ``high``, or a dashed line where they are equal."""

    name: str
    low: float
    high: float
    color: str = "#777777"
    place: int | None = None
    """The category that it stands at, counted from 0; None for the whole width."""
    axis: Literal["x", "y"] = "y"
    """The axis that it is a height on; a band on x goes from the bottom to the top."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    labels: Sequence[str]
    """The names of the buttons that show it on a page, one in each row of buttons. The first is its title in a file."""
    series: Sequence[Series]
    y: str
    x: str = ""
    levels: Sequence[Level] = ()
    note: str = ""
    """What is missing; it stands in a corner."""
    log: bool = False
    log_x: bool = False
    from_zero: bool = True
    """Whether an axis of y that is not logarithmic starts at 0; or where the values do."""
    top: float | None = None
    """Where the axis ends; None: where the values do."""

    @property
    def categories(self) -> list[str]:
        """The places of a panel over categories; none of one over steps."""
        return list(dict.fromkeys(x for series in self.series for x in series.x if isinstance(x, str)))


class Plot(NamedTuple):
    """Panels of one kind: a place on a page that shows one at a time, or a figure in a file with all of them."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 1
    """How many panels stand side by side in a file."""
