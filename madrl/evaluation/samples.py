"""All numbers of one set of sampled responses: fit to the target, its intervals and floors, validity, accuracy.

Reads what classifiers and verifiers decided when the responses came; grades nothing again. Knows no files.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES, jensen_shannon_value
from madrl.errors import MadrlError
from madrl.evaluation import metrics as measure
from madrl.evaluation.accuracy import (
    Verdicts,
    accuracy_at_target,
    accuracy_change,
    unmeasured,
    verdicts,
)
from madrl.evaluation.intervals import (
    Interval,
    effective_samples,
    jsd_interval,
    mixed_ratio_interval,
    percentile_interval,
    ratio_interval,
    resampled_sums,
    sums_within,
)
from madrl.evaluation.per_prompt import collapsed_distance, squared_distances
from madrl.evaluation.targets import all_same, mean_target, targets_of
from madrl.frequency import category_counts, category_indices
from madrl.records import CLUSTER, Record, by_group, classified, last_turns, ungraded_rate

Array = NDArray[np.float64]

MIN_COMPLETIONS = 30
"""A category's accuracy is reported from this many graded responses on (paper, appendix "Per-category accuracy")."""


def score_samples(
    samples: Sequence[Record], categories: Sequence[str], target: Array, epsilon: float
) -> dict[str, Any]:
    """The numbers, as JSON types. What does not exist is None: never 0, NaN or an infinity.

    Each problem is measured against its own target, where its responses carry one (``records.TARGET``), and against
    ``target`` where they do not. What is pooled is measured against the mean of the problems' targets
    (``targets.mean_target``).

        samples, problems, on_support   how many responses; problems; responses in a declared category
        clusters               how many clusters the problems come in (``records.CLUSTER``); a problem that names none
                               is one by itself
        targets                how many different targets the problems have
        l2, fkl, rkl, jsd      of the pooled on-support shares (``metrics.divergence_values``)
        infinite               the names of those four that are None because they are infinite
        jsd_interval           95 %; clusters are resampled, as in all intervals here (``intervals``)
        floor, floor_p95       the JSD of a policy on the target at ``on_support`` independent responses
        off_target             whether the JSD is above ``floor_p95``; below it, a policy on the target shows as much
        effective_on_support   how many independent responses ours are worth (``intervals.effective_samples``)
        floor_p95_effective    ``floor_p95`` at that many
        per_prompt             ``distance``, the mean over prompts of ||q - p*||^2 (``per_prompt.squared_distances``),
                               its ``interval``, the number of ``problems`` behind it (those with two on-support
                               responses or more), and what it is with every prompt ``collapsed``
        jsd_per_prompt         the paper's JSD of SYNTHETIC, which means something only beside its ``n``: ``mean``, the
                               mean over prompts of the JSD of each prompt's own on-support shares, its ``interval``,
                               ``n``, the (median) number of responses to a prompt, ``n_on_support``, the fewest and the
                               most that count, the number of ``problems`` that have any, ``floor`` and ``floor_p95`` at
                               each prompt's own number (``metrics.jsd_per_prompt_floor``), and ``off_target``, whether
                               it is above ``floor_p95``
        single_category_prompts, off_support   rates
        ungraded               the share of all responses that lack a verdict or a category by no fault of theirs; those
                               without a category are counted here and in ``samples`` alone
        off_support_interval
        pass@1, pass@1_interval   the mean correctness
        full_marks, full_marks_interval   the share of the graded responses whose correctness is 1
        partial                the share of the graded responses that are correct in part; where it is 0, full_marks is
                               pass@1
        accuracy_at_target     the pass@1 of a policy with the same accuracies and the target's mix
                               (``accuracy.accuracy_at_target``), and its ``accuracy_at_target_interval``, which is None
                               where a wanted category has fewer than MIN_COMPLETIONS graded responses: it is then too
                               narrow (``intervals.mixed_ratio_interval``)
        accuracy_at_target_few     those categories, and how many they have
        accuracy_at_target_lacks   the wanted categories without a graded response, for which those two are None
        by_category            per name: ``target``, of the mean target, ``share``, ``share_interval``, ``count``,
                               ``graded``, ``correct``, the summed correctness of the graded ones, and ``pass@1`` from
                               MIN_COMPLETIONS of those on
        off_support_responses  ``count``, ``graded``, ``correct`` and ``pass@1`` of those that are off-support

    ``floor_p95`` takes responses for independent, which those to one problem are not. For *these* problems it is, if
    anything, too high: only chance within each problem is at work. For problems like these it is too low, and a policy
    that is on the target over all of them, but not in each, is called off target more often than one time in twenty:
    measured at 200 problems of 4 responses, 22 to 31 % where the problems' mixes scatter as Dirichlet(2 p*), and 48 to
    72 % where each problem has one category. With ``floor_p95_effective`` it is 2 to 6 %, and ``jsd_interval`` says the
    same from the other side; so it is where problems come in clusters. Where problems have targets of their own, the
    floors of the pool are those of independent responses from the mean target, which scatter more than as many from
    each problem's: for 200 problems of 4 responses, half with (a, 1 - a) and half the other way round, ``floor_p95`` is
    1.2 times too high at a = 0.7, 2.7 times at 0.9, and at 1 a policy on the targets always shows 0. There
    ``per_prompt`` and ``jsd_per_prompt`` are what tells.

    Args:
        samples: records with ``group``, ``session``, ``turn``, ``category`` (None: off-support) and ``correct`` (None:
            ungraded). A problem is a group; only the last turn of a session counts.
        categories: the declared categories, in the order of ``target``.
        target: p*, shape (K,), of the problems that have none of their own.
        epsilon: smoothing of the target in reverse KL.

    Raises MadrlError when no response has been classified.
    """
    every = last_turns(samples)
    problems = by_group(classified(every))
    if not problems:
        raise MadrlError(f"nobody could say the category of any of {len(every)} responses: classify them again")
    targets = targets_of(problems, categories, target)
    pooled = [sample for group in problems for sample in group]
    indices = category_indices([sample["category"] for sample in pooled], categories)
    correct = [sample["correct"] for sample in pooled]
    index_groups = np.split(indices, np.cumsum([len(group) for group in problems])[:-1])

    counts = np.array([category_counts(group, len(categories)) for group in index_groups], dtype=np.float64)
    distances = squared_distances(targets, counts)
    paired = np.isfinite(distances)
    on_support = counts.sum(axis=1)
    some = on_support > 0
    pairs = zip(targets, counts, strict=True)
    jsds = np.array([jensen_shannon_value(p, c / c.sum()) if c.sum() else 0.0 for p, c in pairs])
    mean = mean_target(targets, on_support)
    responses = np.array([len(group) for group in problems], dtype=np.float64)
    k = len(categories)
    by_problem = _verdicts(problems, categories)
    full = np.array([sum(sample["correct"] == 1 for sample in group) for group in problems], dtype=np.float64)
    sums = np.column_stack(
        [
            counts, on_support[:, None] * targets, *by_problem,
            np.where(paired, distances, 0.0), paired, jsds, some, responses - on_support, responses, full,
        ]
    )  # fmt: skip
    clusters = _clusters(problems)
    by_cluster = sums_within(clusters, sums)
    # One cluster says nothing of how clusters differ: no resamples, and so no interval.
    drawn = resampled_sums(by_cluster) if len(by_cluster) > 1 else np.empty((0, sums.shape[1]))
    drawn_counts, drawn_targets, drawn_right, drawn_graded, others = np.split(
        drawn, np.cumsum([k, k, k + 1, k + 1]), axis=1
    )
    drawn_distance, drawn_paired, drawn_jsd, drawn_some, drawn_off, drawn_responses, drawn_full = others.T
    right, graded = (of_problems.sum(axis=0) for of_problems in by_problem)
    lacks = unmeasured(mean, graded[:k])
    few = {
        name: int(n)
        for name, wanted, n in zip(categories, mean, graded[:k], strict=True)
        if wanted and 0 < n < MIN_COMPLETIONS
    }
    return {
        "samples": len(every),
        "problems": len(problems),
        "clusters": len(by_cluster),
        "targets": len(np.unique(targets, axis=0)),
        **_fit(targets, mean, counts, clusters, drawn_counts, drawn_targets, epsilon),
        "per_prompt": {
            "distance": float(distances[paired].mean()) if paired.any() else None,
            "interval": _listed(ratio_interval(drawn_distance, drawn_paired)),
            "problems": int(paired.sum()),
            "collapsed": collapsed_distance(targets[paired] if paired.any() else targets),
        },
        "jsd_per_prompt": {
            **_fit_per_prompt(targets[some], jsds[some], on_support[some]),
            "interval": _listed(ratio_interval(drawn_jsd, drawn_some)),
            "n": int(np.median(responses)),
        },
        "single_category_prompts": measure.single_category_rate(index_groups),
        "off_support": measure.off_support_rate(indices),
        "off_support_interval": _listed(ratio_interval(drawn_off, drawn_responses)),
        "ungraded": ungraded_rate(every),
        "pass@1": measure.pass_at_1(correct),
        "pass@1_interval": _listed(ratio_interval(drawn_right.sum(axis=1), drawn_graded.sum(axis=1))),
        "full_marks": measure.full_marks(correct),
        "full_marks_interval": _listed(ratio_interval(drawn_full, drawn_graded.sum(axis=1))),
        "partial": measure.partial_rate(correct),
        "accuracy_at_target": accuracy_at_target(mean, right[:k], graded[:k]),
        "accuracy_at_target_interval": None
        if lacks.any() or few
        else _listed(
            mixed_ratio_interval(_per_response(drawn_targets, drawn_counts), drawn_right[:, :k], drawn_graded[:, :k])
        ),
        "accuracy_at_target_few": few,
        "accuracy_at_target_lacks": [name for name, lacking in zip(categories, lacks, strict=True) if lacking],
        "by_category": {
            name: {
                "target": float(mean[i]),
                "share": float(counts[:, i].sum() / counts.sum()) if counts.any() else None,
                "share_interval": _listed(ratio_interval(drawn_counts[:, i], drawn_counts.sum(axis=1))),
                **_accuracy(counts[:, i].sum(), graded[i], right[i]),
            }
            for i, name in enumerate(categories)
        },
        "off_support_responses": _accuracy(len(pooled) - on_support.sum(), graded[k], right[k]),
    }


def score_change(before: Sequence[Record], after: Sequence[Record], categories: Sequence[str]) -> dict[str, Any]:
    """The change of pass@1 between two sets of responses, as JSON types; None where a set has no graded response.

        total, mix, within     the change, and the parts that come from another mix and from other accuracies within
                               the categories (``accuracy.accuracy_change``)
        total_interval, mix_interval, within_interval

    Where each problem of both sets names the data row that it answers (``row``), and has it to itself, a row is
    resampled with what both say to it, also one that only one set has left; otherwise the problems of each set are
    resampled on their own, which gives wider intervals. Problems that name a cluster are resampled with the others of
    it.

    Args:
        before, after: records as in ``score_samples``.
        categories: the declared categories.

    Raises MadrlError when no response of a set has been classified.
    """
    found = [by_group(classified(last_turns(samples))) for samples in (before, after)]
    if not all(found):
        raise MadrlError("nobody could say the category of any response of one of the two sets: classify it again")
    paired = _by_row(*found)
    sides = found if paired is None else paired
    # A row's problems in both sets are in one cluster, also where only one set was made of data that name it.
    alike = sides if paired is None else [[[*of[1], *of[0]] for of in zip(*sides, strict=True)]] * 2
    by_problem = [_verdicts(side, categories) for side in sides]
    change = accuracy_change(*(Verdicts(*(of.sum(axis=0) for of in side)) for side in by_problem))
    sums = [sums_within(_clusters(side), np.column_stack(of)) for side, of in zip(alike, by_problem, strict=True)]
    if min(map(len, sums)) < 2:
        drawn = [np.full((1, sums[0].shape[1]), np.nan)] * 2
    elif paired is not None:
        drawn = np.split(resampled_sums(np.hstack(sums)), 2, axis=1)
    else:
        drawn = [resampled_sums(of_side, seed=seed) for seed, of_side in enumerate(sums)]
    changes = accuracy_change(*(Verdicts(*np.split(of_side, 2, axis=1)) for of_side in drawn))
    return {
        name: value
        for part, resampled in zip(change._fields, changes, strict=True)
        for name, value in (
            (part, None if np.isnan(getattr(change, part)) else float(getattr(change, part))),
            (f"{part}_interval", _listed(percentile_interval(resampled))),
        )
    }


def _by_row(*sides: list[list[Record]]) -> list[list[list[Record]]] | None:
    """The problems of two sets, each with its like of the other at the same place: empty where the other has none. None
    where a problem has no row to itself."""
    rows = [{problem[0].get("row"): problem for problem in side} for side in sides]
    if any(None in of or len(of) < len(side) for of, side in zip(rows, sides, strict=True)):
        return None
    return [[of_side.get(row, []) for row in rows[0] | rows[1]] for of_side in rows]


def _clusters(problems: Sequence[Sequence[Record]]) -> NDArray[np.intp]:
    """The number of each problem's cluster, from 0 in order of appearance. Shape (P,)."""
    numbers: dict[tuple[str, object], int] = {}
    names = [
        (str(of[0].get("split", "")), next((one[CLUSTER] for one in of if one.get(CLUSTER)), i))
        for i, of in enumerate(problems)
    ]
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def _verdicts(problems: Sequence[Sequence[Record]], categories: Sequence[str]) -> Verdicts:
    """By problem. Shape (P, K + 1)."""
    pooled = [sample for problem in problems for sample in problem]
    return verdicts(
        category_indices([sample["category"] for sample in pooled], categories),
        [sample["correct"] for sample in pooled],
        len(categories),
        np.repeat(np.arange(len(problems)), [len(problem) for problem in problems]),
        len(problems),
    )


def _fit(
    targets: Array,
    mean: Array,
    counts: Array,
    clusters: NDArray[np.intp],
    drawn_counts: Array,
    drawn_targets: Array,
    epsilon: float,
) -> dict[str, Any]:
    """How far the pooled shares are from the mean target, and what can be told apart from it with as many responses.
    ``drawn_targets`` are summed over the responses of each resample, as ``drawn_counts`` are."""
    pooled = counts.sum(axis=0)
    on_support = int(pooled.sum())
    if not on_support:
        missing = ("jsd_interval", "floor", "floor_p95", "off_target", "effective_on_support", "floor_p95_effective")
        return {"on_support": 0, **dict.fromkeys(DIVERGENCES), "infinite": [], **dict.fromkeys(missing)}
    values = measure.divergence_values(mean, pooled / on_support, epsilon)
    floor = measure.jsd_floor(mean, on_support)
    own = not all_same(targets)
    effective = effective_samples(counts, targets if own else None, clusters)
    of_resamples = _per_response(drawn_targets, drawn_counts) if own else None
    return {
        "on_support": on_support,
        **{name: value if math.isfinite(value) else None for name, value in values.items()},
        "infinite": [name for name, value in values.items() if math.isinf(value)],
        "jsd_interval": _listed(jsd_interval(mean, pooled, drawn_counts, of_resamples)),
        "floor": floor.mean,
        "floor_p95": floor.p95,
        "off_target": measure.exceeds(values["jsd"], floor.p95),
        "effective_on_support": effective,
        "floor_p95_effective": None if effective is None else measure.jsd_floor(mean, max(1, round(effective))).p95,
    }


def _fit_per_prompt(targets: Array, jsds: Array, on_support: Array) -> dict[str, Any]:
    """How far the prompts with an on-support response are from their targets, and what they would show on them."""
    if not jsds.size:
        missing = ("mean", "n_on_support", "floor", "floor_p95", "off_target")
        return {"problems": 0, **dict.fromkeys(missing)}
    floor = measure.jsd_per_prompt_floor(targets, [int(n) for n in on_support])
    mean = float(jsds.mean())
    return {
        "mean": mean,
        "n_on_support": [int(on_support.min()), int(on_support.max())],
        "problems": int(jsds.size),
        "floor": floor.mean,
        "floor_p95": floor.p95,
        "off_target": measure.exceeds(mean, floor.p95),
    }


def _per_response(targets: Array, counts: Array) -> Array:
    """The mean target of each resample, shape (draws, K), of targets that are summed over its on-support responses."""
    means: Array = targets / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return means


def _accuracy(count: float, graded: float, correct: float) -> dict[str, Any]:
    """How many responses one category has, how many were graded, their summed correctness, and pass@1 of enough."""
    return {
        "count": int(count),
        "graded": int(graded),
        "correct": float(correct),
        "pass@1": float(correct / graded) if graded >= MIN_COMPLETIONS else None,
    }


def _listed(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
