"""Target distributions over the declared categories: named ones, the user's own, smoothing.

Category order is the order of declaration and decides what ``peak`` excludes.
"""

import json
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from madrl.errors import MadrlError, check_texts


def uniform(n_categories: int) -> NDArray[np.float64]:
    """The uniform target, p*_c = 1/K (paper, equation "target-distributions")."""
    return np.full(n_categories, 1.0 / n_categories)


def peak(n_categories: int) -> NDArray[np.float64]:
    """The peaked target: zero on the first two declared categories, 1/(K-2) on each of the rest.

    For K = 5 this is the paper's (0, 0, 1/3, 1/3, 1/3). Raises MadrlError below K = 3, where nothing is left.
    """
    if n_categories < 3:
        raise MadrlError(
            f"target 'peak' excludes the first two categories and needs at least 3, got {n_categories}: take "
            "target=uniform, or weights of your own"
        )
    target = np.full(n_categories, 1.0 / (n_categories - 2))
    target[:2] = 0.0
    return target


TARGETS: dict[str, Callable[[int], NDArray[np.float64]]] = {"uniform": uniform, "peak": peak}


NUMBER = (int, float, np.integer, np.floating)
"""What a weight may be, which often is a count of NumPy or pandas; a bool is not."""

MAX_WEIGHT = 1e100
"""The largest weight a target may give. Far larger ones overflow when they are summed, and all shares become 0."""

SHARES_TOLERANCE = 1e-6
"""An array whose sum is this near to 1 is a target, which float32 may have rounded."""

SUM_TOLERANCE = 1e-12
"""Weights whose sum is this near to 1 are shares, which normalising would only round once more."""

UNIFORM_TOLERANCE = 1e-9
"""Target shares closer than this are equal: normalising equal weights leaves float residue."""


EXAMPLE = '\'{"red": 3, "blue": 1}\''
"""How a target is written as JSON."""


def is_number(value: object, low: float, high: float) -> bool:
    """Whether ``value`` is a number from ``low`` to ``high``, NumPy's included, and no bool."""
    if isinstance(value, bool) or not isinstance(value, NUMBER):
        return False
    number = value.item() if isinstance(value, np.generic) else value  # float32 would overflow beside a larger bound
    return bool(low <= number <= high)


def check_categories(categories: Sequence[str]) -> tuple[str, ...]:
    """The declared categories as a tuple. Raises MadrlError when they are no list or none, and when one is no text, is
    empty or stands twice."""
    if isinstance(categories, str | set | frozenset) or not isinstance(categories, Iterable):
        raise MadrlError(f"categories {categories!r} are no list: name them in their order, as [english, chinese]")
    check_texts("category", given := tuple(categories))
    names = tuple(map(str, given))
    if not names:
        raise MadrlError("no categories declared: name at least one, e.g. categories=[english,chinese]")
    if not all(name.strip() for name in names):
        raise MadrlError(f"an empty category name in {list(names)}: give every category a name")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise MadrlError(f"category {twice[0]!r} is declared twice in {list(names)}: remove one")
    return names


def resolve_target(spec: str | Mapping[str, float], categories: Sequence[str]) -> NDArray[np.float64]:
    """The target p*, shape (K,), in the order of ``categories``; sums to 1.

    ``spec`` is the name of a target in TARGETS, or {category: weight}, also as JSON: weights are normalised, and a
    category that is not named gets 0. A key that YAML or Hydra has read as a number, or as true or false, names the
    category that is written like it.

    Raises MadrlError for an unknown name or category, for one that is named twice, and for weights that are not numbers
    from 0 to MAX_WEIGHT, or all zero.
    """
    names = check_categories(categories)
    spec = target_spec(spec) if isinstance(spec, str) else spec
    if isinstance(spec, str):
        if spec not in TARGETS:
            raise MadrlError(
                f"unknown target {reprlib.repr(spec)}: use one of {sorted(TARGETS)} or a {{category: weight}} mapping"
            )
        return TARGETS[spec](len(names))
    if not isinstance(spec, Mapping):
        raise MadrlError(f"target {spec!r} is neither a name ({sorted(TARGETS)}) nor a {{category: weight}} mapping")
    weights = np.zeros(len(names))
    named = set()
    for key, weight in spec.items():
        category = _declared(key, names)
        if category is None:
            read = f"; put quotes around a name that YAML reads as a number or as true, as in {EXAMPLE}"
            raise MadrlError(
                f"target names unknown category {key!r}: the declared categories are {list(names)}"
                f"{'' if isinstance(key, str) else read}"
            )
        if category in named:
            raise MadrlError(f"target {dict(spec)!r} names category {category!r} twice: remove one")
        if not is_number(weight, 0, MAX_WEIGHT):
            raise MadrlError(f"target weight {weight!r} of {category!r} is not a number from 0 to {MAX_WEIGHT:g}")
        named.add(category)
        weights[names.index(category)] = weight
    if weights.sum() <= 0:
        raise MadrlError(f"target {dict(spec)!r} gives no category any weight: at least one must be above 0")
    return _summing_to_1(weights)


def _declared(key: object, names: Sequence[str]) -> str | None:
    """The declared category that a target's key names; None for none, and where its text could be either of two."""
    texts = {str(key), str(key).lower()} if isinstance(key, NUMBER) else {key}  # a bool is an int
    found = [name for name in names if name in texts]
    return found[0] if len(found) == 1 else None


def target_spec(text: str) -> str | dict[str, float]:
    """A target in text: its name, or the {category: weight} of a JSON object. Raises MadrlError for a brace that begins
    none, and for a category that is named twice."""
    if not text.lstrip().startswith("{"):
        return text

    def without_repetition(pairs: list[tuple[str, float]]) -> dict[str, float]:
        if twice := [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]:
            raise MadrlError(f"target {reprlib.repr(text)} names category {twice[0]!r} twice: remove one")
        return dict(pairs)

    try:
        spec: dict[str, float] = json.loads(text, object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:
        raise MadrlError(f"target {reprlib.repr(text)} is not JSON ({error}): write {EXAMPLE}") from None
    return spec


def shares_of(target: ArrayLike) -> NDArray[np.float64]:
    """The target p* as an array of shares, shape (K,), which sums to 1 as nearly as an array can. Raises MadrlError for
    a negative share, and when they do not sum to 1."""
    shares = np.asarray(target, dtype=np.float64)
    if not abs(shares.sum() - 1.0) <= SHARES_TOLERANCE:
        raise MadrlError(f"target {reprlib.repr(shares.tolist())} does not sum to 1: divide the weights by their sum")
    if (shares < 0).any():
        raise MadrlError(f"target {reprlib.repr(shares.tolist())} has a share below 0: write 0 for what is excluded")
    return _summing_to_1(shares)


def _summing_to_1(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights divided by their sum. Shares stay what they are when they are read again, to the last bit."""
    total = weights.sum()
    return weights if abs(total - 1.0) <= SUM_TOLERANCE else weights / total


def smooth(target: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """The epsilon-smoothed target, (1 - eps) p* + eps / K; sums to 1 when ``target`` does.

    Reverse KL and JSD need it where the target holds exact zeros. The paper leaves the rule open; this is ours.
    """
    return (1.0 - epsilon) * target + epsilon / target.size
