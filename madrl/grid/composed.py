"""The hashes of the cells' resolved configs.

Composing imports veRL (seconds) and takes a second a config, so a child process does it, which gives the memory back,
and the hashes are kept in OUT/grid/configs.json under everything that they depend on. The paths in a config are set to
fixed ones before it is composed, and its seed to 0: what is hashed says nothing of where a run lies, and the cells of
one setting share a config.

    python -m madrl.grid.composed     one JSON list of overrides a line on stdin, one JSON object a line on stdout
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.cells import Cell
from madrl.grid.plan import Plan
from madrl.grid.source import verl_version
from madrl.source import PACKAGE

NOT_DECIDING = (
    "ray_kwargs",
    "trainer.logger",
    "trainer.project_name",
    "trainer.experiment_name",
    "trainer.save_freq",
    "trainer.max_actor_ckpt_to_keep",
)
"""Config keys that change nothing about what a run measures."""

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
    steps: int


def overrides_of(plan: Plan, cell: Cell) -> list[str]:
    """What recipes/body.sh passes to ``madrl train`` for ``cell``, with fixed paths, name and seed."""
    variables = cell.variables()
    overrides = [f"task={cell.task}", f"profile={plan.profile}", f"madrl.target={variables['TARGET']}"]
    overrides += [f"madrl.reward.divergence={variables['DIVERGENCE']}", "seed=0", "paths.run='/run'"]
    overrides += ["paths.data='/data'", "trainer.experiment_name=cell"]
    if "FORM" in variables:
        overrides.append(f"madrl.reward.form={variables['FORM']}")
    if "ALPHA" in variables:
        overrides.append(f"madrl.reward.alpha={variables['ALPHA']}")
    if plan.profile == "tiny" or cell.task in plan.models:
        overrides.append("paths.model='/model'")
    if plan.profile == "tiny" and cell.task.startswith("synthetic_"):
        overrides.append("data.val_files='/data/train_probe.parquet'")
    return [*overrides, *plan.overrides]


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
    from madrl.generation.progress import progress

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
    return Config(digest, int(config["trainer"]["total_training_steps"]))


def main() -> None:
    """The child process."""
    from omegaconf import OmegaConf

    from madrl.trainer.compose import compose

    for line in sys.stdin:
        try:
            config: Any = OmegaConf.to_container(compose(json.loads(line)))
            answer = hash_of(config)._asdict()
        except MadrlError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
