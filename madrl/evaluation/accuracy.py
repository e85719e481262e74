"""Accuracy and the mix: what pass@1 would be at the target mix, and how much of its change is the mix's.

pass@1 is a mean over categories, each weighted by how often the policy answers in it. It falls when the mix becomes
right and asks for weaker categories, although nothing was unlearned. Both numbers here take the accuracy within a
category as it is. They do not know that each policy chooses which problems it answers in which category, so that an
accuracy may be another one in a mix that was forced on the policy.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Verdicts(NamedTuple):
    """The graded responses of each declared category, and last of those off-support. Shape (..., K + 1)."""

    correct: Array
    """Their summed correctness: a response that is correct in part counts in part."""
    graded: Array
    """How many they are; ungraded responses are in neither."""


class AccuracyChange(NamedTuple):
    """How pass@1 changed, and the two parts that this is the sum of. Each of shape (...)."""

    total: Array
    mix: Array
    """What comes from answering in other categories."""
    within: Array
    """What comes from other accuracies within the categories."""


def verdicts(
    indices: NDArray[np.int64],
    correct: Sequence[float | None],
    n_categories: int,
    problem: NDArray[np.int64],
    problems: int,
) -> Verdicts:
    """The verdicts by problem. Shape (P, K + 1).

    Args:
        indices: each response's category, OFF_SUPPORT for none.
        correct: each response's correctness, None for ungraded.
        problem: each response's problem, in 0..P-1.
        problems: P.
    """
    right, graded = np.zeros((2, problems, n_categories + 1))
    # OFF_SUPPORT is -1, the last column.
    np.add.at(right, (problem, indices), [verdict or 0.0 for verdict in correct])
    np.add.at(graded, (problem, indices), [verdict is not None for verdict in correct])
    return Verdicts(right, graded)


def unmeasured(target: Array, graded: Array) -> NDArray[np.bool_]:
    """Which categories are wanted, p*_c > 0, and have no graded response. Both arguments and the result: shape (K,)."""
    lacks: NDArray[np.bool_] = (target > 0) & (graded == 0)
    return lacks


def accuracy_at_target(target: Array, correct: Array, graded: Array) -> float | None:
    """The pass@1 of a policy with these accuracies whose mix is the target:

        sum_c p*_c acc_c,   acc_c = correct_c / graded_c,   over the wanted categories, p*_c > 0

    Off-support responses and those in categories that are not wanted are not in it. Shapes (K,).

    None when a wanted category has no graded response (``unmeasured``): its accuracy is not known, and leaving it out
    would flatter a policy that gave up a hard category.
    """
    if unmeasured(target, graded).any():
        return None
    wanted = target > 0
    return float(target[wanted] @ (correct[wanted] / graded[wanted]))


def accuracy_change(before: Verdicts, after: Verdicts) -> AccuracyChange:
    """The change of pass@1 from ``before`` to ``after``, split evenly between the mix and the accuracies:

        mix    = sum_c (q1_c - q0_c) (acc0_c + acc1_c) / 2
        within = sum_c (q0_c + q1_c) / 2 (acc1_c - acc0_c)

    q_c is the share of c among all graded responses and acc_c the accuracy within c; off-support is a category like any
    other. Both are means over the two orders in which mix and accuracies can be changed, one after the other (the
    Shapley values of two players; E. M. Kitagawa, "Components of a Difference Between Two Rates", JASA 1955), and their
    sum is the change of pass@1.

    A category that has graded responses on one side only has that side's accuracy on both, so that it is in the mix
    alone; one that has none on either side is in neither part. One that is nearly gone on a side still counts by half
    of its share on the other: its few responses there make both parts uncertain, though not their sum. Measured, 60
    problems of 8 responses or 200 of 4, a category with half of the responses before and 0.3 to 1 % after: a standard
    deviation of 0.06 to 0.10 in each part, and 85 to 92 % coverage of its bootstrap interval (where no category is
    nearly gone: 0.03, and 91 to 96 %). Accuracy at the target mix before and after has no such category in it.

    Args:
        before: pooled over problems, shape (..., K + 1).
        after: the same.

    NaN where a side has no graded response at all.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        q0, q1 = (side.graded / side.graded.sum(axis=-1, keepdims=True) for side in (before, after))
        own0, own1 = (side.correct / side.graded for side in (before, after))
    accuracy0 = np.where(before.graded > 0, own0, np.where(after.graded > 0, own1, 0.0))
    accuracy1 = np.where(after.graded > 0, own1, accuracy0)
    mix = ((q1 - q0) * (accuracy0 + accuracy1) / 2).sum(axis=-1)
    within = ((q0 + q1) / 2 * (accuracy1 - accuracy0)).sum(axis=-1)
    return AccuracyChange(mix + within, mix, within)
