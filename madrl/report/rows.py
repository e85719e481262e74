"""From runs to the rows of tables: medians over runs, means over seeds, pooled counts, and what is missing.

Which is which is the paper's: its main table takes the median over the additive runs of an objective (all weights times
all seeds, the gated form left out), its reward grid and its synthetic table the mean over the seeds of a cell, and its
accuracies per category the pooled counts of the runs behind a row.

A row knows how many runs it should have. With fewer it still says what those few show, but it is not complete: no
table compares an incomplete row with another, and every one marks it.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.evaluation.metrics import jsd_floor, jsd_per_prompt_floor
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.cells import DATASETS, DONE, TRAIN_POINTS, Cell, Run
from madrl.targets import TARGETS

Array = NDArray[np.float64]

OWN_INTERVAL = "95 % interval, problems resampled"
"""The spread of a row with a single run: its own, of other problems, in place of that of other runs."""

MAIN, GRID, SYNTHETIC = "main", "grid", "synthetic"


class Statistic(NamedTuple):
    """How the numbers of several runs become one, and what is shown as their spread."""

    name: str
    centre: Callable[[Array], float]
    spread: Callable[[Array], tuple[float, float]]
    spread_name: str


MEDIAN = Statistic(
    "median",
    lambda values: float(np.median(values)),
    lambda values: (float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))),
    "interquartile range of the runs",
)
MEAN = Statistic(
    "mean",
    lambda values: float(np.mean(values)),
    lambda values: (float(values.min()), float(values.max())),
    "minimum to maximum of the seeds",
)


class Number(NamedTuple):
    """A number and its spread; None where it does not exist."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Range(NamedTuple):
    """The smallest and the largest of several counts."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def range_of(counts: Iterable[int]) -> Range | None:
    """None of no counts."""
    found = list(counts)
    return Range(min(found), max(found)) if found else None


class Floor(NamedTuple):
    """What a policy on the target shows: mean, 95th percentile, and the smallest difference that is resolved."""

    mean: float
    p95: float
    noise: float
    n: str
    """The number of responses that it holds at, for people."""


class Pooled(NamedTuple):
    """Correct responses of one category, and the graded ones they are of, summed over runs."""

    right: float
    """Summed correctness: a response that is correct in part counts in part."""
    graded: int

    @property
    def accuracy(self) -> float | None:
        """None below MIN_COMPLETIONS graded responses."""
        return self.right / self.graded if self.graded >= MIN_COMPLETIONS else None


@dataclass(frozen=True)
class Row:
    """One line of a table for one target."""

    dataset: str
    target: str
    reward: str
    """As in ``Cell``; base, SFT init, or any other name that a file of responses was given."""
    weight: str
    """As in ``Cell``; empty when several are pooled."""
    kind: str
    """MAIN, GRID or SYNTHETIC."""
    statistic: str
    spread: str
    """What ``low`` and ``high`` of its numbers are."""
    runs: int
    expected: int
    missing: tuple[str, ...]
    """The runs that are not there, each with the reason."""
    jsd: Number
    """Pooled JSD in nats, of each run, then the statistic over runs."""
    samples: Range | None
    """Responses of one run behind it, off-support ones included."""
    floor: Floor | None
    """At the median on-support count of the runs."""
    prompt_jsd: Number
    """Mean over prompts of the JSD of each prompt's own shares: the JSD of the paper's synthetic table."""
    prompt_n: Range | None
    """Responses to a prompt behind it, off-support ones included: it is compared at equal ones only."""
    prompt_floor: Floor | None
    """At the on-support counts of the runs' prompts; the mean over runs."""
    train_jsd: Number
    """The same of the training batches."""
    train_n: Range | None
    train_floor: Floor | None
    """At the group size."""
    divergences: dict[str, Number]
    per_prompt: Number
    """Unbiased mean squared distance of single prompts (``per_prompt.squared_distances``)."""
    off_support: Number
    ungraded: Number
    pass_at_1: Number
    shares: dict[str, Number]
    accuracy: dict[str, Pooled]

    @property
    def complete(self) -> bool:
        return self.runs == self.expected > 0

    @property
    def on_target(self) -> bool | None:
        """Whether the JSD cannot be told from that of a policy on the target; None where either is missing."""
        return None if self.jsd.value is None or self.floor is None else self.jsd.value <= self.floor.p95


class Study(NamedTuple):
    """Everything a report is of."""

    runs: tuple[Run, ...]
    baselines: tuple[Row, ...]
    """Rows of files of responses, which belong to no run."""

    @property
    def datasets(self) -> list[str]:
        """The paper's in its order, then the user's own."""
        found = {run.cell.dataset for run in self.runs}
        return [name for name in DATASETS if name in found] + sorted(found - set(DATASETS))

    @property
    def tiny(self) -> bool:
        return any(run.profile == "tiny" for run in self.runs)

    def of(self, dataset: str) -> list[Run]:
        return [run for run in self.runs if run.cell.dataset == dataset]

    def targets(self, dataset: str) -> list[str]:
        """The dataset's targets, the paper's two first and in its order."""
        found = {run.cell.target for run in self.of(dataset)}
        return [name for name in TARGETS if name in found] + sorted(found - set(TARGETS))


def main_rows(study: Study, dataset: str, target: str) -> list[Row]:
    """Baseline files, the baselines that were trained, and, where any run is additive, one row for each divergence:
    medians over runs."""
    runs = study.of(dataset)
    rows = [row for row in study.baselines if (row.dataset, row.target) == (dataset, target)]
    additive = _weights(runs, "add")
    for reward in ("rlvr", "entropy", "gapo"):
        mine = [run for run in runs if run.cell.reward == reward and run.cell.target == target]
        # The control belongs to every table even where nobody ran it. It is measured against uniform only.
        if mine or (reward == "rlvr" and target == "uniform"):
            weights = sorted({run.cell.weight for run in mine}) or [""]
            rows.append(_row(study, dataset, target, reward, weights, MAIN, MEDIAN))
    if additive:
        rows += [_row(study, dataset, target, reward, additive, MAIN, MEDIAN) for reward in DIVERGENCES]
    return rows


def grid_rows(study: Study, dataset: str, target: str) -> list[Row]:
    """One row for each divergence and weight, gated first as the paper has it: means over seeds."""
    weights = grid_weights(study, dataset)
    return [_row(study, dataset, target, reward, [weight], GRID, MEAN) for reward in DIVERGENCES for weight in weights]


def reward_weights(study: Study, dataset: str) -> list[str]:
    """The additive weights that the main table pools, from the most correctness to the least."""
    return _weights(study.of(dataset), "add")


def grid_weights(study: Study, dataset: str) -> list[str]:
    """gated, then the additive weights from the most correctness to the least."""
    runs = study.of(dataset)
    return _weights(runs, "gated") + _weights(runs, "add")


def synthetic_rows(study: Study, dataset: str, target: str) -> list[Row]:
    """One row for each divergence: means over seeds."""
    weights = _weights(study.of(dataset), "add")
    return [_row(study, dataset, target, reward, weights, SYNTHETIC, MEAN) for reward in DIVERGENCES]


def _weights(runs: Sequence[Run], prefix: str) -> list[str]:
    found = {run.cell.weight for run in runs if run.cell.reward in DIVERGENCES and run.cell.weight.startswith(prefix)}
    return sorted(found, key=lambda weight: -int(weight.removeprefix("add")) if prefix == "add" else 0)


def _row(
    study: Study, dataset: str, target: str, reward: str, weights: Sequence[str], kind: str, statistic: Statistic
) -> Row:
    """The row of the cells ``weights`` times the seeds that any run of the dataset has."""
    of_dataset = study.of(dataset)
    there = {run.cell: run for run in of_dataset}
    seeds = sorted({run.cell.seed for run in of_dataset})
    cells = [Cell(dataset, target, reward, weight, seed) for weight, seed in product(weights, seeds)]
    runs = [there[cell] for cell in cells if cell in there and there[cell].state == DONE]
    return Row(
        dataset=dataset,
        target=target,
        reward=reward,
        weight=weights[0] if len(weights) == 1 and kind == GRID else "",
        kind=kind,
        statistic=statistic.name if len(runs) > 1 else "single",
        spread=statistic.spread_name if len(runs) > 1 else OWN_INTERVAL,
        runs=len(runs),
        expected=len(cells),
        missing=tuple(_missing(cells, there)),
        **_numbers(runs, statistic),
    )


def _missing(cells: Sequence[Cell], there: dict[Cell, Run]) -> Iterator[str]:
    for cell in cells:
        run = there.get(cell)
        if run is None:
            yield f"{cell}: no run"
        elif run.state != DONE:
            yield f"{cell}: {run.state}, {run.reason}"


def _numbers(runs: Sequence[Run], statistic: Statistic) -> dict[str, Any]:
    """The statistic of every number over the runs' final evaluations."""
    finals = [run.final for run in runs if run.final is not None]
    scores = [final.scores for final in finals]
    by_category = [score["by_category"] for score in scores]
    names = runs[0].settings.categories if runs else ()
    target = runs[0].settings.target if runs else None

    def over(values: Sequence[float | None]) -> Number:
        """None as soon as one run has none: a statistic over the rest would hide it."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return Number(None)
        array = np.array(known, dtype=np.float64)
        spread = len(known) > 1 and np.isfinite(array).all()  # quantiles between infinities are NaN
        return Number(statistic.centre(array), *(statistic.spread(array) if spread else (None, None)))

    def with_own(values: Sequence[float | None], intervals: Sequence[Sequence[float] | None]) -> Number:
        number = over(values)
        if len(values) != 1 or intervals[0] is None:
            return number
        return Number(number.value, *intervals[0])

    on_support = [score["on_support"] for score in scores if score["on_support"]]
    of_prompts = [score["jsd_per_prompt"] for score in scores]
    return {
        "jsd": with_own([score["jsd"] for score in scores], [score["jsd_interval"] for score in scores]),
        "floor": None if target is None or not on_support else pooled_floor(target, int(np.median(on_support))),
        "samples": range_of(score["samples"] for score in scores),
        "prompt_jsd": with_own([of["mean"] for of in of_prompts], [of["interval"] for of in of_prompts]),
        "prompt_n": range_of(of["n"] for of in of_prompts),
        "prompt_floor": _mean_floor(of_prompts),
        "train_jsd": over([run.train_jsd for run in runs]),
        "train_n": range_of(run.group_size for run in runs),
        "train_floor": _train_floor(runs[0]) if runs else None,
        "divergences": {
            name: over([_infinite(score[name], name in score["infinite"]) for score in scores]) for name in DIVERGENCES
        },
        "per_prompt": with_own(
            [score["per_prompt"]["distance"] for score in scores], [score["per_prompt"]["interval"] for score in scores]
        ),
        "off_support": over([score["off_support"] for score in scores]),
        "ungraded": over([score["ungraded"] for score in scores]),
        "pass_at_1": with_own([score["pass@1"] for score in scores], [score["pass@1_interval"] for score in scores]),
        "shares": {
            name: with_own(
                [one[name]["share"] for one in by_category], [one[name]["share_interval"] for one in by_category]
            )
            for name in names
        },
        "accuracy": {
            name: Pooled(
                sum(final.right[name] for final in finals),
                sum(one[name]["graded"] for one in by_category),
            )
            for name in names
        },
    }


def _infinite(value: float | None, is_infinite: bool) -> float | None:
    return float("inf") if is_infinite else value


def pooled_floor(target: Array, on_support: int) -> Floor:
    """Of the pooled JSD. Differences below the 95th percentile are not resolved."""
    return _pooled_floor(tuple(target.tolist()), on_support)


@functools.cache
def _pooled_floor(target: tuple[float, ...], on_support: int) -> Floor:
    floor = jsd_floor(np.array(target), on_support)
    return Floor(floor.mean, floor.p95, floor.p95, str(on_support))


def prompt_floor(target: Array, counts: Sequence[int], n: int) -> Floor:
    """Of the mean over prompts of a prompt's own JSD, at ``n`` responses to each of which ``counts`` are on-support.

    Its mean is large and common to all rewards, so that it is in no difference between them (paper, appendix
    "Synthetic Choice"): what is not resolved is a difference below the scatter around it, p95 - mean.
    """
    floor = jsd_per_prompt_floor(target, counts)
    return _of_prompts(floor.mean, floor.p95, n, Range(min(counts), max(counts)))


def _of_prompts(mean: float, p95: float, n: int, on_support: Range) -> Floor:
    return Floor(mean, p95, p95 - mean, str(n) if on_support == (n, n) else f"{n}, {on_support} on-support")


def _mean_floor(of_prompts: Sequence[Mapping[str, Any]]) -> Floor | None:
    """The mean over runs of the floor that each has (``score_samples``); None as soon as one has none, or of no run.
    Its ``n`` is the first run's."""
    if not of_prompts or any(of["floor"] is None for of in of_prompts):
        return None
    mean, p95 = (float(np.mean([of[name] for of in of_prompts])) for name in ("floor", "floor_p95"))
    counts = [count for of in of_prompts for count in of["n_on_support"]]
    return _of_prompts(mean, p95, of_prompts[0]["n"], Range(min(counts), max(counts)))


def _train_floor(run: Run) -> Floor:
    """Of ``Run.train_jsd``: at the whole group size, as what was off-support at each step is not logged by prompt."""
    prompts = TRAIN_POINTS * run.prompts_per_step
    return prompt_floor(run.settings.target, (run.group_size,) * prompts, run.group_size)


def baseline_row(dataset: str, target: str, name: str, scores: dict[str, Any], floor: Floor | None) -> Row:
    """The row of one file of responses (``score_samples``), with its own 95 % intervals for a spread."""
    by_category, of_prompts = scores["by_category"], scores["jsd_per_prompt"]

    def single(value: float | None, interval: Sequence[float] | None = None) -> Number:
        return Number(value, *(interval if interval is not None else (None, None)))

    return Row(
        dataset=dataset,
        target=target,
        reward=name,
        weight="",
        kind=MAIN,
        statistic="single",
        spread=OWN_INTERVAL,
        runs=1,
        expected=1,
        missing=(),
        jsd=single(scores["jsd"], scores["jsd_interval"]),
        samples=Range(scores["samples"], scores["samples"]),
        floor=floor,
        prompt_jsd=single(of_prompts["mean"], of_prompts["interval"]),
        prompt_n=Range(of_prompts["n"], of_prompts["n"]),
        prompt_floor=_mean_floor([of_prompts]),
        train_jsd=Number(None),
        train_n=None,
        train_floor=None,
        divergences={name: single(_infinite(scores[name], name in scores["infinite"])) for name in DIVERGENCES},
        per_prompt=single(scores["per_prompt"]["distance"], scores["per_prompt"]["interval"]),
        off_support=single(scores["off_support"]),
        ungraded=single(scores["ungraded"]),
        pass_at_1=single(scores["pass@1"], scores["pass@1_interval"]),
        shares={name: single(of["share"], of["share_interval"]) for name, of in by_category.items()},
        accuracy={
            # Below MIN_COMPLETIONS the scores hold no accuracy, and neither does a Pooled of as few.
            name: Pooled(round((of["pass@1"] or 0.0) * of["graded"]), of["graded"])
            for name, of in by_category.items()
        },
    )


class Verdict(NamedTuple):
    """How a row's JSD stands beside the others of its column."""

    best: bool
    resolved: bool | None
    """Whether it can be told from the best one; None for the best, for an incomplete row, and for a baseline."""


def verdicts(rows: Sequence[Row], per_prompt: bool = False) -> list[Verdict]:
    """Of the rows of one dataset and target. Only complete rows of the four divergences compete: the paper's bold. The
    JSDs ``per_prompt`` compete at equal numbers of responses to a prompt: where these differ there is no verdict."""

    def number(row: Row) -> float | None:
        return (row.prompt_jsd if per_prompt else row.jsd).value

    competing = [row for row in rows if row.reward in DIVERGENCES and row.complete and number(row) is not None]
    if per_prompt and len({n for row in competing for n in row.prompt_n or ()}) > 1:
        competing = []
    best = min(competing, key=lambda row: number(row) or 0.0, default=None)
    if best is None:
        return [Verdict(False, None) for _ in rows]
    floor = best.prompt_floor if per_prompt else best.floor
    noise = floor.noise if floor else 0.0
    lowest = number(best) or 0.0
    return [
        Verdict(row is best, None if row is best or row not in competing else (number(row) or 0.0) - lowest > noise)
        for row in rows
    ]
