"""From a group's categories to its empirical distribution.

A category is an index into the declared categories; OFF_SUPPORT marks a response that fits none of them, UNCLASSIFIED
one of which nobody could say it, because the classifier was down or failed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError

OFF_SUPPORT = -1
UNCLASSIFIED = -2


def category_indices(
    categories: Sequence[str | None], declared: Sequence[str], classified: Sequence[bool] | None = None
) -> NDArray[np.int64]:
    """Index of each response's category in ``declared``, OFF_SUPPORT for None. Shape (G,).

    ``classified`` says of each response whether anybody could say its category: UNCLASSIFIED where not. None: all are.

    Raises MadrlError for a category that was not declared: a classifier that invents labels is a bug, not an
    off-support response.
    """
    index = {name: i for i, name in enumerate(declared)}
    try:
        indices = np.array([OFF_SUPPORT if c is None else index[c] for c in categories], dtype=np.int64)
    except KeyError as unknown:
        raise MadrlError(
            f"category {unknown} is not declared: the categories are {list(declared)}; use null for off-support"
        ) from None
    return indices if classified is None else np.where(np.array(classified, dtype=np.bool_), indices, UNCLASSIFIED)


def category_counts(indices: NDArray[np.int64], n_categories: int) -> NDArray[np.int64]:
    """Responses per category, shape (K,); off-support and unclassified responses are in none of them."""
    return np.bincount(indices[indices >= 0], minlength=n_categories)


def group_frequency(indices: NDArray[np.int64], n_categories: int) -> NDArray[np.float64]:
    """q_c = n_c / G, shape (K,), paper equation "group-frequency-main".

    G is the actual number of responses in the group, off-support ones included, so q sums to the group's on-support
    share. All of ``indices`` are classified. Raises MadrlError for an empty group.
    """
    if indices.size == 0:
        raise MadrlError("an empty group has no frequencies: at least one response must have arrived")
    return category_counts(indices, n_categories) / indices.size


def on_support_frequency(indices: NDArray[np.int64], n_categories: int) -> NDArray[np.float64]:
    """n_c / n with n the on-support responses only, shape (K,): sums to 1. GAPO's denominator; NaN when n is 0."""
    counts = category_counts(indices, n_categories)
    n = counts.sum()
    return counts / n if n else np.full(n_categories, np.nan)
