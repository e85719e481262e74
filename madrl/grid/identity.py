"""What decides a cell's outcome, and the name that follows from it: ``math_peak_rkl_add70_seed42_tiny-3f9a1c2e``.

The parts of the hash:

config   the resolved config (madrl.grid.composed), without paths, names and what only concerns the machine
seed     apart from it, so that the seeds of a setting share a config
data     the files of the manifest that data_prep wrote, each with its SHA-256; none before they are prepared
code     the statements of the modules that decide rewards (madrl.grid.source)
model    the fingerprint of the initial model's folder; of a name on the hub the name; for a miniature that the recipe
         builds the code that builds it; for a warm start that a cell makes that cell's own name

With a command in place of ``madrl run`` the cell's variables and the command stand for config and data, which only the
command knows.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grid.cells import SEEDS, Cell, as_json, warm_start_cell
from madrl.grid.composed import Config, configs_of
from madrl.grid.plan import Plan
from madrl.grid.source import MINIATURE, OF_A_RUN, OF_A_WARM_START, code_hash
from madrl.recipe import BASE, Recipe
from madrl.source import PACKAGE

HASH_DIGITS = 8

PARTS = ("config", "data", "code", "model", "command", "overrides")
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
    """Of the training; None with a command of one's own, and of a warm start."""
    waits_for: str | None = None
    """The run name of the warm start that makes its initial model; None where it starts from another."""

    @property
    def run_name(self) -> str:
        """The name of the run's folder in OUT."""
        text = json.dumps(self.parts, sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]}"


def identities(plan: Plan, cells: Iterable[Cell]) -> list[Identity]:
    """The identity of each cell as things are on disk now. Raises MadrlError for a config that does not compose and a
    model that is none."""
    cells = list(cells)
    tasks = sorted({cell.task for cell in cells})
    if plan.command is not None:
        shared = {task: _shared_parts(plan, task) for task in tasks}
        return [_identity(plan, cell, shared[cell.task]) for cell in cells]
    starts = {task: warm_start_cell(task) for task in tasks if plan.has_warm_start(task)}
    configs = configs_of(plan, {*cells, *starts.values()})
    made_by: dict[str, Identity] = {}
    for task, cell in starts.items():
        parts = {"data": _data(plan.recipe(cell).data), "code": code_hash(OF_A_WARM_START), "model": None}
        made_by[task] = _identity(plan, cell, parts, configs[cell])
    shared = {task: _shared_parts(plan, task) for task in tasks}
    for task, start in made_by.items():
        shared[task]["model"] = start.run_name
    return [
        made_by[cell.task]
        if cell.is_warm_start
        else _identity(plan, cell, shared[cell.task], configs[cell], made_by.get(cell.task))
        for cell in cells
    ]


def _identity(
    plan: Plan, cell: Cell, parts: Mapping[str, Any], config: Config | None = None, start: Identity | None = None
) -> Identity:
    """``start`` is the warm start that the cell waits for."""
    parts = {"cell": as_json(cell), "profile": plan.profile, **parts}
    if config is not None:
        parts["config"] = config.sha256
    steps, waits_for = config and config.steps, start and start.run_name
    return Identity(cell, f"{cell.name}_{plan.profile}", parts, steps, waits_for)


def check_unchanged(plan: Plan, parts: Mapping[str, Any]) -> Identity:
    """The identity of a cell as it is now.

    Raises MadrlError that names what has changed since the ``parts`` of the cell were found: its run would not be what
    its folder's name says.
    """
    (now,) = identities(plan, [Cell(**parts["cell"])])
    changed = changes(parts, now.parts)
    if changed:
        raise MadrlError(f"{', '.join(changed)} changed since this cell was planned: start madrl grid run again")
    return now


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of the parts that differ."""
    return [name for name in PARTS if one.get(name) != other.get(name)]


def shared_recipe(plan: Plan, task: str) -> Recipe:
    """A recipe of ``task``: its data and its miniature model are those of all cells of the task."""
    return plan.recipe(Cell(task, "rlvr", None, None, SEEDS[0]))


def _shared_parts(plan: Plan, task: str) -> dict[str, Any]:
    if plan.command is not None:
        return {"command": list(plan.command), "overrides": list(plan.overrides), "model": _model(plan, task)}
    return {"data": _data(shared_recipe(plan, task).data), "code": code_hash(OF_A_RUN), "model": _model(plan, task)}


def _data(folder: Path) -> str | None:
    manifest = _manifest(folder)
    return None if manifest is None else _hash(manifest["files"])


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


def _model(plan: Plan, task: str) -> str | None:
    """What tells the initial model from another; None where the config alone does."""
    if task in plan.models and plan.models[task] != BASE:
        from madrl.sampling.model_folder import fingerprint

        return fingerprint(plan.models[task]) or plan.models[task]
    if plan.command is None and shared_recipe(plan, task).miniature is not None:
        return _hash([code_hash(MINIATURE), (PACKAGE / "config" / "miniature_sft.yaml").read_text(encoding="utf-8")])
    return None


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
