"""Target distributions over the declared categories: named ones, the user's own, smoothing.

Category order is the order of declaration and decides what ``peak`` excludes.
"""

import reprlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError


def uniform(n_categories: int) -> NDArray[np.float64]:
    """The uniform target, p*_c = 1/K (paper, equation "target-distributions")."""
    return np.full(n_categories, 1.0 / n_categories)


def peak(n_categories: int) -> NDArray[np.float64]:
    """The peaked target: zero on the first two declared categories, 1/(K-2) on each of the rest.

    For K = 5 this is the paper's (0, 0, 1/3, 1/3, 1/3). Raises MadrlError below K = 3, where nothing is left.
    """
    if n_categories < 3:
        raise MadrlError(f"target 'peak' excludes the first two categories and needs at least 3, got {n_categories}")
    target = np.full(n_categories, 1.0 / (n_categories - 2))
    target[:2] = 0.0
    return target


TARGETS: dict[str, Callable[[int], NDArray[np.float64]]] = {"uniform": uniform, "peak": peak}


NUMBER = (int, float, np.integer, np.floating)
"""What a weight may be, which often is a count of NumPy or pandas; a bool is not."""

MAX_WEIGHT = 1e100
"""The largest weight a target may give. Far larger ones overflow when they are summed, and all shares become 0."""

SUM_TOLERANCE = 1e-12
"""Weights whose sum is this near to 1 are shares, which normalising would only round once more."""


def check_categories(categories: Sequence[str]) -> tuple[str, ...]:
    """The declared categories as a tuple. Raises MadrlError when there are none, or one is empty or stands twice."""
    names = tuple(map(str, categories))
    if not names:
        raise MadrlError("no categories declared: name at least one, e.g. categories=[english,chinese]")
    if not all(name.strip() for name in names):
        raise MadrlError(f"an empty category name in {list(names)}: give every category a name")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise MadrlError(f"category {twice[0]!r} is declared twice in {list(names)}: remove one")
    return names


def resolve_target(spec: str | Mapping[str, float], categories: Sequence[str]) -> NDArray[np.float64]:
    """The target p*, shape (K,), in the order of ``categories``; sums to 1.

    ``spec`` is the name of a target in TARGETS, or {category: weight}: weights are normalised, and a category that
    is not named gets 0. Raises MadrlError for an unknown name or category, and for weights that are not numbers from 0
    to MAX_WEIGHT, or all zero.
    """
    names = check_categories(categories)
    if isinstance(spec, str):
        if spec not in TARGETS:
            raise MadrlError(
                f"unknown target {reprlib.repr(spec)}: use one of {sorted(TARGETS)} or a {{category: weight}} mapping"
            )
        return TARGETS[spec](len(names))
    if not isinstance(spec, Mapping):
        raise MadrlError(f"target {spec!r} is neither a name ({sorted(TARGETS)}) nor a {{category: weight}} mapping")
    unknown = [c for c in spec if c not in names]
    if unknown:
        raise MadrlError(f"target names unknown category {unknown[0]!r}: the declared categories are {list(names)}")
    weights = np.zeros(len(names))
    for category, weight in spec.items():
        if isinstance(weight, bool) or not isinstance(weight, NUMBER) or not 0 <= weight <= MAX_WEIGHT:
            raise MadrlError(f"target weight {weight!r} of {category!r} is not a number from 0 to {MAX_WEIGHT:g}")
        weights[names.index(category)] = weight
    if weights.sum() <= 0:
        raise MadrlError(f"target {dict(spec)!r} gives no category any weight: at least one must be above 0")
    # Shares stay what they are when they are read again, to the last bit.
    sums_to_1 = abs(weights.sum() - 1.0) <= SUM_TOLERANCE
    target: NDArray[np.float64] = weights if sums_to_1 else weights / weights.sum()
    return target


def smooth(target: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """The epsilon-smoothed target, (1 - eps) p* + eps / K; sums to 1 when ``target`` does.

    Reverse KL and JSD need it where the target holds exact zeros. The paper leaves the rule open; this is ours.
    """
    return (1.0 - epsilon) * target + epsilon / target.size
