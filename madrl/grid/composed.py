"""The hashes of the cells' resolved configs.

Composing imports veRL (seconds) and takes a second a config, so a child process does it, which gives the memory back,
and the hashes are kept in OUT/grid/configs.json under everything that they depend on. The paths in a config are set to
fixed ones before it is composed, and its seed to 0: what is hashed says nothing of where a run lies, and the cells of
one setting share a config.

    python -m madrl.grid.composed     one JSON list a line on stdin, ``train`` or ``warm-start`` and its overrides; one
                                      JSON object a line on stdout
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.cells import Cell
from madrl.grid.plan import Plan
from madrl.grid.source import verl_version
from madrl.recipe import BASE
from madrl.run_folder import NOT_DECIDING
from madrl.source import PACKAGE

OWN_KEYS = (
    "task",
    "profile",
    "seed",
    "madrl.target",
    "madrl.reward.divergence",
    "madrl.reward.form",
    "madrl.reward.alpha",
    "paths.run",
    "paths.data",
    "trainer.experiment_name",
)
"""Config keys that a cell sets itself: the same for all, cells of other names would be one run."""


class Config(NamedTuple):
    """What the grid needs of a resolved config."""

    sha256: str
    steps: int | None
    """Of the training; None for a warm start."""


def overrides_of(plan: Plan, cell: Cell) -> list[str]:
    """``train`` or ``warm-start``, and the overrides that ``madrl run`` passes on to it for ``cell``, with fixed paths,
    name and seed."""
    models = {task: model if model == BASE else "/model" for task, model in plan.models.items()}
    recipe = replace(plan, out=Path("/out"), models=models).recipe(cell, name="cell")
    return ["warm-start" if cell.is_warm_start else "train", *replace(recipe, seed=0).hydra_overrides()]


def configs_of(plan: Plan, cells: Iterable[Cell]) -> dict[Cell, Config]:
    """The config of each cell; those that are not in OUT/grid/configs.json are composed and added to it.

    Raises MadrlError for a config that does not compose."""
    file = plan.folder / "configs.json"
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    state = config_state()
    keys = {cell: _key(state, overrides_of(plan, cell)) for cell in cells}
    missing = {key: overrides_of(plan, cell) for cell, key in keys.items() if key not in known}
    if missing:
        known |= {key: found._asdict() for key, found in _compose_in_child(missing).items()}
        plan.folder.mkdir(parents=True, exist_ok=True)
        with replacing(file) as unfinished:
            unfinished.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return {cell: Config(**known[key]) for cell, key in keys.items()}


def config_state() -> str:
    """What a resolved config depends on beside its overrides: our yaml files and the installed veRL."""
    digest = hashlib.sha256(verl_version().encode())
    for path in sorted((PACKAGE / "config").rglob("*.yaml")):
        digest.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _key(state: str, overrides: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([state, *overrides]).encode()).hexdigest()


def _compose_in_child(missing: Mapping[str, Sequence[str]]) -> dict[str, Config]:
    from madrl.progress import progress

    command = [sys.executable, "-m", "madrl.grid.composed"]
    found: dict[str, Config] = {}
    # What veRL and its dependencies print when they are imported is shown only when the child fails.
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as child,
        progress("resolving configs", len(missing), 0) as advance,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.writelines(json.dumps(overrides) + "\n" for overrides in missing.values())
        child.stdin.close()
        answers = (json.loads(line) for line in child.stdout if line.startswith("{"))
        for key, answer in zip(missing, answers, strict=False):
            if "error" in answer:
                child.kill()
                raise MadrlError(f"the config of {' '.join(missing[key])}: {answer['error']}")
            found[key] = Config(**answer)
            advance(1)
    if len(found) != len(missing):
        raise MadrlError(
            f"composing configs ended with exit code {child.returncode}: is veRL installed (madrl doctor)?"
        )
    return found


def hash_of(config: Mapping[str, Any]) -> Config:
    """The hash of a resolved config, without NOT_DECIDING."""
    plain: dict[str, Any] = json.loads(json.dumps(config))
    for path in NOT_DECIDING:
        *nodes, last = path.split(".")
        node = plain
        for name in nodes:
            node = node.get(name, {})
        node.pop(last, None)
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    return Config(digest, config.get("trainer", {}).get("total_training_steps"))


def main() -> None:
    """The child process."""
    from omegaconf import OmegaConf

    from madrl.trainer.compose import compose
    from madrl.warm_start.run import resolved

    for line in sys.stdin:
        command, *overrides = json.loads(line)
        try:
            config: Any = resolved(overrides) if command == "warm-start" else OmegaConf.to_container(compose(overrides))
            answer = hash_of(config)._asdict()
        except MadrlError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
