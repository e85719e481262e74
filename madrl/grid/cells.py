"""The cells of a grid as data: the paper's 417 runs, a part of them, and the same sweep over a task of one's own."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.recipe import WARM_START, WARM_START_SEED
from madrl.targets import TARGETS
from madrl.tasks import TASKS

SEEDS = (42, 123, 200)

FORMS: dict[str, dict[str, str]] = {
    "gated": {"form": "gated"},
    "add90": {"form": "additive", "alpha": "0.9"},
    "add80": {"form": "additive", "alpha": "0.8"},
    "add70": {"form": "additive", "alpha": "0.7"},
    "add55": {"form": "additive", "alpha": "0.55"},
    "rlvr": {"form": "rlvr"},
    "alone": {"form": "additive", "alpha": "0.0"},
    WARM_START: {},
}
"""The paper's name of a reward's form -> the fields of ``Recipe`` that it sets.

``rlvr`` is correctness alone: its fit is measured against the uniform target. ``alone`` is the divergence alone, the
SYNTHETIC tasks' own form. The warm start trains towards no reward: it makes the model that a task's runs start from."""

PAPER_FORMS = ("gated", "add90", "add80", "add70", "add55", "rlvr")
"""The forms of a task whose responses can be wrong."""


class Cell(NamedTuple):
    """One run of a grid."""

    task: str
    """The task's name."""
    form: str
    """A key of FORMS."""
    target: str | None
    """None for rlvr and the warm start, which have neither a target nor a divergence."""
    divergence: str | None
    seed: int

    @property
    def name(self) -> str:
        """A readable name, different for every cell."""
        aim = [part for part in (self.target, self.divergence) if part]
        form = [] if self.form == "alone" else [self.form]
        return "_".join([self.task, *aim, *form, f"seed{self.seed}"])

    @property
    def is_warm_start(self) -> bool:
        return self.form == WARM_START

    def reward(self) -> dict[str, str]:
        """The fields of ``Recipe`` that make the reward; for a warm start, those of a run that waits for it."""
        aim = {"target": self.target or "uniform", "divergence": self.divergence or "rkl"}
        return aim | FORMS[self.form]


Filters = Mapping[str, Sequence[str]]
"""A field of Cell -> the values that pass."""


def filters_of(words: Iterable[str]) -> dict[str, list[str]]:
    """The filters that words such as ``form=rlvr,add70`` name. Raises MadrlError for a field that cells do not have, or
    that is there twice."""
    filters: dict[str, list[str]] = {}
    for word in words:
        field, equals, values = word.partition("=")
        if not equals or field not in Cell._fields:
            raise MadrlError(f"filter {word!r} is not FIELD=VALUE,... with a field of {', '.join(Cell._fields)}")
        if field in filters:
            raise MadrlError(f"filter {field}= is there twice: write its values with commas, {field}=A,B")
        filters[field] = [value.strip() for value in values.split(",")]
    return filters


def sweep(filters: Filters | None = None, own_tasks: Collection[str] = ()) -> list[Cell]:
    """The paper's 417 runs, or those that ``filters`` ask for.

    That is 123 on each real task (4 divergences x 5 forms x 2 targets x 3 seeds, and rlvr x 3 seeds) and 48 on
    SYNTHETIC (2 prompt forms x 4 divergences x 2 targets x 3 seeds). The seeds may be any others, and the tasks may be
    among ``own_tasks``, which are swept as the real ones are, or with the divergence alone when ``form=alone`` asks
    for it. Raises MadrlError for a value that does not exist.
    """
    filters = dict(filters or {})
    seeds = filters.pop("seed", [str(seed) for seed in SEEDS])
    if wrong := [seed for seed in seeds if not seed.isdecimal()]:
        raise MadrlError(f"seed={wrong[0]} is not a whole number")
    cells = []
    for task in dict.fromkeys([*TASKS, *own_tasks]):
        forms = ("alone",) if task in TASKS and TASKS[task].is_synthetic else PAPER_FORMS
        if task in own_tasks and "alone" in filters.get("form", ()):
            forms = (*forms, "alone")
        for form, aim, seed in product(forms, product(TARGETS, DIVERGENCES), dict.fromkeys(map(int, seeds))):
            target, divergence = (None, None) if form == "rlvr" else aim
            cells.append(Cell(task, form, target, divergence, seed))
    return select(dict.fromkeys(cells), filters)


def select(cells: Iterable[Cell], filters: Filters) -> list[Cell]:
    """The cells that pass every filter, in their order.

    A cell that has no target or divergence passes no filter on it. The warm start that a selected cell waits for is
    selected with it. Raises MadrlError for a value that none of the cells has, and when no cell passes.
    """
    cells = list(cells)
    selected = cells
    for field, wanted in filters.items():
        known = {str(value) for cell in cells if (value := getattr(cell, field)) is not None}
        if unknown := sorted(set(wanted) - known):
            raise MadrlError(f"no cell has {field}={unknown[0]}: there are {', '.join(sorted(known))}")
        selected = [cell for cell in selected if str(getattr(cell, field)) in wanted]
    if not selected:
        raise MadrlError("no cell of the grid passes all filters")
    tasks = {cell.task for cell in selected}
    return [cell for cell in cells if cell in selected or (cell.is_warm_start and cell.task in tasks)]


def warm_start_cell(task: str) -> Cell:
    """The cell that makes the model which the runs of ``task`` start from."""
    return Cell(task, WARM_START, None, None, WARM_START_SEED)
