"""The cells of the paper's grid, as data, and the subsets that a filter names."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from madrl.errors import MadrlError

SEEDS = (42, 123, 200)
TARGETS = ("uniform", "peak")
DIVERGENCES = ("l2", "fkl", "rkl", "jsd")
REAL_TASKS = ("gsm8k", "math", "code_contests")
SYNTHETIC_TASKS = ("synthetic_closed", "synthetic_open")

FORMS: dict[str, dict[str, str]] = {
    "gated": {"FORM": "gated"},
    "add90": {"FORM": "additive", "ALPHA": "0.9"},
    "add80": {"FORM": "additive", "ALPHA": "0.8"},
    "add70": {"FORM": "additive", "ALPHA": "0.7"},
    "add55": {"FORM": "additive", "ALPHA": "0.55"},
    "rlvr": {"FORM": "rlvr"},
    "alone": {},
}
"""The paper's name of a reward's form -> the recipe's variables. ``alone``: the divergence alone, which is the
SYNTHETIC tasks' own form."""

RLVR_VARIABLES = {"TARGET": "uniform", "DIVERGENCE": "rkl"}
"""As in recipes/*_rlvr.sh: correctness alone has no divergence, and its fit is measured against the uniform target."""


@dataclass(frozen=True, order=True)
class Cell:
    """One run of the grid."""

    task: str
    form: str
    """A key of FORMS."""
    target: str | None
    """None for rlvr, which has neither."""
    divergence: str | None
    seed: int

    @property
    def name(self) -> str:
        """Readable, and another one for every cell."""
        aim = [part for part in (self.target, self.divergence) if part]
        form = [] if self.form == "alone" else [self.form]
        return "_".join([self.task, *aim, *form, f"seed{self.seed}"])

    def variables(self) -> dict[str, str]:
        """The variables of recipes/body.sh that make this cell."""
        aim = {"TARGET": self.target, "DIVERGENCE": self.divergence} if self.target and self.divergence else {}
        return {"TASK": self.task, **RLVR_VARIABLES, **aim, **FORMS[self.form], "SEED": str(self.seed)}


def paper_grid() -> list[Cell]:
    """The paper's 417 runs: 123 on each real task (4 divergences x 5 forms x 2 targets x 3 seeds, and rlvr x 3 seeds),
    48 on SYNTHETIC (2 prompt forms x 4 divergences x 2 targets x 3 seeds)."""
    forms = [form for form in FORMS if form not in ("rlvr", "alone")]
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


FIELDS = tuple(field.name for field in fields(Cell))


def select(cells: Iterable[Cell], filters: Sequence[str]) -> list[Cell]:
    """The cells that pass every ``field=value,value...``, in their order; all of them without filters.

    A cell that has no target or divergence (rlvr) passes no filter on it. Raises MadrlError for a field that cells do
    not have, and for a value that no cell of the paper's grid has, which would select nothing without a word.
    """
    known = {field: {str(value) for cell in paper_grid() if (value := getattr(cell, field))} for field in FIELDS}
    selected = list(cells)
    for text in filters:
        field, equals, values = text.partition("=")
        if not equals or field not in FIELDS:
            raise MadrlError(f"filter {text!r} is not FIELD=VALUE,... with a field of {', '.join(FIELDS)}")
        wanted = {value.strip() for value in values.split(",")}
        if unknown := sorted(wanted - known[field]):
            raise MadrlError(f"no cell has {field}={unknown[0]}: there are {', '.join(sorted(known[field]))}")
        selected = [cell for cell in selected if str(getattr(cell, field)) in wanted]
    return selected


def as_json(cell: Cell) -> dict[str, str | int | None]:
    """The cell as a JSON object; ``Cell(**it)`` is the cell again."""
    return asdict(cell)
