"""The cells of the paper's grid, as data, and the subsets that a filter names."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from madrl.errors import MadrlError
from madrl.recipe import WARM_START, WARM_START_SEED
from madrl.tasks import TASKS

REAL_TASKS = [name for name, task in TASKS.items() if not task.is_synthetic]
SYNTHETIC_TASKS = [name for name, task in TASKS.items() if task.is_synthetic]

SEEDS = (42, 123, 200)
TARGETS = ("uniform", "peak")
DIVERGENCES = ("l2", "fkl", "rkl", "jsd")

FORMS: dict[str, dict[str, str]] = {
    "gated": {"FORM": "gated"},
    "add90": {"FORM": "additive", "ALPHA": "0.9"},
    "add80": {"FORM": "additive", "ALPHA": "0.8"},
    "add70": {"FORM": "additive", "ALPHA": "0.7"},
    "add55": {"FORM": "additive", "ALPHA": "0.55"},
    "rlvr": {"FORM": "rlvr"},
    "alone": {},
    WARM_START: {},
}
"""The paper's name of a reward's form -> the recipe's variables. ``alone``: the divergence alone, which is the
SYNTHETIC tasks' own form. The warm start trains towards no reward: it makes the model that a task's runs start from."""

RLVR_VARIABLES = {"TARGET": "uniform", "DIVERGENCE": "rkl"}
"""As in recipes/*_rlvr.sh: correctness alone has no divergence, and its fit is measured against the uniform target."""

WITHOUT_AIM = ("rlvr", WARM_START)
"""Forms of cells that have neither a target nor a divergence."""


@dataclass(frozen=True, order=True)
class Cell:
    """One run of the grid."""

    task: str
    form: str
    """A key of FORMS."""
    target: str | None
    """None for rlvr and the warm start, which have neither."""
    divergence: str | None
    seed: int

    @property
    def name(self) -> str:
        """Readable, and another one for every cell."""
        aim = [part for part in (self.target, self.divergence) if part]
        form = [] if self.form == "alone" else [self.form]
        return "_".join([self.task, *aim, *form, f"seed{self.seed}"])

    @property
    def is_warm_start(self) -> bool:
        return self.form == WARM_START

    def variables(self) -> dict[str, str]:
        """What makes this cell, as environment variables: for ``madrl run``, and for a command in its place."""
        if self.is_warm_start:
            return {"TASK": self.task, "SEED": str(self.seed)}
        aim = {"TARGET": self.target, "DIVERGENCE": self.divergence} if self.target and self.divergence else {}
        return {"TASK": self.task, **RLVR_VARIABLES, **aim, **FORMS[self.form], "SEED": str(self.seed)}


def paper_grid() -> list[Cell]:
    """The paper's 417 runs: 123 on each real task (4 divergences x 5 forms x 2 targets x 3 seeds, and rlvr x 3 seeds),
    48 on SYNTHETIC (2 prompt forms x 4 divergences x 2 targets x 3 seeds)."""
    forms = [form for form in FORMS if form not in (*WITHOUT_AIM, "alone")]
    cells = [
        Cell(task, form, target, divergence, seed)
        for task in REAL_TASKS
        for form in forms
        for target in TARGETS
        for divergence in DIVERGENCES
        for seed in SEEDS
    ]
    cells += [Cell(task, "rlvr", None, None, seed) for task in REAL_TASKS for seed in SEEDS]
    cells += [
        Cell(task, "alone", target, divergence, seed)
        for task in SYNTHETIC_TASKS
        for target in TARGETS
        for divergence in DIVERGENCES
        for seed in SEEDS
    ]
    return cells


def warm_start_cell(task: str) -> Cell:
    """The cell that makes the model which the runs of ``task`` start from."""
    return Cell(task, WARM_START, None, None, WARM_START_SEED)


FIELDS = tuple(field.name for field in fields(Cell))


def select(cells: Iterable[Cell], filters: Sequence[str]) -> list[Cell]:
    """The cells that pass every ``field=value,value...``, in their order; all of them without filters.

    A cell that has no target or divergence passes no filter on it; but the warm start that a selected cell waits for
    is selected with it. Raises MadrlError for a field that cells do not have, and for a value that no cell has, which
    would select nothing without a word.
    """
    cells = list(cells)
    known = {
        field: {str(value) for cell in [*paper_grid(), *cells] if (value := getattr(cell, field))} for field in FIELDS
    }
    selected = cells
    for text in filters:
        field, equals, values = text.partition("=")
        if not equals or field not in FIELDS:
            raise MadrlError(f"filter {text!r} is not FIELD=VALUE,... with a field of {', '.join(FIELDS)}")
        wanted = {value.strip() for value in values.split(",")}
        if unknown := sorted(wanted - known[field]):
            raise MadrlError(f"no cell has {field}={unknown[0]}: there are {', '.join(sorted(known[field]))}")
        selected = [cell for cell in selected if str(getattr(cell, field)) in wanted]
    tasks = {cell.task for cell in selected}
    return [cell for cell in cells if cell in selected or (cell.is_warm_start and cell.task in tasks)]


def as_json(cell: Cell) -> dict[str, str | int | None]:
    """The cell as a JSON object; ``Cell(**it)`` is the cell again."""
    return asdict(cell)
