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

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked, sha256_of
from madrl.grid.cells import Cell, warm_start_cell
from madrl.grid.plan import Plan, hash_of, outdated
from madrl.grid.source import MINIATURE, OF_A_RUN, OF_A_WARM_START, code_hash
from madrl.recipe import BASE, CONFIG_DIR, Recipe

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
    steps: int | None
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
        recipe, plugins = plan.shared_recipe(task), plan.plugins(task)
        data = _data(recipe.data)
        if plan.has_warm_start(task):
            made_from = {"data": data, "code": code_hash(OF_A_WARM_START, plugins), "model": None}
            starts[task] = _identity(plan, warm_start_cell(task), made_from)
        model = starts[task].run_name if task in starts else _model(recipe)
        parts[task] = {"data": data, "code": code_hash(OF_A_RUN, plugins), "model": model}
    return [
        starts[cell.task]
        if cell.is_warm_start
        else _identity(plan, cell, parts[cell.task], starts[cell.task].run_name if cell.task in starts else None)
        for cell in cells
    ]


def _identity(plan: Plan, cell: Cell, parts: Mapping[str, Any], waits_for: str | None = None) -> Identity:
    resolved = plan.cells[cell]
    parts = {"cell": cell.as_json(), "profile": plan.profile, **parts, "config": resolved.sha256}
    return Identity(cell, f"{cell.name}_{plan.profile}", parts, resolved.steps, waits_for)


def check_unchanged(plan: Plan, cell: Cell, parts: Mapping[str, Any]) -> Identity:
    """The identity of a planned cell as it is now.

    Raises MadrlError that names what has changed since the ``parts`` of the cell were found: its run would not be what
    its folder's name says.
    """
    check_current(plan)
    (now,) = identities(plan, [cell])
    if changed := changes(parts, now.parts):
        raise MadrlError(f"{', '.join(changed)} changed since this cell was planned: start madrl grid run again")
    return now


def check_current(plan: Plan) -> None:
    """Raises MadrlError when the configs of the plan may be other ones now."""
    if cells := outdated(plan):
        raise MadrlError(
            f"the config files, veRL or a task changed since {len(cells)} of {len(plan.cells)} cells were planned: call "
            f"madrl grid plan again, with the same words as then{f': {plan.words}' if plan.words else ''}"
        )


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of the parts that differ."""
    return [name for name in PARTS if one.get(name) != other.get(name)]


def _data(folder: Path) -> str | None:
    """The hash of the data in ``folder``; None when they are not there."""
    manifest = _manifest(folder)
    if manifest is not None:
        return hash_of(manifest["files"])
    files = {path.name: sha256_of(path) for path in folder.glob("*.parquet")}
    return hash_of(files) if files else None


def _manifest(folder: Path) -> Any:
    """manifest.json, None when there is none; waits for a data_prep that is just replacing it."""
    deadline = time.monotonic() + REWRITING_S
    while True:
        try:
            return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            if time.monotonic() > deadline or not _being_written(folder):
                return None
            time.sleep(0.1)


def _being_written(folder: Path) -> bool:
    lock = folder / ".lock"
    if not lock.exists():
        return False
    try:
        with locked(lock, ""):
            return False
    except MadrlError:
        return True


def _model(recipe: Recipe) -> str | None:
    """What tells the initial model from another; None where the config alone does."""
    if recipe.model not in ("", BASE):
        from madrl.sampling.generate import fingerprint

        return fingerprint(recipe.model) or recipe.model
    if recipe.miniature is not None:
        sft = (CONFIG_DIR / "miniature_sft.yaml").read_text(encoding="utf-8")
        return hash_of([code_hash(MINIATURE), sft])
    return None
