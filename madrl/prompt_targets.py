"""The target of one prompt, where a run has not one for all of them: in a data row, and beside a response on disk.

In a row it overrides the run's target, and may be over some of the declared categories only. On disk it is the key
``target`` of each response whose prompt has one, with the shares that the response was rewarded by.
"""

import json
import reprlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.targets import EXAMPLE, check_categories, resolve_target, target_spec

ROW_TARGET, ROW_CATEGORIES = "target", "categories"
"""The fields of a data row's ``extra_info`` that give its prompt a target of its own. Both are text: parquet would turn
an object into a struct with the keys of all rows."""


class PromptTarget(NamedTuple):
    """The target of one prompt, over the prompt's own categories. Hashable."""

    categories: tuple[str, ...]
    """Some of the declared ones, or all of them, in their order. A response in another one is off-support there."""
    shares: tuple[float, ...]
    """p* of each of them; they sum to 1."""

    @classmethod
    def of(cls, categories: Sequence[str], target: NDArray[np.float64]) -> "PromptTarget":
        """The target p*, shape (K,), over ``categories``."""
        return cls(tuple(categories), tuple(target.tolist()))

    @property
    def array(self) -> NDArray[np.float64]:
        """p* over the prompt's own categories, in their order."""
        return np.array(self.shares)

    def over(self, declared: Sequence[str]) -> NDArray[np.float64]:
        """p* over all declared categories, shape (K,): 0 on those that are not the prompt's."""
        share = dict(zip(self.categories, self.shares, strict=True))
        return np.array([share.get(name, 0.0) for name in declared])

    @property
    def text(self) -> str:
        """The shares as a JSON object that names the prompt's categories: what ``read_prompt_target`` reads."""
        return json.dumps(dict(zip(self.categories, self.shares, strict=True)), ensure_ascii=False)


def row_target(extra_info: Mapping[str, Any], declared: Sequence[str]) -> PromptTarget | None:
    """The target that a data row gives its prompt in ``extra_info``; None where it gives none.

        target        text: a name in TARGETS, or a JSON object {category: weight}; the others get 0
        categories    text: a JSON list of the declared categories that are the prompt's; all of them where it is absent

    Null is as good as absent. Raises MadrlError for values that are nothing of the kind, for categories that are not
    declared, and for ``categories`` without ``target``.
    """
    target, categories = extra_info.get(ROW_TARGET), extra_info.get(ROW_CATEGORIES)
    if target is None and categories is None:
        return None
    try:
        return _of_fields(target, categories, tuple(declared))
    except MadrlError as error:
        remedy = "rename the field of the data where it means something else"
        raise MadrlError(f"extra_info gives the prompt no good target: {error}; {remedy}") from error


def _of_fields(target: object, categories: object, declared: tuple[str, ...]) -> PromptTarget:
    for name, value in ((ROW_TARGET, target), (ROW_CATEGORIES, categories)):
        if not isinstance(value, str | None):
            raise MadrlError(f"{name} {reprlib.repr(value)} is not text: store it as JSON, such as {_EXAMPLES[name]}")
    if not isinstance(target, str):
        raise MadrlError(
            f"{ROW_CATEGORIES} {reprlib.repr(categories)} without {ROW_TARGET}: give that too, such as 'uniform'"
        )
    return _row_target(target, None if categories is None else str(categories), declared)


def check_row_target(extra_info: Mapping[str, Any], declared: Sequence[str] | None) -> None:
    """Raises what ``row_target`` raises. Where it is not known which categories are declared, None, all that the row
    names are taken for declared."""
    if declared is None:
        declared = _named(extra_info.get(ROW_TARGET), extra_info.get(ROW_CATEGORIES)) or _SOME
    row_target(extra_info, declared)


def row_categories(extra_info: Mapping[str, Any], declared: Sequence[str]) -> tuple[str, ...]:
    """The categories of a data row's prompt: those that it gives with a target, or else all declared ones. Raises what
    ``row_target`` raises."""
    found = row_target(extra_info, declared)
    return tuple(declared) if found is None else found.categories


def read_prompt_target(target: object, declared: Sequence[str]) -> PromptTarget:
    """The target that a response on disk names: a name in TARGETS, over all declared categories, or {category: weight},
    as JSON text or as an object, whose keys are the prompt's categories.

    Raises MadrlError for anything else.
    """
    if isinstance(target, Mapping):
        try:
            target = json.dumps(dict(target), ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise MadrlError(f"{ROW_TARGET} {reprlib.repr(target)} is not JSON ({error})") from None
    if not isinstance(target, str):
        raise MadrlError(
            f"{ROW_TARGET} {reprlib.repr(target)} is neither text nor an object: write {_EXAMPLES[ROW_TARGET]}"
        )
    return _read_prompt_target(target, tuple(declared))


_SOME = ("a", "b", "c")
"""Categories over which every target that has a name exists."""

_EXAMPLES = {ROW_TARGET: EXAMPLE, ROW_CATEGORIES: '\'["red", "blue"]\''}


@lru_cache(maxsize=2**16)
def _row_target(target: str, categories: str | None, declared: tuple[str, ...]) -> PromptTarget:
    own = declared if categories is None else _own_categories(categories, declared)
    return PromptTarget.of(own, resolve_target(target, own))


@lru_cache(maxsize=2**16)
def _read_prompt_target(target: str, declared: tuple[str, ...]) -> PromptTarget:
    spec = target_spec(target)
    own = declared if isinstance(spec, str) else _in_order(list(spec), declared, ROW_TARGET)
    return PromptTarget.of(own, resolve_target(spec, own))


def _named(target: object, categories: object) -> tuple[str, ...]:
    """All categories that a row's fields name, as far as they can be read."""
    names: list[str] = []
    for text in (categories, target):
        try:
            found = json.loads(text) if isinstance(text, str) else []
        except (ValueError, RecursionError):
            continue
        names += [name for name in found if isinstance(name, str)] if isinstance(found, list | dict) else []
    return tuple(dict.fromkeys(names))


def _own_categories(categories: str, declared: tuple[str, ...]) -> tuple[str, ...]:
    try:
        names = json.loads(categories)
    except (ValueError, RecursionError) as error:
        raise MadrlError(
            f"{ROW_CATEGORIES} {reprlib.repr(categories)} is not JSON ({error}): write {_EXAMPLES[ROW_CATEGORIES]}"
        ) from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MadrlError(
            f"{ROW_CATEGORIES} {reprlib.repr(categories)} is no list of text: write {_EXAMPLES[ROW_CATEGORIES]}"
        )
    return _in_order(list(check_categories(names)), declared, ROW_CATEGORIES)


def _in_order(names: list[str], declared: tuple[str, ...], field: str) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in declared]:
        raise MadrlError(f"{field} names unknown category {unknown[0]!r}: the declared categories are {list(declared)}")
    return tuple(name for name in declared if name in names)
