"""Run health: what goes wrong in a training run while its loss and rewards still look fine, noticed early.

Every alarm looks at the mean of one of a step's metrics over the last steps, is raised when that passes a limit, and
is cleared at a second limit on the healthy side of the first, so that it does not flicker:

    starved_categories   a wanted category has less than a quarter of its target share
    collapsed_groups     too many prompts have all on-support responses in one category: no distributional signal
    ungraded             too many responses without a verdict, a quarter of what stops the run
    equal_rewards        nearly all groups earn one and the same reward: GRPO's advantages are all zero
    off_support          too many responses are in no category: the shares and the JSD are of the few that are left
    truncated            too many responses are cut at the length limit, which cuts some categories more than others

The same class runs twice on the same numbers: in the trainer, whose metrics get ``mad/alarm/<name>`` (the number of
starved categories, 0 or 1 for the others), and beside the progress bar, where ``trainer.alarm_messages`` puts it into
words. Nothing here stops a run.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.settings import Settings

WINDOW = 8
"""Steps that an alarm averages over, and that must have passed before it can be raised. A collapse to nothing is raised
at its seventh step."""

MIN_EXPECTED = 24
"""The window of a rare category is longer: on target, it would hold this many of its responses. Fewer than a quarter of
them are then less likely than 1 in 100,000."""

STARVED_SHARE = 0.25
"""Raised below this part of a category's target."""

COLLAPSED_EXCESS = 0.5
"""Raised when the rate of one-category groups is this far on the way from what the target itself gives to 1."""

COLLAPSED_ERRORS = 5
"""The window is longer where the target itself gives many such groups: the limit is then as many standard errors above
their rate on target."""

UNGRADED_PART = 0.25
"""Raised above this part of ``max_ungraded_rate``."""

EQUAL_REWARD_RATE = 0.9
"""Raised when more than this share of the groups move nothing."""

OFF_SUPPORT_RATE = 0.25
"""Raised when more than this share of the responses is in no category."""

TRUNCATED_RATE = 0.1
"""Raised when more than this share of the responses is cut off."""

CLEARED = 2 / 3
"""A rate's alarm is cleared at this part of its limit, a share's at the inverse of it."""

ALARMS = ("starved_categories", "collapsed_groups", "ungraded", "equal_rewards", "off_support", "truncated")

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Gauge:
    """One number that is watched."""

    alarm: str
    read: Callable[[Metrics], float | None]
    """Its value in a step's metrics; None where they do not have it."""
    raised_at: float
    cleared_at: float
    """On the healthy side of ``raised_at``; that is also what tells which side is healthy."""
    window: int = WINDOW
    category: str = ""
    target: float = 0.0

    def is_raised(self, mean: float, already: bool) -> bool:
        """Whether the alarm is on, given the mean over the window and whether it is on already."""
        limit = self.cleared_at if already else self.raised_at
        return mean < limit if self.raised_at < self.cleared_at else mean > limit


class CollapsedLimit(NamedTuple):
    """When too many groups have all their on-support responses in one category."""

    on_target: float
    """The rate of such groups when every prompt is on target: large for a target like (0.95, 0.05)."""
    rate: float
    """The rate that a sound policy stays below."""
    groups: float
    """How many groups that needs, so that it is no chance: the limit is then COLLAPSED_ERRORS standard errors, of
    sqrt(on_target (1 - on_target) / groups), above the rate on target."""


def collapsed_limit(target: NDArray[np.float64], group_size: int) -> CollapsedLimit:
    """The limit for groups of ``group_size`` responses under ``target``. A target that is all in one category has the
    rate 1, which is never passed."""
    on_target = float(np.sum(target**group_size))
    excess = COLLAPSED_EXCESS * (1.0 - on_target)
    groups = on_target * (1.0 - on_target) * (COLLAPSED_ERRORS / excess) ** 2 if excess else 0.0
    return CollapsedLimit(on_target, on_target + excess, groups)


def gauges_of(settings: Settings, prompts: int, group_size: int) -> tuple[Gauge, ...]:
    """What is watched in a run of ``prompts`` groups of ``group_size`` responses a step."""
    wanted = [(name, share) for name, share in zip(settings.categories, settings.target.tolist(), strict=True) if share]
    collapsed = collapsed_limit(settings.target, group_size)
    return (
        *(
            Gauge(
                "starved_categories",
                _metric(f"mad/share/{name}"),
                raised_at=STARVED_SHARE * share,
                cleared_at=STARVED_SHARE / CLEARED * share,
                window=max(WINDOW, math.ceil(MIN_EXPECTED / (share * prompts * group_size))),
                category=name,
                target=share,
            )
            for name, share in wanted
        ),
        Gauge(
            "collapsed_groups",
            _metric("mad/single_category_group_rate"),
            raised_at=collapsed.rate,
            cleared_at=collapsed.on_target + CLEARED * (collapsed.rate - collapsed.on_target),
            window=max(WINDOW, math.ceil(collapsed.groups / prompts)),
        ),
        _rate("ungraded", _without_verdict, UNGRADED_PART * settings.max_ungraded_rate),
        _rate("equal_rewards", _metric("mad/equal_reward_group_rate"), EQUAL_REWARD_RATE),
        _rate("off_support", _metric("mad/off_support_rate"), OFF_SUPPORT_RATE),
        _rate("truncated", _metric("mad/truncated_rate"), TRUNCATED_RATE),
    )


def _metric(name: str) -> Callable[[Metrics], float | None]:
    return lambda metrics: metrics.get(name)


def _without_verdict(metrics: Metrics) -> float | None:
    """The share of responses that are ungraded or never came back, as ``max_ungraded_rate`` counts them."""
    ungraded, failed = metrics.get("mad/ungraded_rate"), metrics.get("mad/failed_session_rate")
    return None if ungraded is None or failed is None else failed + (1.0 - failed) * ungraded


def _rate(alarm: str, read: Callable[[Metrics], float | None], limit: float) -> Gauge:
    return Gauge(alarm, read, raised_at=limit, cleared_at=CLEARED * limit)


class RunHealth:
    """The alarms of one run. Its state follows from the metrics of the steps it has seen and nothing else, so that
    ``replay`` brings it back after a resume."""

    def __init__(self, settings: Settings, prompts: int, group_size: int) -> None:
        self.gauges = gauges_of(settings, prompts, group_size)
        self.raised: dict[Gauge, int] = {}
        """Each gauge whose alarm is on -> the step that raised it."""
        self._recent: dict[Gauge, deque[float]] = {gauge: deque(maxlen=gauge.window) for gauge in self.gauges}

    def replay(self, history: Mapping[int, Metrics], before: int) -> None:
        """Take in the steps below ``before`` of a run's history (``RunFolder.history``), which is in order."""
        for step, metrics in history.items():
            if step < before:
                self.update(step, metrics)

    def update(self, step: int, metrics: Metrics) -> None:
        """Take in one step's training metrics. An alarm whose number they lack stays as it is."""
        for gauge, recent in self._recent.items():
            value = gauge.read(metrics)
            if value is None:
                continue
            recent.append(value)
            if len(recent) == gauge.window and gauge.is_raised(self.mean(gauge), gauge in self.raised):
                self.raised.setdefault(gauge, step)
            else:
                self.raised.pop(gauge, None)

    def mean(self, gauge: Gauge) -> float:
        """The gauge's mean over its window, up to the last step."""
        recent = self._recent[gauge]
        return math.fsum(recent) / len(recent)

    def metrics(self) -> dict[str, float]:
        """``mad/alarm/<name>`` for each of ALARMS: how many of its gauges are raised."""
        return {f"mad/alarm/{alarm}": float(sum(gauge.alarm == alarm for gauge in self.raised)) for alarm in ALARMS}
