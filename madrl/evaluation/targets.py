"""Which target each of several prompts is measured against, and what that is for all of them together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from madrl.records import Record, target_of

Array = NDArray[np.float64]


def targets_of(problems: Sequence[Sequence[Record]], categories: Sequence[str], target: Array) -> Array:
    """p* of each prompt, shape (P, K): its own where its responses carry one, ``target``, of shape (K,), where not.

    Raises MadrlError for one of its own that makes no sense.
    """
    own = [target_of(problem[0], categories) for problem in problems]
    return np.array([target if one is None else one.over(categories) for one in own]).reshape(len(own), target.size)


def mean_target(targets: Array, on_support: Array) -> Array:
    """The shares of all on-support responses of a policy that answers each prompt on its target, shape (K,):

        sum_i n_i p*_i / sum_i n_i

    Args:
        targets: p* of each prompt, shape (P, K).
        on_support: n, how many on-support responses each has, shape (P,); where none has any, all count the same.
    """
    if all_same(targets):
        first: Array = targets[0]
        return first
    weights = on_support if on_support.any() else np.ones(len(targets))
    mean: Array = weights @ targets / weights.sum()
    return mean


def all_same(targets: Array) -> bool:
    """Whether all prompts have one target."""
    return bool((targets == targets[0]).all())
