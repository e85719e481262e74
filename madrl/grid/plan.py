"""What a grid is: its cells, and what all of them share. Written once by ``madrl grid plan``, read by the rest."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.cells import Cell, as_json
from madrl.recipe import BASE, Recipe
from madrl.tasks import TASKS

GRID = "grid"
"""The folder in OUT where the grid keeps its own files."""


@dataclass(frozen=True)
class Plan:
    """The cells of one OUT folder, and how they are run."""

    out: Path
    """Absolute: cells may start in another folder."""
    cells: tuple[Cell, ...]
    profile: str
    models: dict[str, str]
    """Task -> the model that its runs start from, in place of the profile's."""
    overrides: tuple[str, ...] = ()
    """Hydra overrides for every cell."""
    command: tuple[str, ...] | None = None
    """What is run in place of ``madrl run``, with the recipe's variables in its environment."""

    @property
    def folder(self) -> Path:
        return self.out / GRID

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    def recipe(self, cell: Cell, name: str = "", model: str = "") -> Recipe:
        """The recipe of ``cell``, its run folder called ``name``. ``model`` is what it starts from where the plan names
        none."""
        if cell.is_warm_start:
            trained = Recipe(cell.task, "uniform", "rkl", self.profile, out=self.out, overrides=self.overrides)
            return replace(trained.warm_start, name=name)
        variables = cell.variables()
        return Recipe(
            cell.task,
            variables["TARGET"],
            variables["DIVERGENCE"],
            self.profile,
            cell.seed,
            form=variables.get("FORM", ""),
            alpha=variables.get("ALPHA", ""),
            model=self.models.get(cell.task) or model,
            out=self.out,
            name=name,
            overrides=self.overrides,
        )

    def has_warm_start(self, task: str) -> bool:
        """Whether the cells of ``task`` start from the model that its warm start makes."""
        recipe = Recipe(task, "uniform", "rkl", self.profile, model=self.models.get(task, ""))
        return self.command is None and recipe.starts_from_warm_start

    def shared(self) -> dict[str, Any]:
        """What holds for every cell, as a JSON object."""
        return {
            "profile": self.profile,
            "models": self.models,
            "overrides": self.overrides,
            "command": self.command,
        }

    def save(self) -> None:
        """Write plan.json, in place of one that is there."""
        content = {**self.shared(), "cells": [as_json(cell) for cell in self.cells]}
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.file) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load_plan(out: Path) -> Plan:
    """The plan of ``out``. Raises MadrlError when there is none."""
    out = out.absolute()
    file = out / GRID / "plan.json"
    if not file.exists():
        raise MadrlError(f"{out} has no grid: declare one with madrl grid plan -o {out}")
    content = json.loads(file.read_text(encoding="utf-8"))
    return plan_of(out, [Cell(**cell) for cell in content["cells"]], content)


def plan_of(out: Path, cells: Sequence[Cell], shared: Mapping[str, Any]) -> Plan:
    """The plan of ``cells`` with what ``Plan.shared`` returned."""
    command = shared["command"]
    return Plan(
        out,
        tuple(cells),
        shared["profile"],
        shared["models"],
        tuple(shared["overrides"]),
        None if command is None else tuple(command),
    )


def models_of(options: Sequence[str]) -> dict[str, str]:
    """``[TASK=]PATH`` options as {task: model}; without a task it is every task's. Folders become absolute; BASE stays
    the word for the profile's own model."""
    models: dict[str, str] = {}
    for option in options:
        task, equals, path = option.partition("=")
        if not (equals and task in TASKS):
            task, path = "", option
        model = str(Path(path).absolute()) if path != BASE and Path(path).is_dir() else path
        models |= dict.fromkeys([task] if task else TASKS, model)
    return models
