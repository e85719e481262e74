"""The numbers of a report's rows: one of several runs, its spread and error, and when two differ by more than chance.

Two are told apart by what their runs say, never by the floor alone: that is the scatter of a policy on the target, and
one that is off it scatters more.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Statistic(NamedTuple):
    """How the numbers of several runs become one, and what is shown as their spread."""

    name: str
    centre: Callable[[Array], Any]
    ends: tuple[float, float]
    """The quantiles that the spread lies between."""
    error: float
    """Its standard error over that of a mean, for values that are normal."""


MEDIAN = Statistic("median, and interquartile range of the runs", np.median, (0.25, 0.75), math.sqrt(math.pi / 2))
MEAN = Statistic("mean, and minimum to maximum of the seeds", np.mean, (0.0, 1.0), 1.0)

ERRORS_IN_95 = 3.92
"""How many standard errors wide a 95 % interval is."""

CHANCE = 0.05
"""How often rows that are alike may be told apart, all of one column together."""


class Number(NamedTuple):
    """A number and its spread; None where it does not exist."""

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    """Its standard error, of other runs, or of a single one over other problems."""
    units: float = math.inf
    """How many runs, or clusters of problems, that rests on."""


NO_NUMBER = Number(None)


class FloorAt(NamedTuple):
    """What a policy on the target shows at ``n`` responses, in nats."""

    mean: float
    p95: float
    p95_of_runs: float
    """The 95th percentile of the number of a row: of the statistic of as many runs as it has, where they are
    independent of each other (``rows.INDEPENDENT``)."""
    noise: float
    """The largest difference between two single policies on the target that chance explains. Off it there is more."""
    n: str
    """How many responses, in words."""


def over(
    values: Sequence[float | None],
    statistic: Statistic,
    intervals: Sequence[Sequence[float] | None] = (None,),
    clusters: float = math.inf,
) -> Number:
    """The statistic with its spread, or a single value with its own interval, which is of so many ``clusters`` of
    problems. None as soon as one run has none: a statistic over the rest would hide it."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return NO_NUMBER
    if len(known) == 1:
        low, high = intervals[0] or (None, None)
        error = None if low is None or high is None else (high - low) / ERRORS_IN_95
        return Number(known[0], low, high, error, clusters)
    centre, runs = float(statistic.centre(np.array(known))), len(known)
    if not np.isfinite(known).all():  # quantiles between infinities are NaN
        return Number(centre)
    error = statistic.error * float(np.std(known, ddof=1)) / math.sqrt(runs)
    low, high = np.quantile(known, statistic.ends).tolist()
    return Number(centre, low, high, error, runs)


def more_than_chance(one: Number, other: Number, floor: FloorAt | None, rows: int = 2) -> bool | None:
    """Whether ``one`` is above ``other`` by more than chance, as far as their runs tell; None where they tell nothing.

    By the test of Games and Howell (1976): Tukey's for the largest of all differences between ``rows`` rows, with
    Welch's degrees of freedom, of the numbers' units. Of two single runs this is about other problems alone, and knows
    nothing of other training seeds. And where a ``floor`` is given, as where one of the two is a single run, by more
    than single policies on the target differ (``floor.noise``): the only limit where all runs are ``alike``.
    """
    if one.value is None or other.value is None or one.error is None or other.error is None:
        return None
    difference = one.value - other.value
    if difference <= max(floor.noise if floor else 0.0, ROUNDING):
        return False
    if alike(one, other):
        return None if floor is None else True
    squares = one.error**2, other.error**2
    spare = sum(square**2 / (number.units - 1) for square, number in zip(squares, (one, other), strict=True))
    freedom = min(sum(squares) ** 2 / spare, MANY) if spare else MANY
    return _chance_of(difference / math.sqrt(sum(squares) / 2), rows, freedom) < CHANCE


def alike(one: Number, other: Number) -> bool:
    """Whether neither has an error, because all runs of each say the same: their scatter is then not known."""
    return (one.error or 0.0) + (other.error or 0.0) < ROUNDING


ROUNDING = 1e-12
"""In nats: numbers that differ by less are the same."""

MANY = 1e5
"""Degrees of freedom from which on the distribution is the normal's."""


@functools.cache
def _chance_of(range_: float, rows: int, freedom: float) -> float:
    """The chance of a studentized range of ``rows`` equal means above ``range_``."""
    from scipy.stats import studentized_range

    return float(studentized_range.sf(range_, rows, freedom))
