"""What a grid is: its cells with the hashes of their resolved configs, and what all of them share.

``madrl grid plan`` writes it, and the other verbs read it. Composing a config imports veRL (seconds) and takes most of
a second, so it is done here alone: once for all seeds of a setting, and never again as long as what the config follows
from stays the same. Each hash is appended to OUT/grid/configs.jsonl as soon as it is known, so that a plan that is
killed goes on where it was.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked, replacing
from madrl.grid.cells import SEEDS, Cell, warm_start_cell
from madrl.grid.json_lines import append_line, read_lines
from madrl.grid.source import verl_version
from madrl.progress import progress
from madrl.recipe import BASE, CONFIG_DIR, NOT_DECIDING, Recipe
from madrl.tasks import TASKS, Task, load_task

GRID = "grid"
"""The folder in OUT where the grid keeps its own files."""

Compose = Callable[[Recipe], Mapping[str, Any]]
"""From a recipe to its resolved config."""


class Resolved(NamedTuple):
    """What the grid keeps of a cell's resolved config."""

    key: str
    """The hash of what the config follows from."""
    sha256: str
    """The hash of the config."""
    steps: int | None
    """The steps of the training; None for a warm start."""


@dataclass(frozen=True)
class Plan:
    """The cells of one OUT folder, and how they are run."""

    out: Path
    """Absolute: cells may start in another folder."""
    cells: Mapping[Cell, Resolved] = field(default_factory=dict)
    profile: str = "gpu"
    models: Mapping[str, str] = field(default_factory=dict)
    """Task -> the model that its runs start from, in place of the profile's."""
    overrides: tuple[str, ...] = ()
    """Hydra overrides for every cell."""
    own_tasks: Mapping[str, str] = field(default_factory=dict)
    """The name of a task of one's own -> its YAML file."""
    words: str = ""
    """The command that planned it."""

    @property
    def folder(self) -> Path:
        return self.out / GRID

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    def task(self, name: str) -> Task:
        return load_task(self.own_tasks.get(name, name))

    def plugins(self, task: str) -> tuple[str, ...]:
        """The modules of the user's own classifier, verifier and naming."""
        found = self.task(task)
        own = dict(override.lstrip("+").split("=", 1) for override in self.overrides if "=" in override)
        specs = {name: own.get(f"madrl.{name}", getattr(found, name)) for name in ("classifier", "verifier", "naming")}
        return tuple(sorted({spec.partition(":")[0] for spec in specs.values() if spec and ":" in spec}))

    def recipe(self, cell: Cell, name: str = "", model: str = "") -> Recipe:
        """The recipe of ``cell``, its run folder called ``name``. ``model`` is what it starts from where the plan names
        none."""
        recipe = Recipe(
            self.own_tasks.get(cell.task, cell.task),
            **({"target": "uniform", "divergence": "rkl"} if cell.is_warm_start else cell.recipe_fields()),
            profile=self.profile,
            seed=cell.seed,
            model="" if cell.is_warm_start else self.models.get(cell.task) or model,
            out=self.out,
            overrides=self.overrides,
        )
        return replace(recipe.warm_start if cell.is_warm_start else recipe, name=name)

    def shared_recipe(self, task: str) -> Recipe:
        """A recipe of ``task``, whose data and miniature model are those of all cells of the task."""
        return self.recipe(Cell(task, "rlvr", None, None, SEEDS[0]))

    def has_warm_start(self, task: str) -> bool:
        """Whether the cells of ``task`` start from the model that its warm start makes."""
        return self.shared_recipe(task).starts_from_warm_start

    def only(self, cell: Cell) -> "Plan":
        """The plan of this cell, and of the warm start that it waits for."""
        kept = (cell, warm_start_cell(cell.task))
        return replace(self, cells={one: found for one, found in self.cells.items() if one in kept})

    def as_json(self) -> dict[str, Any]:
        """The plan as a JSON object, for ``plan_of``."""
        shared = {name: getattr(self, name) for name in ("profile", "models", "overrides", "own_tasks", "words")}
        return {**shared, "cells": [{**c.as_json(), "resolved": found} for c, found in self.cells.items()]}

    def save(self) -> None:
        """Write plan.json, in place of one that is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.file) as unfinished:
            unfinished.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")


def load_plan(out: Path) -> Plan:
    """The plan of ``out``. Raises MadrlError when there is none."""
    file = out.absolute() / GRID / "plan.json"
    if not file.exists():
        raise MadrlError(f"{out} has no grid: declare one with madrl grid plan -o {out}")
    return plan_of(out, json.loads(file.read_text(encoding="utf-8")))


def plan_of(out: Path, content: Mapping[str, Any]) -> Plan:
    """The plan in ``out`` that ``as_json`` described."""
    shared = {**content, "overrides": tuple(content["overrides"])}
    cells = {}
    for facts in shared.pop("cells"):
        resolved = Resolved(*facts.pop("resolved"))
        cells[Cell(**facts)] = resolved
    return Plan(out.absolute(), cells, **shared)


def models_of(options: Sequence[str], own_tasks: Iterable[str] = ()) -> dict[str, str]:
    """``[TASK=]PATH`` options as {task: model}; without a task it is every task's. Folders become absolute; BASE stays
    the word for the profile's own model."""
    tasks = (*TASKS, *own_tasks)
    models: dict[str, str] = {}
    for option in options:
        task, equals, path = option.partition("=")
        if not (equals and task in tasks):
            task, path = "", option
        model = str(Path(path).absolute()) if path != BASE and Path(path).is_dir() else path
        models |= dict.fromkeys([task] if task else tasks, model)
    return models


def with_environment(recipe: Recipe, variables: Mapping[str, str] = os.environ) -> Recipe:
    """``recipe`` with those of ``madrl run``'s variables that say where it runs and not what comes out."""
    return replace(
        recipe,
        dataset=variables.get("DATASET", ""),
        ray_address=variables.get("RAY_ADDRESS", ""),
        nodes=variables.get("NNODES", ""),
        wandb=bool(variables.get("WANDB")),
    )


def with_warm_starts(plan: Plan, cells: Sequence[Cell]) -> list[Cell]:
    """``cells`` after the warm starts that they wait for."""
    tasks = dict.fromkeys(cell.task for cell in cells)
    return [*(warm_start_cell(task) for task in tasks if plan.has_warm_start(task)), *cells]


def resolved(plan: Plan, cells: Sequence[Cell], compose: Compose | None = None) -> Plan:
    """``plan`` with these cells, each with its resolved config; those that no plan in this folder has resolved before
    are composed.

    Raises MadrlError for a config that does not compose, and while another process plans in this folder.
    """
    recipes = {cell: _placeless_recipe(plan, cell) for cell in cells}
    keys = {cell: _key(plan, cell) for cell in cells}
    file = plan.folder / "configs.jsonl"
    with locked(plan.folder / "planning", f"another process plans in {plan.folder}: wait for it to end"):
        known = {line["key"]: Resolved(**line) for line in read_lines(file)}
        missing = {key: recipes[cell] for cell, key in keys.items() if key not in known}
        if missing:
            compose = compose or composed
            with progress("resolving configs", len(missing)) as advance:
                for key, recipe in missing.items():
                    known[key] = _resolved(key, compose(recipe))
                    append_line(file, known[key]._asdict())
                    advance(1)
    return replace(plan, cells={cell: known[key] for cell, key in keys.items()})


def outdated(plan: Plan) -> list[Cell]:
    """The cells whose config may be another one now than the plan says: a config file, veRL, or a task's own file has
    changed since."""
    return [cell for cell, found in plan.cells.items() if found.key != _key(plan, cell)]


def composed(recipe: Recipe) -> Mapping[str, Any]:
    """The recipe's resolved config, checked against the installed veRL, which this imports."""
    from omegaconf import OmegaConf

    from madrl.trainer.compose import compose
    from madrl.warm_start.run import resolved

    if recipe.is_warm_start:
        return resolved(recipe.hydra_overrides())
    config: Any = OmegaConf.to_container(compose(recipe.hydra_overrides()))
    return dict(config)


def _placeless_recipe(plan: Plan, cell: Cell) -> Recipe:
    """The cell's recipe with fixed paths and name, and seed 0: its config says nothing of where a run lies, and the
    seeds of a setting share it."""
    models = {task: model if model == BASE else "/model" for task, model in plan.models.items()}
    recipe = replace(plan, out=Path("/out"), models=models).recipe(cell, name="cell")
    return replace(recipe, seed=0)


def _key(plan: Plan, cell: Cell) -> str:
    facts = [verl_version(), *_config_files(), repr(plan.task(cell.task))]
    return hash_of([*facts, *_placeless_recipe(plan, cell).hydra_overrides()])


@cache
def _config_files() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CONFIG_DIR.rglob("*.yaml"))]


def _resolved(key: str, config: Mapping[str, Any]) -> Resolved:
    """The hash of a resolved config without NOT_DECIDING."""
    plain: dict[str, Any] = json.loads(json.dumps(config))
    for path in NOT_DECIDING:
        *nodes, last = path.split(".")
        node = plain
        for name in nodes:
            node = node.get(name, {})
        node.pop(last, None)
    return Resolved(key, hash_of(plain), config.get("trainer", {}).get("total_training_steps"))


def hash_of(value: Any) -> str:
    """SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
