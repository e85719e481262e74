"""Hand cells to a scheduler that exists already: Slurm, a Ray cluster, SkyPilot. Nothing of theirs is imitated here:
each gets the same command per cell (madrl.grid.supervise) in its own form, and decides when and where it runs.

OUT must be a file system that the nodes share, at the same path and with working locks (NFS 4, GPFS, Lustre with
``-o flock``), and so must the checkout. NFS 3 keeps the lock of a node that died, whose cell then stays running until
the node is back; NFS 4 drops it after its lease. A cell that was submitted twice runs once: the second finds the lock
held, or the cell ended. States are read from OUT, so that ``madrl grid status`` needs no scheduler.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.ledger import Standing
from madrl.grid.local import supervisor
from madrl.grid.plan import Plan
from madrl.run import CHECKOUT

FORWARDED = ("VENV", "STACK", "PYTHONPATH", "NNODES", "DATASET", "SANDBOX_URL", "WANDB")
"""Variables of the recipes that Ray jobs get; Slurm passes on the whole environment. No secrets: Ray shows them."""

RAY_SLOT = "madrl_cell"
"""A resource of the Ray cluster, for which jobs wait: without it every job would start, and veRL fails when its GPUs
are taken."""

GRACE_S = 120
"""Slurm's warning before a time limit, for the cell to end as interrupted."""


class Submission(NamedTuple):
    """What a backend needs: files to write, and commands to call."""

    files: dict[Path, str]
    commands: list[list[str]]
    """To be called here."""
    advice: str = ""
    """What is left to the user."""


def slurm(plan: Plan, cells: Sequence[Standing], slots: int | None) -> Submission:
    """One job array: a cell on one node each, ``slots`` at once. Partition, account, time and the like come from
    sbatch's own variables (SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT, SBATCH_GPUS_PER_NODE).

    A warm start among ``cells`` is a job of its own, and the cells that start from it an array that waits for its end.
    """
    _check_stack(plan)
    folder = plan.folder / "slurm"
    starts = {cell.run_name: cell for cell in cells if cell.identity.cell.is_warm_start}
    free = [c for c in cells if c.run_name not in starts and c.identity.waits_for not in starts]
    files = {folder / "array.sbatch": _array(plan, free, slots)} if free else {}
    commands = [["sbatch", str(file)] for file in files]
    lines = []
    for name, start in starts.items():
        before, after = (folder / f"{start.identity.cell.task}{part}.sbatch" for part in ("_warm_start", ""))
        files[before] = _array(plan, [start], slots)
        lines.append(f"before=$(sbatch --parsable {shlex.quote(str(before))})")
        if then := [cell for cell in cells if cell.identity.waits_for == name]:
            files[after] = _array(plan, then, slots)
            # Whatever its end: a cell whose warm start is not done says so and ends at once.
            lines.append(f'sbatch --dependency="afterany:${{before%%;*}}" {shlex.quote(str(after))}')
    if lines:
        script = folder / "submit.sh"
        files[script] = "\n".join(["#!/usr/bin/env bash", "set -euo pipefail", *lines, ""])
        commands.append(["bash", str(script)])
    return Submission(files, commands)


def _array(plan: Plan, cells: Sequence[Standing], slots: int | None) -> str:
    limit = f"%{slots}" if slots else ""
    needs = "--gpus-per-node=8\n#SBATCH --exclusive" if plan.profile == "gpu" else "--cpus-per-task=2"
    program = shlex.join(supervisor(plan, "")[:-1])
    names = "\n".join(f"  {standing.run_name}" for standing in cells)
    return f"""#!/bin/bash
# {len(cells)} cells of {plan.file}, written by madrl grid run --backend slurm.
#SBATCH --job-name=madrl-grid
#SBATCH --array=0-{len(cells) - 1}{limit}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH {needs}
#SBATCH --requeue
#SBATCH --signal=B:TERM@{GRACE_S}
#SBATCH --output={plan.folder / "slurm"}/%A_%a.log
#SBATCH --open-mode=append
cells=(
{names}
)
cd {shlex.quote(str(CHECKOUT))}
exec {program} "${{cells[$SLURM_ARRAY_TASK_ID]}}"
"""


def ray(plan: Plan, cells: Sequence[Standing], slots: int | None) -> Submission:
    """One Ray job for each cell, on the cluster of RAY_API_SERVER_ADDRESS (http://HEAD:8265), which trains there on
    NNODES nodes. A cluster trains one run at a time (``trainer.cluster.check_alone``), so its head has one slot:
    ``ray start --head --resources '{"madrl_cell": 1}'``, with RAY_JOB_START_TIMEOUT_SECONDS above the time that the
    last one waits."""
    if slots is not None:
        raise MadrlError(
            f"-n does not hold for ray: a cluster trains one run at a time; start its head with "
            f"--resources '{{\"{RAY_SLOT}\": 1}}'"
        )
    if plan.profile == "tiny" and plan.command is None:
        raise MadrlError("the tiny profile brings a Ray of its own for each run: use another backend")
    _check_stack(plan)
    environment = {"NNODES": "1"} | {name: os.environ[name] for name in FORWARDED if name in os.environ}
    # veRL's driver has variables of its own for its actors, some by the same name, which Ray refuses otherwise.
    environment["RAY_OVERRIDE_JOB_RUNTIME_ENV"] = "1"
    commands = []
    for standing in cells:
        command = ["ray", "job", "submit", "--no-wait"]
        # Ray takes an id only once, also of a job that was stopped before it began.
        command += ["--submission-id", f"{standing.run_name}-{int(time.time())}"]
        command += ["--entrypoint-resources", json.dumps({RAY_SLOT: 1})]
        command += ["--runtime-env-json", json.dumps({"env_vars": environment})]
        commands.append([*command, "--", *supervisor(plan, standing.run_name)])
    return Submission({}, commands)


def skypilot(plan: Plan, cells: Sequence[Standing], slots: int | None) -> Submission:
    """A task file, and a script that launches it once for each cell as a managed job. OUT is a bucket there; it has no
    locks between machines, so that SkyPilot alone sees to it that a job runs once."""
    if slots is not None:
        raise MadrlError("-n does not hold for skypilot, which limits its jobs itself")
    outside = sorted(
        model for model in plan.models.values() if Path(model).is_dir() and plan.out not in Path(model).parents
    )
    if outside:
        raise MadrlError(f"model {outside[0]} is not below {plan.out}, which is all that the machines see of this one")
    folder = plan.folder / "skypilot"
    stack = "gpu" if plan.profile == "gpu" else "cpu"
    resources: dict[str, Any] = {"accelerators": "H100:8"} if stack == "gpu" else {"cpus": "2+"}
    enter = f"set -e\nexport STACK={stack}\n. recipes/environment.sh\n"
    # The machines' own Python is often 3.10. Ours, since how Python writes down our modules, and with it every cell's
    # code hash, differs between its versions.
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    uv = "~/.local/bin/uv"
    own_python = f"curl -LsSf https://astral.sh/uv/install.sh | sh\n{uv} python install {python}\n"
    own_python += f"PYTHON=$({uv} python find {python})\nexport PYTHON\n"
    task = {
        "name": "madrl-grid",
        "workdir": str(CHECKOUT),
        "resources": resources,
        "envs": {"CELL": None, "BUCKET": None},
        "file_mounts": {str(plan.out): {"source": "${BUCKET}", "mode": "MOUNT_CACHED"}},
        "setup": f"{enter}{own_python}bash recipes/install.sh\n",
        "run": f'{enter}exec "$VENV/bin/python" -m madrl.grid.supervise {shlex.quote(str(plan.out))} "$CELL"\n',
    }
    file, script = folder / "cell.yaml", folder / "launch.sh"
    names = "\n".join(f"  {standing.run_name}" for standing in cells)
    launch = f"""#!/usr/bin/env bash
# {len(cells)} cells of {plan.file}, written by madrl grid run --backend skypilot.
#   bash launch.sh s3://BUCKET      a bucket that holds a copy of {plan.out}
set -euo pipefail
bucket=${{1:?name the bucket that holds a copy of {plan.out}}}
cells=(
{names}
)
for cell in "${{cells[@]}}"; do
  sky jobs launch --yes --async --name "$cell" --env CELL="$cell" --env BUCKET="$bucket" {shlex.quote(str(file))}
done
"""
    return Submission({file: _yaml(task), script: launch}, [], f"bash {script} s3://BUCKET")


def _check_stack(plan: Plan) -> None:
    """Raises MadrlError when the nodes would get the stack of a machine without GPUs for runs on GPUs, which
    recipes/grid.sh finds for itself where it is called, and every cell inherits."""
    if plan.profile == "gpu" and plan.command is None and os.environ.get("STACK") == "cpu":
        raise MadrlError("STACK=cpu, which is this machine's, is not the nodes': call STACK=gpu bash recipes/grid.sh")


BACKENDS: dict[str, Callable[[Plan, Sequence[Standing], int | None], Submission]] = {
    "slurm": slurm,
    "ray": ray,
    "skypilot": skypilot,
}


def submit(submission: Submission) -> None:
    """Write the files and call the commands. Raises MadrlError for a program that is not there, or that fails."""
    for path, text in submission.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        print(path)
    for command in submission.commands:
        if shutil.which(command[0]) is None:
            raise MadrlError(f"{command[0]} is not on the PATH of this machine: submit from one that has it")
        if (done := subprocess.run(command, check=False)).returncode:
            raise MadrlError(f"exit code {done.returncode} from {shlex.join(command)}")
    if submission.advice:
        print(submission.advice)


def _yaml(content: dict[str, Any]) -> str:
    import yaml

    class Readable(yaml.SafeDumper):
        """Shell scripts line by line."""

    def as_block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Readable.add_representer(str, as_block)
    text: str = yaml.dump(content, Dumper=Readable, sort_keys=False)
    return text
