"""A plot as data, before anything is drawn: series, floors and targets, axes.

``madrl.report.drawing`` makes PNG and PDF files of it, ``madrl.report.interactive`` the plots of a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers as well."""

GREY = "#b5b5b5"


@dataclass(frozen=True)
class Series:
    """The values that share one name and colour."""

    name: str
    kind: Literal["line", "points", "bars"]
    x: Sequence[float | str]
    """Steps, or the names of categories."""
    y: Sequence[float | None]
    """None is a gap; inf is above everything."""
    color: str
    low: Sequence[float | None] = ()
    """With ``high``: the band of a line, the whiskers of points and bars."""
    high: Sequence[float | None] = ()
    notes: Sequence[str] = ()
    """What is said of each value: on a page when it is pointed at, in a file beside points."""
    weak: bool = False
    """Runs are missing behind it: a dotted line, pale bars."""
    markers: bool = False
    """A line with a dot at each value."""
    dots: str = ""
    """What a dot on the axis in place of a bar that is None means; without it such a bar is a gap."""


class Level(NamedTuple):
    """A height that values are read against: a band from ``low`` to ``high``, or a dashed line where they are equal."""

    name: str
    low: float
    high: float
    color: str = "#777777"
    place: int | None = None
    """The category that it stands at, counted from 0; None for the whole width."""


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
