"""What decides a cell's outcome, and the name that follows from it: ``math_peak_rkl_add70_seed42_tiny-3f9a1c2e``.

The parts of the hash:

config   the resolved config, without paths, names and what only concerns the machine: as it was when the cell was
         planned (madrl.grid.plan)
seed     apart from it, so that the seeds of a setting share a config
data     the files of the manifest that data_prep wrote, or of the folder of one's own, each with its SHA-256; none
         before they are prepared
code     the statements of the modules that decide rewards (madrl.grid.source)
model    the fingerprint of the initial model's folder; of a name on the hub the name; for a miniature that the recipe
         builds the code that builds it; for a warm start that a cell makes that cell's own name

All but the config is looked at anew on every call.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import read_json, sha256_of, waited_for
from madrl.grid.cells import Cell, warm_start_cell
from madrl.grid.plan import Plan, hash_of
from madrl.grid.source import MINIATURE, OF_A_RUN, OF_A_WARM_START, SMALL_MODEL, code_hash, plugins_of
from madrl.recipe import BASE, CONFIG_DIR, Recipe
from madrl.tasks import Task

HASH_DIGITS = 8

PARTS = ("config", "data", "code", "model")
"""What may differ between two runs of one cell."""

REWRITING_S = 10.0
"""How long a data folder may be without its manifest while data_prep renames files into it."""


class Identity(NamedTuple):
    """A cell with everything that decides its outcome."""

    cell: Cell
    name: str
    """Readable; cells of another config, code, data or model share it."""
    parts: dict[str, Any]
    steps: int | None = None
    """The steps of the training; None for a warm start."""
    waits_for: str | None = None
    """The run name of the warm start that makes its initial model; None where it starts from another."""

    @property
    def run_name(self) -> str:
        """The name of the run's folder in OUT."""
        return f"{self.name}-{hash_of(self.parts)[:HASH_DIGITS]}"


def identities(plan: Plan, cells: Iterable[Cell] | None = None) -> list[Identity]:
    """The identity of each of the plan's cells, or of some of them, as things are on disk now. Raises MadrlError for a
    model that is none."""
    cells = list(plan.cells if cells is None else cells)
    starts: dict[str, Identity] = {}
    parts: dict[str, dict[str, Any]] = {}
    for task in dict.fromkeys(cell.task for cell in cells):
        recipe = plan.shared_recipe(task)
        parts[task] = parts_of(recipe)
        if recipe.starts_from_warm_start:
            start = warm_start_cell(task)
            starts[task] = _identity(plan, start, parts_of(plan.recipe(start)))
            parts[task]["model"] = starts[task].run_name
    return [
        starts[cell.task]
        if cell.is_warm_start
        else _identity(plan, cell, parts[cell.task], starts[cell.task].run_name if cell.task in starts else None)
        for cell in cells
    ]


def _identity(plan: Plan, cell: Cell, parts: Mapping[str, Any], waits_for: str | None = None) -> Identity:
    resolved = plan.cells[cell]
    parts = {"cell": cell._asdict(), "profile": plan.profile, **parts, "config": resolved.sha256}
    return Identity(cell, f"{cell.name}_{plan.profile}", parts, resolved.steps, waits_for)


def parts_of(recipe: Recipe) -> dict[str, str | None]:
    """The parts that the files on disk decide, as they are now; ``model`` is None where the config alone says it."""
    code = code_hash(OF_A_WARM_START if recipe.is_warm_start else OF_A_RUN, plugins_of(recipe))
    return {"data": _data(recipe.data), "code": code, "model": _model(recipe)}


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of the parts that differ."""
    return [name for name in PARTS if one.get(name) != other.get(name)]


def _data(folder: Path) -> str | None:
    """The hash of the data in ``folder``; None when they are not there."""
    file, lock, deadline = folder / "manifest.json", folder / ".lock", time.monotonic() + REWRITING_S
    if not file.exists() and lock.exists():  # data_prep may just be replacing it
        with suppress(MadrlError), waited_for(lock, "", lambda: file.exists() or time.monotonic() > deadline):
            pass
    if file.exists():
        return hash_of(read_json(file)["files"])
    files = {path.name: sha256_of(path) for path in folder.glob("*.parquet")}
    return hash_of(files) if files else None


def _model(recipe: Recipe) -> str | None:
    if recipe.model not in ("", BASE):
        from madrl.sampling.model_folder import fingerprint

        return fingerprint(recipe.model) or recipe.model
    if recipe.miniature is not None and not recipe.is_warm_start:
        sft = (CONFIG_DIR / "miniature_sft.yaml").read_text(encoding="utf-8")
        return hash_of([code_hash(MINIATURE), sft, *_own_examples(recipe.record)])
    return None if recipe.small_model is None else code_hash(SMALL_MODEL)


def _own_examples(task: Task) -> list[Any]:
    """What a task file says of its miniature, and the hash of the examples that it names."""
    if task.file is None or not task.miniature:
        return []
    examples = task.file.parent / str(task.miniature.get("examples"))
    return [task.miniature, sha256_of(examples) if examples.exists() else None]
