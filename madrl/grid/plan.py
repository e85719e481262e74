"""What a grid is: its cells with the hashes of their resolved configs, and what all of them share.

``madrl grid plan`` writes it, and the other verbs read it. Composing a config imports veRL (seconds) and takes most of
a second, so that it is done here alone: once for all seeds of a setting, and not again as long as what the config
follows from stays the same. OUT/grid/configs.json gains each hash as soon as it is known: a plan that is killed goes on
where it was.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import check_model, locked, read_json, write_json
from madrl.grid.cells import SEEDS, Cell, warm_start_cell
from madrl.progress import progress
from madrl.recipe import BASE, CONFIG_DIR, NOT_DECIDING, Recipe
from madrl.tasks import TASKS

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
    profile: str = "gpu"
    models: Mapping[str, str] = field(default_factory=dict)
    """Task -> the model that its runs start from, in place of the profile's."""
    overrides: list[str] = field(default_factory=list)
    """Hydra overrides for every cell."""
    own_tasks: Mapping[str, str] = field(default_factory=dict)
    """The name of a task of one's own -> its YAML file."""
    cells: Mapping[Cell, Resolved] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.out / GRID

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    def recipe(self, cell: Cell) -> Recipe:
        """The recipe of ``cell``; the model that it starts from is empty where it is the profile's or a warm start."""
        reward = cell.reward()
        recipe = Recipe(
            self.own_tasks.get(cell.task, cell.task),
            reward["target"],
            reward["divergence"],
            self.profile,
            cell.seed,
            reward.get("form", ""),
            reward.get("alpha", ""),
            model=self.models.get(cell.task, ""),
            out=self.out,
            overrides=tuple(self.overrides),
        )
        return recipe.warm_start if cell.is_warm_start else recipe

    def shared_recipe(self, task: str) -> Recipe:
        """A recipe of ``task``, whose data and initial model are those of all cells of the task."""
        return self.recipe(Cell(task, "rlvr", None, None, SEEDS[0]))

    def save(self) -> None:
        """Write plan.json, in place of one that is there."""
        shared = {name: getattr(self, name) for name in ("profile", "models", "overrides", "own_tasks")}
        cells = [{**cell._asdict(), "resolved": found} for cell, found in self.cells.items()]
        write_json(self.file, {**shared, "cells": cells})

    def check_current(self) -> None:
        """Raises MadrlError when a config file, veRL or a task has changed since the plan was made, so that its configs
        may be other ones now."""
        changed = [cell for cell, found in self.cells.items() if found.key != key_of(self.recipe(cell))]
        if changed:
            raise MadrlError(
                f"the config files, veRL or a task changed since {len(changed)} of {len(self.cells)} cells were "
                f"planned: call madrl grid plan -o {self.out} again, with the words of then"
            )


def load_plan(out: Path) -> Plan:
    """The plan of ``out``. Raises MadrlError when there is none."""
    file = out.absolute() / GRID / "plan.json"
    if not file.exists():
        raise MadrlError(f"{out} has no grid: declare one with madrl grid plan -o {out}")
    content = read_json(file)
    resolved = [Resolved(*facts.pop("resolved")) for facts in content["cells"]]
    content["cells"] = {Cell(**facts): found for facts, found in zip(content["cells"], resolved, strict=True)}
    return Plan(out.absolute(), **content)


def make_plan(plan: Plan, cells: Sequence[Cell], compose: Compose | None = None) -> Plan:
    """``plan`` with these cells, the warm starts that they wait for, and the resolved config of each; written to
    ``plan.file``. ``compose`` stands for ``composed``.

    Raises MadrlError for a config that does not compose, and while another process plans in this folder.
    """
    tasks = dict.fromkeys(cell.task for cell in cells)
    starts = [warm_start_cell(task) for task in tasks if plan.shared_recipe(task).starts_from_warm_start]
    recipes = {cell: plan.recipe(cell) for cell in (*starts, *cells)}
    keys = {cell: key_of(recipe) for cell, recipe in recipes.items()}
    file = plan.folder / "configs.json"
    with locked(plan.folder / "planning", f"another process plans in {plan.folder}: wait for it to end"):
        known = read_json(file) if file.exists() else {}
        missing = {key: recipes[cell] for cell, key in keys.items() if key not in known}
        with progress("resolving configs", len(missing)) as advance:
            for key, recipe in missing.items():
                known[key] = config_facts((compose or composed)(placeless(recipe)), recipe)
                write_json(file, known)
                advance(1)
        plan = replace(plan, cells={cell: Resolved(key, *known[key]) for cell, key in keys.items()})
        plan.save()
    return plan


def composed(recipe: Recipe) -> Mapping[str, Any]:
    """The recipe's resolved config, checked against the installed veRL, which this imports."""
    from omegaconf import OmegaConf

    from madrl.trainer.compose import compose
    from madrl.warm_start.run import resolved

    if recipe.is_warm_start:
        return resolved(recipe.hydra_overrides())
    config: Any = OmegaConf.to_container(compose(recipe.hydra_overrides()))
    return dict(config)


def placeless(recipe: Recipe) -> Recipe:
    """The recipe with fixed paths and name, and seed 0: its config says nothing of where a run lies, and the seeds of a
    setting share it."""
    model = recipe.model if recipe.model in ("", BASE) else "/model"
    return replace(recipe, out=Path("/out"), name="cell", seed=0, model=model)


def key_of(recipe: Recipe) -> str:
    """The hash of what the recipe's resolved config follows from."""
    files = [version("verl"), *_config_files(), repr(recipe.record)]
    return hash_of([*files, *placeless(recipe).hydra_overrides()])


@cache
def _config_files() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CONFIG_DIR.rglob("*.yaml"))]


def config_facts(config: Mapping[str, Any], recipe: Recipe) -> tuple[str, int | None]:
    """The hash of a resolved config, without NOT_DECIDING and the place of a task of one's own; and its steps."""
    text = json.dumps(config)
    if recipe.record.file:
        text = text.replace(recipe.record.spec, "TASK").replace(str(recipe.data), "DATA")
    plain: dict[str, Any] = json.loads(text)
    for path in NOT_DECIDING:
        *nodes, last = path.split(".")
        node = plain
        for name in nodes:
            node = node.get(name, {})
        node.pop(last, None)
    return hash_of(plain), config.get("trainer", {}).get("total_training_steps")


def models_of(options: Sequence[str], own_tasks: Iterable[str] = ()) -> dict[str, str]:
    """``[TASK=]PATH`` options as {task: model}; without a task it is every task's. Folders become absolute; BASE stays
    the word for the profile's own model. Raises MadrlError for a folder that is not there, and for an unknown task."""
    tasks = (*TASKS, *own_tasks)
    models: dict[str, str] = {}
    for option in options:
        task, equals, path = option.partition("=")
        if not (equals and task in tasks):
            if equals and "/" not in task and not Path(option).exists():
                raise MadrlError(f"--model {option}: there is no task {task!r} here: use one of {', '.join(tasks)}")
            task, path = "", option
        check_model(path)
        model = str(Path(path).absolute()) if path != BASE and Path(path).is_dir() else path
        models |= dict.fromkeys([task] if task else tasks, model)
    return models


def hash_of(value: Any) -> str:
    """SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
