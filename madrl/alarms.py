"""Run health: what goes wrong in a training run while its loss and rewards still look fine, noticed early.

Every alarm (``ALARMS``) looks at the mean of one of a step's metrics over the last steps, is raised when that passes a
limit, and is cleared at a second limit on the healthy side of the first, so that it does not flicker.

The training process computes them, once: its metrics get ``mad/alarm/<name>`` (the number of starved categories, 0 or 1
for the others), and RUN/alarms.jsonl gets one ``Event`` a line when an alarm is raised or cleared, with what was seen
and what to do. The console and the run's page only read that file. Nothing here stops a run.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.attributes import metrics_of_attribute
from madrl.files import JsonLinesTail, write_text
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
"""Raised when more than this share of the responses is cut off, and wrong or in no category."""

UNUSUAL_RATE = 0.05
"""Raised when more than this share of the responses came to its category or its verdict by an unusual way."""

CLEARED = 2 / 3
"""A rate's alarm is cleared at this part of its limit, a share's at the inverse of it."""

ALARMS = {
    "starved_categories": "a wanted category has less than a quarter of its target share",
    "collapsed_groups": "prompts had all their on-support responses in one category",
    "ungraded": "responses had no verdict or no category by our fault, or did not come back",
    "equal_rewards": "prompts gave all their responses the same reward",
    "off_support": "responses were in no category",
    "truncated": "responses were cut at the length limit, and are wrong or in no category",
    "unusual": "responses came to their category or verdict by an unusual way",
}
"""Alarm -> what it has seen; for all but the first, what its rate is the share of."""

OF_ATTRIBUTES = ("starved_categories", "collapsed_groups", "off_support")
"""The alarms that each further attribute (``madrl.attributes``) has of its own."""

Metrics = Mapping[str, float]


class Reading(NamedTuple):
    """One step's value of a gauge, and what its limits are parts of: a limit L is passed at ``zero + L * unit``."""

    value: float
    zero: float = 0.0
    unit: float = 1.0


@dataclass(frozen=True)
class Gauge:
    """One number that is watched."""

    alarm: str
    read: Callable[[Metrics], Reading | None]
    """Its value in a step's metrics; None where they do not have it."""
    raised_at: float
    cleared_at: float
    """On the healthy side of ``raised_at``; that is also what tells which side is healthy."""
    is_enough: Callable[[int, float], bool] = lambda steps, units: True
    """Whether WINDOW steps or more, with such a sum of units, tell what is seen from chance. The window is the last of
    the steps that do."""
    category: str = ""
    attribute: str = ""
    """The further attribute that is watched; empty for the first, and for what is not of one."""

    def limit(self, mean: Reading, already: bool) -> float:
        """What the mean value is compared with, if the alarm is on already or not."""
        return mean.zero + (self.cleared_at if already else self.raised_at) * mean.unit

    def is_raised(self, mean: Reading, already: bool) -> bool:
        """Whether the alarm is on, given the mean over the window and whether it is on already."""
        limit = self.limit(mean, already)
        return mean.value < limit if self.raised_at < self.cleared_at else mean.value > limit


class CollapsedLimit(NamedTuple):
    """When too many groups have all their on-support responses in one category."""

    on_target: float
    """The rate of such groups when every prompt is on target: large for a target like (0.95, 0.05)."""
    rate: float
    """The rate that a sound policy stays below."""
    groups: float
    """How many groups that needs, so that it is no chance: the limit is then COLLAPSED_ERRORS standard errors, of
    sqrt(on_target (1 - on_target) / groups), above the rate on target."""

    @classmethod
    def of(cls, on_target: float) -> "CollapsedLimit":
        """The limit where ``on_target`` of the groups are such ones on target. A rate of 1 is never passed."""
        excess = COLLAPSED_EXCESS * (1.0 - on_target)
        groups = on_target * (1.0 - on_target) * (COLLAPSED_ERRORS / excess) ** 2 if excess else 0.0
        return cls(on_target, on_target + excess, groups)


def single_category_rate_on(target: NDArray[np.float64], responses: int) -> float:
    """The rate of groups in one category under ``target``, sum_c p*_c^n, where ``responses`` = n of a group are
    on-support: all of them, for a target in one category or a single response; none, where no response is on-support
    (``metrics.single_category_rate``)."""
    return float(np.sum(target**responses)) if responses else 0.0


def collapsed_limit(target: NDArray[np.float64], responses: Sequence[int]) -> CollapsedLimit:
    """The limit under ``target`` for groups that have so many on-support responses each."""
    return CollapsedLimit.of(float(np.mean([single_category_rate_on(target, n) for n in responses])))


def gauges_of(settings: Settings, prompts: int, group_size: int) -> tuple[Gauge, ...]:
    """What is watched in a run of ``prompts`` groups of ``group_size`` responses a step.

    Where a step's metrics say what its prompts' own targets are (``batch_metrics``), its shares and its groups in one
    category are compared with that, and the window is long enough for what the targets of its steps want."""
    further = (
        replace(gauge, read=_of_attribute(name, gauge.read), attribute=name)
        for name in settings.attributes
        for gauge in _gauges(settings.of_attribute(name), prompts, group_size)
        if gauge.alarm in OF_ATTRIBUTES
    )
    return (*_gauges(settings, prompts, group_size), *further)


def _of_attribute(name: str, read: Callable[[Metrics], Reading | None]) -> Callable[[Metrics], Reading | None]:
    return lambda metrics: read(metrics_of_attribute(metrics, name))


def _gauges(settings: Settings, prompts: int, group_size: int) -> tuple[Gauge, ...]:
    on_target = single_category_rate_on(settings.target, group_size)
    return (
        *(
            Gauge(
                "starved_categories",
                _share(name, share),
                raised_at=STARVED_SHARE,
                cleared_at=STARVED_SHARE / CLEARED,
                is_enough=lambda steps, shares: shares * prompts * group_size >= MIN_EXPECTED,
                category=name,
            )
            for name, share in zip(settings.categories, settings.target.tolist(), strict=True)
        ),
        Gauge(
            "collapsed_groups",
            _single_category_rate(on_target),
            raised_at=COLLAPSED_EXCESS,
            cleared_at=CLEARED * COLLAPSED_EXCESS,
            is_enough=lambda steps, excess: steps * prompts >= CollapsedLimit.of(1.0 - excess / steps).groups,
        ),
        _rate("ungraded", _without_verdict, UNGRADED_PART * settings.max_ungraded_rate),
        _rate("equal_rewards", _metric("mad/equal_reward_group_rate"), EQUAL_REWARD_RATE),
        _rate("off_support", _metric("mad/off_support_rate"), OFF_SUPPORT_RATE),
        _rate("truncated", _metric("mad/truncated_failed_rate"), TRUNCATED_RATE),
        _rate("unusual", _metric("mad/unusual_rate"), UNUSUAL_RATE),
    )


def _share(name: str, wanted: float) -> Callable[[Metrics], Reading | None]:
    """A category's share, in units of what the step's targets want of it, or the run's."""

    def read(metrics: Metrics) -> Reading | None:
        share = metrics.get(f"mad/share/{name}")
        return None if share is None else Reading(share, unit=metrics.get(f"mad/target/{name}", wanted))

    return read


def _single_category_rate(on_target: float) -> Callable[[Metrics], Reading | None]:
    """The rate of groups in one category, on the way from what the step's targets give, or the run's, to 1."""

    def read(metrics: Metrics) -> Reading | None:
        rate = metrics.get("mad/single_category_group_rate")
        zero = metrics.get("mad/single_category_group_rate_on_target", on_target)
        return None if rate is None else Reading(rate, zero, 1.0 - zero)

    return read


def _metric(name: str) -> Callable[[Metrics], float | None]:
    return lambda metrics: metrics.get(name)


def _without_verdict(metrics: Metrics) -> float | None:
    """The share of responses that are ungraded or never came back, as ``max_ungraded_rate`` counts them."""
    ungraded, failed = metrics.get("mad/ungraded_rate"), metrics.get("mad/failed_session_rate")
    return None if ungraded is None or failed is None else failed + (1.0 - failed) * ungraded


def _rate(alarm: str, read: Callable[[Metrics], float | None], limit: float) -> Gauge:
    def reading(metrics: Metrics) -> Reading | None:
        value = read(metrics)
        return None if value is None else Reading(value)

    return Gauge(alarm, reading, raised_at=limit, cleared_at=CLEARED * limit)


class Event(NamedTuple):
    """An alarm that one step raised or cleared: a line of RUN/alarms.jsonl."""

    step: int
    alarm: str
    state: str
    """``raised`` or ``cleared``."""
    categories: Sequence[str]
    """The categories that starve, or that do no longer; none for the other alarms."""
    text: str
    """What was seen over how many steps and, of an alarm that was raised, what to do."""
    attribute: str = ""
    """The further attribute that it is of; empty for the first."""

    @property
    def name(self) -> str:
        """The alarm, and the further attribute that it is of."""
        return f"{self.alarm} of {self.attribute}" if self.attribute else self.alarm

    def __str__(self) -> str:
        if self.state == "raised":
            return f"ALARM {self.name} at step {self.step}: {self.text}"
        return f"alarm {self.name} over at step {self.step}, {self.text}"


class Stretch(NamedTuple):
    """The steps during which an alarm was on."""

    raised: Event
    cleared: int | None
    """The step that cleared it, for the last of its categories; None while it is on."""


def read_events(path: Path) -> list[Event]:
    """The events of RUN/alarms.jsonl in order; none when no alarm was ever raised."""
    return [Event(**line) for line in JsonLinesTail(path).new()]


def stretches(events: Iterable[Event]) -> list[Stretch]:
    """One stretch for each event that raised an alarm, in their order."""
    open_: dict[tuple[str, str], int] = {}  # by name and category
    found: list[Stretch] = []
    for event in events:
        gauges = [(event.name, category) for category in event.categories or [""]]
        if event.state == "raised":
            open_ |= dict.fromkeys(gauges, len(found))
            found.append(Stretch(event, None))
            continue
        for number in {open_.pop(gauge) for gauge in gauges}:
            if number not in open_.values():
                found[number] = Stretch(found[number].raised, event.step)
    return found


class RunHealth:
    """The alarms of one run. Its state follows from the metrics of the steps it has seen and nothing else, so that
    ``resume`` brings it back."""

    def __init__(self, settings: Settings, prompts: int, group_size: int) -> None:
        self.gauges = gauges_of(settings, prompts, group_size)
        self.raised: dict[Gauge, int] = {}
        """Each gauge whose alarm is on -> the step that raised it."""
        self._settings = settings
        self._group_size = group_size
        self._recent: dict[Gauge, deque[Reading]] = {gauge: deque() for gauge in self.gauges}

    def resume(self, history: Mapping[int, Metrics], before: int, path: Path) -> None:
        """Take in the steps below ``before`` of a run's history (``RunFolder.history``), and write their events to
        ``path`` in place of what is there: the steps from ``before`` on are trained again."""
        events = [event for step in sorted(history) if step < before for event in self.update(step, history[step])]
        write_text(path, "".join(map(_line, events)))

    def record(self, step: int, metrics: Metrics, path: Path) -> None:
        """Take in one step and append its events to ``path``."""
        events = self.update(step, metrics)
        if events:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(map(_line, events))

    def update(self, step: int, metrics: Metrics) -> list[Event]:
        """Take in one step's training metrics; returns what it raised and cleared, at most one event of each kind for
        an alarm of an attribute. An alarm whose number the metrics lack stays as it is."""
        before = dict(self.raised)
        unwanted: list[Gauge] = []
        """Those of categories that the schedule has come to want none of."""
        for gauge, recent in self._recent.items():
            reading = gauge.read(metrics)
            if reading is not None and reading.unit == 0 and self._settings.target_schedule is not None:
                self.raised.pop(gauge, None)
                unwanted.append(gauge)
                continue
            if reading is None or (reading.unit == 0 and not recent):  # nothing is compared with 0
                continue
            recent.append(reading)
            while _is_window(gauge, recent, len(recent) - 1):
                recent.popleft()
            if _is_window(gauge, recent, len(recent)) and gauge.is_raised(self.mean(gauge), gauge in self.raised):
                self.raised.setdefault(gauge, step)
            else:
                self.raised.pop(gauge, None)
        events = []
        for alarm, attribute in product(ALARMS, ("", *self._settings.attributes)):
            of_it = [gauge for gauge in self.gauges if (gauge.alarm, gauge.attribute) == (alarm, attribute)]
            new = [gauge for gauge in of_it if gauge in self.raised and gauge not in before]
            over = [gauge for gauge in of_it if gauge in before and gauge not in self.raised]
            if new:
                advice = advice_of(alarm, self._settings, self._group_size)
                events.append(Event(step, alarm, "raised", _names(new), f"{self._seen(new)}. {advice}", attribute))
            if over:
                text = f"after {step - min(before[gauge] for gauge in over)} steps: {self._seen(over)}."
                if given_up := _names([gauge for gauge in over if gauge in unwanted]):
                    text += f" The target now wants none of {', '.join(given_up)}."
                events.append(Event(step, alarm, "cleared", _names(over), text, attribute))
        for gauge in unwanted:
            self._recent[gauge].clear()
        return events

    def mean(self, gauge: Gauge) -> Reading:
        """The gauge's mean over its window, up to the last step."""
        recent = self._recent[gauge]
        return Reading(*(math.fsum(part) / len(recent) for part in zip(*recent, strict=True)))

    def metrics(self) -> dict[str, float]:
        """``mad/alarm/<name>`` for each of ALARMS: how many of its gauges are raised."""
        return {f"mad/alarm/{alarm}": float(sum(gauge.alarm == alarm for gauge in self.raised)) for alarm in ALARMS}

    def _seen(self, gauges: Sequence[Gauge]) -> str:
        """What the gauges of one alarm show, and over how many steps."""
        steps = f"over the last {max(len(self._recent[gauge]) for gauge in gauges)} steps"
        if gauges[0].category:
            means = [(gauge.category, self.mean(gauge)) for gauge in gauges]
            shares = [f"{name} {mean.value:.1%} (target {mean.unit:.1%})" for name, mean in means]
            return f"{steps} the shares of on-support responses were {', '.join(shares)}"
        gauge, mean = gauges[0], self.mean(gauges[0])
        return f"{steps} {mean.value:.1%} of the {ALARMS[gauge.alarm]} (limit {gauge.limit(mean, False):.1%})"


def _is_window(gauge: Gauge, recent: deque[Reading], steps: int) -> bool:
    """Whether the last ``steps`` readings are enough to judge by."""
    return steps >= WINDOW and gauge.is_enough(steps, math.fsum(one.unit for one in islice(reversed(recent), steps)))


def _names(gauges: Sequence[Gauge]) -> list[str]:
    return [gauge.category for gauge in gauges if gauge.category]


def _line(event: Event) -> str:
    fields = {name: value for name, value in event._asdict().items() if name != "attribute" or value}
    return json.dumps(fields, ensure_ascii=False) + "\n"


def advice_of(alarm: str, settings: Settings, group_size: int) -> str:
    """What to do about an alarm, with the config's own keys. Most of them cannot change within a run, so most advice is
    for the next one."""
    reward = settings.reward
    if alarm in ("starved_categories", "collapsed_groups") and reward.form == "rlvr":
        return "The rlvr form has no distributional reward: this drift is what the control is there to show."
    larger_group = f"with a larger group (actor_rollout_ref.rollout.n, now {group_size})"
    if reward.form == "gated":
        weight = f"with more weight on the distribution (madrl.reward.lambda_g, now {reward.lambda_g:g})"
    else:
        weight = f"with less weight on correctness (madrl.reward.alpha, now {reward.alpha:g})"
    hints = "with madrl.hints=2, which asks for it by name, " if settings.could_hint else ""
    return {
        "starved_categories": (
            "A category that no response of a group is in earns nothing there, so it may never come back. If it "
            "does not rise by itself, start a new run from a warm start in which every wanted category is sampled "
            f"(MODEL=, or paths.model), {larger_group}, {hints}or {weight}."
        ),
        "collapsed_groups": (
            "The distributional reward is constant in such a group and teaches nothing, and the pooled shares can "
            "look right all the same. Start a new run from a warm start that mixes within each prompt "
            f"(MODEL=, or paths.model), {larger_group}, or with a higher actor_rollout_ref.rollout.temperature."
        ),
        "ungraded": (
            f"Above madrl.max_ungraded_rate={settings.max_ungraded_rate:g} in one step the run stops. The "
            "reasons are in the run's scores/ and train.log. Restart the sandboxes that are down, or stop the run, "
            "name more in MADRL_SANDBOX_URLS and start it again; it resumes. A row whose reference cannot be "
            "parsed has to leave the data."
        ),
        "equal_rewards": (
            "Such a group moves nothing. Either the groups have collapsed (mad/single_category_group_rate), or the "
            "problems are all too hard or too easy (mad/pass@1). Start a new run on others (paths.data), "
            f"{larger_group}, or, from rlvr or gated, with madrl.reward.form=additive."
        ),
        "off_support": (
            "The shares and the JSD are of the other responses alone. Read some in the run's rollouts/ beside "
            "scores/: if they are good, madrl.classifier or madrl.categories is wrong; if not, warm start again "
            "(MODEL=, or paths.model)."
        ),
        "truncated": (
            "What is cut before its answer has none, and languages that take more tokens are cut first, so that the "
            "limit itself steers the mix. Start a new run with a larger data.max_response_length."
        ),
        "unusual": (
            "That is how a policy looks that earns its reward without doing what the target asks. The scores/ of the "
            "run say which way (unusual) beside the category: read such responses in its rollouts/. If they are "
            "honest, the prompt or the data ask for them; if not, report the way, and do not trust the shares."
        ),
    }[alarm]
