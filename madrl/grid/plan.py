"""What a grid is: its cells, and what all of them share. Written once by ``madrl grid plan``, read by the rest."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.cells import REAL_TASKS, SYNTHETIC_TASKS, Cell, as_json

PROFILES = ("gpu", "tiny")
GRID = "grid"
"""The folder in OUT where the grid keeps its own files."""

RECIPES = Path(__file__).parents[2] / "recipes"
RECIPE = RECIPES / "body.sh"


@dataclass(frozen=True)
class Plan:
    """The cells of one OUT folder, and how they are run."""

    out: Path
    """Absolute: recipes change into their checkout."""
    cells: tuple[Cell, ...]
    profile: str
    models: dict[str, str]
    """Task -> the model that its runs start from, in place of the profile's."""
    overrides: tuple[str, ...] = ()
    """Hydra overrides for every cell."""
    command: tuple[str, ...] | None = None
    """What is run in place of the recipe, with the recipe's variables in its environment."""

    @property
    def folder(self) -> Path:
        return self.out / GRID

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

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
    """``[TASK=]PATH`` options as {task: model}; without a task it is every task's. Folders become absolute."""
    tasks = (*REAL_TASKS, *SYNTHETIC_TASKS)
    models: dict[str, str] = {}
    for option in options:
        task, equals, path = option.partition("=")
        if not (equals and task in tasks):
            task, path = "", option
        model = str(Path(path).absolute()) if Path(path).is_dir() else path
        models |= dict.fromkeys([task] if task else tasks, model)
    return models
