"""From runs to the rows of tables: medians over runs, means over seeds, pooled counts, and what is missing.

Which is which is the paper's: its main table takes the median over the additive runs of an objective (all weights times
all seeds, the gated form left out), its reward grid and its synthetic table the mean over the seeds of a cell, and its
accuracies per category the pooled counts of the runs behind a row.

A row knows how many runs it should have. With fewer it still says what those few show, but it is not complete: no
table compares an incomplete row with another, and every one marks it.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.evaluation.accuracy import AccuracyChange
from madrl.evaluation.dumps import DONE, Evaluation, RunKey
from madrl.evaluation.metrics import exceeds, jsd_floor, jsd_per_prompt_floor
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.hints import counted_sessions
from madrl.report.numbers import MEAN, MEDIAN, NO_NUMBER, FloorAt, Number, Statistic, alike, more_than_chance, over
from madrl.report.study import TRAIN_POINTS, ScoredRun, is_synthetic
from madrl.settings import Settings
from madrl.targets import TARGETS
from madrl.tasks import TASKS

Array = NDArray[np.float64]

SINGLE = "single run, and its 95 % interval, problems or their clusters resampled"
"""The statistic of a row with one run, whose spread is that of other problems in place of other runs."""

MAIN, GRID, SYNTHETIC = "main", "grid", "synthetic"

INDEPENDENT = 0.9
"""Of a row's responses, the part that they must be worth if its runs are to count as independent of each other."""

GATED = "gated"
"""The weight of the gated form, which the paper pools with no other."""

ALPHA_0 = "add00"
"""The weight of the paper's synthetic table: no option is more correct than another."""


class Range(NamedTuple):
    """The smallest and the largest of several counts."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def range_of(counts: Iterable[int]) -> Range | None:
    """The range of the counts; None without any."""
    found = list(counts)
    return Range(min(found), max(found)) if found else None


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
class TableRow:
    """One line of a table for one target."""

    dataset: str
    target: str
    reward: str
    """The reward as ``RunKey`` names it; base, SFT init, or any other name that a file of responses was given."""
    weight: str
    """The weight as ``RunKey`` names it; empty when several are pooled, and for ALPHA_0 in the synthetic table."""
    kind: str
    """MAIN, GRID or SYNTHETIC."""
    statistic: str
    """What its numbers are, and what their ``low`` and ``high``."""
    runs: int
    expected: int
    missing: tuple[str, ...]
    """The runs that are not there, each with the reason."""
    jsd: Number
    """Pooled JSD in nats, of each run, then the statistic over runs."""
    samples: Range | None
    """Responses of one run behind it, off-support ones included."""
    floor: FloorAt | None
    """The floor of ``jsd`` at the median on-support count of the runs."""
    floor_effective: FloorAt | None
    """The same at the median number of independent responses that theirs are worth (``effective_floor``)."""
    prompt_jsd: Number
    """Mean over prompts of the JSD of each prompt's own shares: the JSD of the paper's synthetic table."""
    prompt_n: Range | None
    """Responses to a prompt behind it, off-support ones included: it is compared at equal ones only."""
    prompt_floor: FloorAt | None
    """The floor of ``prompt_jsd`` at the on-support counts of the runs' prompts; the mean over runs."""
    divergences: dict[str, Number]
    """The divergences of the pooled shares, by name of DIVERGENCES."""
    per_prompt: Number
    """Unbiased mean squared distance of single prompts (``per_prompt.squared_distances``)."""
    off_support: Number
    ungraded: Number
    pass_at_1: Number
    full_marks: Number
    """Share of the graded responses whose correctness is 1."""
    is_partial: bool
    """Whether some response is correct in part, so that ``pass_at_1`` is not ``full_marks``."""
    accuracy_at_target: Number
    """Accuracy at the target mix (``accuracy.accuracy_at_target``)."""
    accuracy_at_target_few: dict[str, int]
    """The wanted categories with too few graded responses for an interval, and the least that a run has."""
    accuracy_at_target_lacks: tuple[str, ...]
    """The wanted categories without a graded response in one of the runs: then it does not exist."""
    shares: dict[str, Number]
    accuracy: dict[str, Pooled]
    train_jsd: Number = NO_NUMBER
    """The same as ``prompt_jsd``, but of the training batches."""
    train_n: Range | None = None
    train_floor: FloorAt | None = None
    """The floor of ``train_jsd`` at the group size."""
    pass_at_1_change: dict[str, Number] = field(
        default_factory=lambda: dict.fromkeys(AccuracyChange._fields, NO_NUMBER)
    )
    """Each part of ``ScoredRun.pass_at_1_change``. Means over the runs, whatever the statistic, as medians of the parts
    would not sum up; a file of responses has none."""

    @property
    def complete(self) -> bool:
        return self.runs == self.expected > 0

    @property
    def off_target(self) -> bool | None:
        """Whether the JSD is above that of as many runs of a policy on the target over problems like these
        (``floor_effective``); None where either is missing."""
        floor = self.floor_effective
        return None if self.jsd.value is None or floor is None else exceeds(self.jsd.value, floor.p95_of_runs)


class Study(NamedTuple):
    """Everything a report is of."""

    runs: tuple[ScoredRun, ...]
    baselines: tuple[TableRow, ...]
    """Rows of files of responses, which belong to no run."""

    @property
    def datasets(self) -> list[str]:
        """The paper's in its order, then the user's own."""
        found = {run.key.dataset for run in self.runs}
        return [name for name in TASKS if name in found] + sorted(found - set(TASKS))

    @property
    def profiles(self) -> set[str]:
        return {run.profile for run in self.runs}

    def of(self, dataset: str) -> list[ScoredRun]:
        return [run for run in self.runs if run.key.dataset == dataset]

    def targets(self, dataset: str) -> list[str]:
        """The dataset's targets, the paper's two first and in its order."""
        found = {run.key.target for run in self.of(dataset)}
        return [name for name in TARGETS if name in found] + sorted(found - set(TARGETS))

    def panels(self) -> list[tuple[str, str]]:
        """Every dataset with each of its targets."""
        return [(dataset, target) for dataset in self.datasets for target in self.targets(dataset)]

    def settings(self, dataset: str, target: str) -> Settings:
        """The settings that the runs of a dataset and target share."""
        return next(run.settings for run in self.of(dataset) if run.key.target == target)

    def target(self, dataset: str, target: str) -> Array:
        """p* of the pool that these runs are evaluated on, shape (K,)."""
        finals = [run.final for run in self.of(dataset) if run.key.target == target and run.final]
        return mean_target_in(finals[0]) if finals else self.settings(dataset, target).target

    def rewards(self, dataset: str, target: str) -> dict[str, list[str]]:
        """The rewards of a dataset's and target's runs, as ``RunKey`` names them, each with the weights that it has; in
        the order of their rows."""
        found: dict[str, set[str]] = {}
        for run in self.of(dataset):
            if run.key.target == target:
                found.setdefault(run.key.reward, set()).add(run.key.weight)
        return {name: _gated_first(found[name]) for name in sorted(found, key=place)}

    def weights(self, dataset: str, target: str, reward: str) -> list[str]:
        """The weights that runs of a reward are to have: those that it has, and of the four divergences each additive
        one that any of them has."""
        rewards = self.rewards(dataset, target)
        shared = DIVERGENCES if reward in DIVERGENCES else ()
        additive = {weight for name in shared for weight in rewards.get(name, []) if weight != GATED}
        return _gated_first(additive.union(rewards.get(reward, [])))

    def keys(self, dataset: str, target: str, reward: str, weights: Sequence[str]) -> list[RunKey]:
        """The runs behind one row: ``weights`` times the seeds that any run of the dataset and target has."""
        seeds = sorted({run.key.seed for run in self.of(dataset) if run.key.target == target})
        return [RunKey(dataset, target, reward, weight, seed) for weight, seed in product(weights, seeds)]


def place(reward: str) -> tuple[int, str]:
    """Where a reward's row stands: the baselines, the four divergences, and what has something beside the paper's."""
    order = ("rlvr", "entropy", "gapo", *DIVERGENCES)
    known = reward.partition(" ")[0]
    return (order.index(known) if known in order else len(order)), reward


def _gated_first(weights: Iterable[str]) -> list[str]:
    """Weights as ``RunKey`` names them: gated, then from the most correctness to the least."""
    return sorted(weights, key=lambda weight: -math.inf if weight == GATED else -float(weight.removeprefix("add") or 0))


def main_rows(study: Study, dataset: str, target: str) -> list[TableRow]:
    """Baseline files, and a row for each reward that any run has, the gated form left out: medians over runs. The rows
    of the four divergences are of all additive weights that any of them has."""
    rows = _baselines(study, dataset, target)
    for reward, own in study.rewards(dataset, target).items():
        if any(weight != GATED for weight in own):
            additive = [weight for weight in study.weights(dataset, target, reward) if weight != GATED]
            rows.append(_row(study, dataset, target, reward, additive, MAIN, MEDIAN))
    return rows


def grid_rows(study: Study, dataset: str, target: str) -> list[TableRow]:
    """A row for each divergence that any run has, with something beside the paper's or without, and each weight that it
    is to have, gated first as the paper has it: means over seeds."""
    return [
        _row(study, dataset, target, reward, [weight], GRID, MEAN)
        for reward in study.rewards(dataset, target)
        if has_divergence(reward)
        for weight in study.weights(dataset, target, reward)
    ]


def synthetic_rows(study: Study, dataset: str, target: str) -> list[TableRow]:
    """Baseline files, and a row for each reward that any run has and each weight that it is to have, gated first:
    means over seeds."""
    return _baselines(study, dataset, target) + [
        _row(study, dataset, target, reward, [weight], SYNTHETIC, MEAN)
        for reward in study.rewards(dataset, target)
        for weight in study.weights(dataset, target, reward)
    ]


def _baselines(study: Study, dataset: str, target: str) -> list[TableRow]:
    return [row for row in study.baselines if (row.dataset, row.target) == (dataset, target)]


def has_divergence(reward: str) -> bool:
    """Whether a reward, as ``RunKey`` names it, is one of the four divergences, with something beside it or without."""
    return reward.partition(", ")[0] in DIVERGENCES


def rows_of(study: Study, dataset: str, target: str) -> list[TableRow]:
    """The rows of the dataset's first table: ``synthetic_rows`` or ``main_rows``."""
    return (synthetic_rows if is_synthetic(dataset) else main_rows)(study, dataset, target)


def compared_rows(study: Study) -> list[list[TableRow]]:
    """The rows of every table; those in one list are compared with each other."""
    found = []
    for dataset, target in study.panels():
        found.append(rows_of(study, dataset, target))
        if not is_synthetic(dataset):
            found.append(grid_rows(study, dataset, target))
    return found


def baseline_row(name: str, dataset: str, target: str, found: Evaluation, settings: Settings) -> TableRow:
    """The row of one file of responses, with its own 95 % intervals for a spread."""
    return TableRow(
        dataset=dataset,
        target=target,
        reward=name,
        weight="",
        kind=SYNTHETIC if is_synthetic(dataset) else MAIN,
        statistic=SINGLE,
        runs=1,
        expected=1,
        missing=(),
        **_numbers([found], settings, MEDIAN),
    )


def _row(
    study: Study, dataset: str, target: str, reward: str, weights: Sequence[str], kind: str, statistic: Statistic
) -> TableRow:
    there = {run.key: run for run in study.of(dataset)}
    keys = study.keys(dataset, target, reward, weights)
    runs = [there[key] for key in keys if key in there and there[key].state == DONE]
    numbers = _numbers([run.final for run in runs if run.final], runs[0].settings if runs else None, statistic)
    if runs:
        numbers |= {
            "train_jsd": over([run.train_jsd for run in runs], statistic),
            "train_n": range_of(run.group_size for run in runs),
            "train_floor": _train_floor(runs[0]),
            "pass_at_1_change": _changes([run.pass_at_1_change for run in runs]),
        }
    return TableRow(
        dataset=dataset,
        target=target,
        reward=reward,
        weight="" if kind == MAIN or (kind == SYNTHETIC and weights[0] == ALPHA_0) else weights[0],
        kind=kind,
        statistic=statistic.name if len(runs) > 1 else SINGLE,
        runs=len(runs),
        expected=len(keys),
        missing=tuple(_missing(keys, there)),
        **numbers,
    )


def _missing(keys: Sequence[RunKey], there: Mapping[RunKey, ScoredRun]) -> Iterator[str]:
    for key in keys:
        run = there.get(key)
        if run is None:
            yield f"{key}: no run"
        elif run.state != DONE:
            yield f"{key}: {run.state}, {run.reason}"


def _changes(found: Sequence[Mapping[str, Any] | None]) -> dict[str, Number]:
    """The means of the changes of pass@1 and of their parts."""
    none = dict.fromkeys(AccuracyChange._fields)
    return {
        part: over([(of or none)[part] for of in found], MEAN, [(of or {}).get(f"{part}_interval") for of in found])
        for part in AccuracyChange._fields
    }


def _numbers(finals: Sequence[Evaluation], settings: Settings | None, statistic: Statistic) -> dict[str, Any]:
    """The statistic of every number over evaluations that share ``settings``; None without an evaluation."""
    names = settings.categories if settings else ()
    of_prompts = [final["jsd_per_prompt"] for final in finals]
    by_category = {name: [final["by_category"][name] for final in finals] for name in names}
    on_support = [final["on_support"] for final in finals if final["on_support"]]
    target = mean_target_in(finals[0]) if finals else None

    def of_all(found: Sequence[Mapping[str, Any]], name: str, interval: str = "") -> Number:
        intervals = [one.get(interval) for one in found]
        return over([one[name] for one in found], statistic, intervals, finals[0]["clusters"] if finals else math.inf)

    return {
        "jsd": of_all(finals, "jsd", "jsd_interval"),
        "samples": range_of(final["samples"] for final in finals),
        "floor": None
        if target is None or not on_support
        else pooled_floor(target, int(np.median(on_support)), statistic, len(finals)),
        "floor_effective": None if target is None else effective_floor(target, finals, statistic),
        "prompt_jsd": of_all(of_prompts, "mean", "interval"),
        "prompt_n": range_of(of["n"] for of in of_prompts),
        "prompt_floor": _mean_floor(of_prompts, statistic),
        "divergences": {
            name: over([float("inf") if name in final["infinite"] else final[name] for final in finals], statistic)
            for name in DIVERGENCES
        },
        "per_prompt": of_all([final["per_prompt"] for final in finals], "distance", "interval"),
        "off_support": of_all(finals, "off_support"),
        "ungraded": of_all(finals, "ungraded"),
        "pass_at_1": of_all(finals, "pass@1", "pass@1_interval"),
        "full_marks": of_all(finals, "full_marks", "full_marks_interval"),
        "is_partial": any(final["partial"] for final in finals),
        "accuracy_at_target": of_all(finals, "accuracy_at_target", "accuracy_at_target_interval"),
        "accuracy_at_target_few": {
            name: min(final["accuracy_at_target_few"].get(name, MIN_COMPLETIONS) for final in finals)
            for name in names
            if any(name in final["accuracy_at_target_few"] for final in finals)
        },
        "accuracy_at_target_lacks": tuple(
            name for name in names if any(name in final["accuracy_at_target_lacks"] for final in finals)
        ),
        "shares": {name: of_all(found, "share", "share_interval") for name, found in by_category.items()},
        "accuracy": {
            name: Pooled(sum(one["correct"] for one in found), sum(one["graded"] for one in found))
            for name, found in by_category.items()
        },
    }


def mean_target_in(evaluation: Evaluation) -> Array:
    """p* of the pool of an evaluation, shape (K,): the mean of its prompts' own, or the run's."""
    return np.array([of["target"] for of in evaluation["by_category"].values()])


def pooled_floor(target: Array, on_support: int, statistic: Statistic = MEAN, runs: int = 1) -> FloorAt:
    """The floor of the pooled JSD, and of the statistic of that of several runs. Between single policies on the target,
    differences below its 95th percentile are chance."""
    return _pooled_floor(tuple(target.tolist()), on_support, statistic, runs)


def effective_floor(target: Array, finals: Sequence[Mapping[str, Any]], statistic: Statistic) -> FloorAt | None:
    """The floor of a row's pooled JSD at the median number of independent responses that those of a run are worth
    (``effective_samples``). None where nothing is on-support.

    Where that number is below INDEPENDENT of those there are, or no problem has two responses, ``p95_of_runs`` is that
    of one run. For then the category depends on the problem, or may do so: what sets these problems apart from all
    others is in every run of the row, and the statistic over runs has no less of it. Of policies on the target over
    problems like these, in 12 runs of 200 problems with 4 responses each, the limit of 12 independent runs calls 16 to
    19 % off target where the problems' mixes scatter as Dirichlet(1.5 p*) to Dirichlet(5 p*), and this 1 to 2 %.
    """
    counted = [final for final in finals if final["on_support"]]
    if not counted:
        return None
    on_support = float(np.median([final["on_support"] for final in counted]))
    # Of a single problem it is not known; its responses are then taken for independent.
    effective = float(np.median([final["effective_on_support"] or final["on_support"] for final in counted]))
    apart = effective >= INDEPENDENT * on_support and on_support > counted[0]["clusters"]
    return pooled_floor(target, max(1, int(effective)), statistic, len(finals) if apart else 1)


@functools.cache
def _pooled_floor(target: tuple[float, ...], on_support: int, statistic: Statistic, runs: int) -> FloorAt:
    floor = jsd_floor(np.array(target), on_support)
    of_runs = floor if runs == 1 else jsd_floor(np.array(target), on_support, runs=runs, centre=statistic.centre)
    return FloorAt(floor.mean, floor.p95, of_runs.p95, floor.p95, str(on_support))


def prompt_floor(target: Array, counts: Sequence[int], n: int) -> FloorAt:
    """The floor of the mean over prompts of a prompt's own JSD, at ``n`` responses to each of which ``counts`` are
    on-support.

    Its mean is large and common to all rewards, so that it is in no difference between them (paper, appendix
    "Synthetic Choice"): what chance explains between policies on the target is below the scatter around it, p95 - mean.
    """
    floor = jsd_per_prompt_floor(target, counts)
    return _of_prompts(floor.mean, floor.p95, n, Range(min(counts), max(counts)), 1.0)


def _of_prompts(mean: float, p95: float, n: int, on_support: Range, scatter: float) -> FloorAt:
    """``scatter``: that of several runs' statistic over that of one, as a mean over prompts is nearly normal."""
    said = str(n) if on_support == (n, n) else f"{n}, {on_support} on-support"
    return FloorAt(mean, p95, mean + scatter * (p95 - mean), p95 - mean, said)


def _mean_floor(of_prompts: Sequence[Mapping[str, Any]], statistic: Statistic) -> FloorAt | None:
    """The mean over runs of the floor that each has (``score_samples``), with the first run's ``n``; None without a
    run, and as soon as one has none."""
    if not of_prompts or any(of["floor"] is None for of in of_prompts):
        return None
    mean, p95 = (float(np.mean([of[name] for of in of_prompts])) for name in ("floor", "floor_p95"))
    counts = [count for of in of_prompts for count in of["n_on_support"]]
    runs = len(of_prompts)
    scatter = statistic.error / math.sqrt(runs) if runs > 1 else 1.0
    return _of_prompts(mean, p95, of_prompts[0]["n"], Range(min(counts), max(counts)), scatter)


def _train_floor(run: ScoredRun) -> FloorAt | None:
    """The floor of ``train_jsd``, at the responses of a group that count where it is hinted: what was off-support at
    each step is not logged by prompt. None where prompts have targets of their own, which are not known here for
    those of each step."""
    if run.final and run.final["targets"] > 1:
        return None
    prompts, n = TRAIN_POINTS * run.prompts_per_step, counted_sessions(run.settings.hints, run.group_size)
    return prompt_floor(run.settings.target, (n,) * prompts, n)


class Comparison(NamedTuple):
    """How a row's JSD stands beside the others of its column."""

    best: bool
    differs_from_best: bool | None
    """Whether it is above the best one by more than chance (``more_than_chance``); None for the best, for an incomplete
    row, for a baseline, and where that cannot be told."""


def comparisons(rows: Sequence[TableRow], per_prompt: bool = False) -> list[Comparison]:
    """How the rows of one dataset and target stand. Only complete rows of the four divergences compete, the paper's
    rewards and those with something beside them: the paper's bold. The JSDs ``per_prompt`` compete at equal numbers of
    responses to a prompt: where these differ, none does."""

    def number(row: TableRow) -> Number:
        return row.prompt_jsd if per_prompt else row.jsd

    competing = [row for row in rows if has_divergence(row.reward) and row.complete and number(row).value is not None]
    if per_prompt and len({n for row in competing for n in row.prompt_n or ()}) > 1:
        competing = []
    if not competing:
        return [Comparison(False, None) for _ in rows]
    best = min(competing, key=lambda row: number(row).value or 0.0)
    floor = best.prompt_floor if per_prompt else best.floor_effective

    def differs(row: TableRow) -> bool | None:
        if row is best or row not in competing:
            return None
        scatters = 1 not in (row.runs, best.runs) and not alike(number(row), number(best))
        return more_than_chance(number(row), number(best), None if scatters else floor, len(competing))

    return [Comparison(row is best, differs(row)) for row in rows]
