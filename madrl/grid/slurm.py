"""Hand cells to Slurm, which decides when and where each runs.

OUT must be a file system that the nodes share, at the same path and with working locks (NFS 4, GPFS, Lustre with
``-o flock``), and so must the checkout. NFS 3 keeps the lock of a node that died, whose cell then stays running until
the node is back; NFS 4 drops it after its lease. A cell that was submitted twice runs once: the second finds the lock
held, or the cell ended. States are read from OUT, so that ``madrl grid status`` needs no scheduler.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grid.ledger import CellState, Ledger, Standing
from madrl.grid.local import SUPERVISOR
from madrl.grid.plan import Plan
from madrl.install import installed_stack

GRACE_S = 120
"""Slurm's warning before a time limit, for the cell to end as interrupted."""


def submit(
    plan: Plan,
    cells: Sequence[Standing],
    slots: int | None,
    dry_run: bool = False,
    supervisor: Sequence[str] = SUPERVISOR,
) -> None:
    """Submit the planned ones among ``cells``, and those that wait for a warm start among them, or with ``dry_run``
    print the scripts. Raises MadrlError when sbatch is not there, or fails."""
    planned = {standing.run_name for standing in cells if standing.state is CellState.PLANNED}
    ready = [s for s in cells if s.run_name in planned or s.identity.waits_for in planned]
    if waiting := sum(s.state is CellState.WAITING for s in cells) - (len(ready) - len(planned)):
        print(f"{waiting} cells wait for a warm start that is not done: call this again when it is")
    if not ready:
        print("nothing else is planned: see madrl grid status")
        return
    files = scripts(plan, ready, slots, supervisor)
    if dry_run:
        print("\n".join(f"# {path}\n{text}" for path, text in files.items()))
        return
    if shutil.which("sbatch") is None:
        raise MadrlError("sbatch is not on the PATH of this machine: submit from one that has it")
    for standing in ready:
        Ledger(plan.out, standing.run_name).describe(plan, standing.identity)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        print(path)
    if (done := subprocess.run(["bash", str(path)], check=False)).returncode:
        raise MadrlError(f"exit code {done.returncode} from bash {path}")


def scripts(
    plan: Plan, cells: Sequence[Standing], slots: int | None, supervisor: Sequence[str] = SUPERVISOR
) -> dict[Path, str]:
    """The files to submit with, the last of which submits the others: job arrays of a cell on one node each, ``slots``
    of each array at once. Partition, account, time and the like come from sbatch's own variables (SBATCH_PARTITION,
    SBATCH_ACCOUNT, SBATCH_TIMELIMIT, SBATCH_GPUS_PER_NODE).

    A warm start among ``cells`` is a job of its own, and the cells that start from it an array that waits for its end.
    Raises MadrlError when the nodes would run cells for GPUs in this environment, and it has the CPU's stack.
    """
    if plan.profile == "gpu" and installed_stack() == "cpu":
        raise MadrlError(f"{sys.prefix} has the CPU's stack: call this in an environment after madrl install gpu")
    folder = plan.folder / "slurm"
    starts = {cell.run_name: cell for cell in cells if cell.identity.cell.is_warm_start}
    free = [c for c in cells if c.run_name not in starts and c.identity.waits_for not in starts]
    files: dict[Path, str] = {}
    lines = ["#!/usr/bin/env bash", "set -euo pipefail"]

    def add(name: str, cells: Sequence[Standing]) -> str:
        path = folder / f"{name}.sbatch"
        files[path] = _array(plan, cells, slots, supervisor)
        return shlex.quote(str(path))

    if free:
        lines.append(f"sbatch {add('array', free)}")
    for name, start in starts.items():
        task = start.identity.cell.task
        lines.append(f"before=$(sbatch --parsable {add(f'{task}_warm_start', [start])})")
        if then := [cell for cell in cells if cell.identity.waits_for == name]:
            # Whatever its end: a cell whose warm start is not done says so and ends at once.
            lines.append(f'sbatch --dependency="afterany:${{before%%;*}}" {add(task, then)}')
    return {**files, folder / "submit.sh": "\n".join([*lines, ""])}


def _array(plan: Plan, cells: Sequence[Standing], slots: int | None, supervisor: Sequence[str]) -> str:
    limit = f"%{slots}" if slots else ""
    needs = "--gpus-per-node=8\n#SBATCH --mem=0\n#SBATCH --exclusive" if plan.profile == "gpu" else "--cpus-per-task=2"
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
#SBATCH --output={shlex.quote(f"{plan.folder}/slurm/%A_%a.log")}
#SBATCH --open-mode=append
cells=(
{names}
)
cell=${{cells[$SLURM_ARRAY_TASK_ID]}}
cd {shlex.quote(str(Path.cwd()))}
exec {shlex.join([sys.executable, *supervisor, str(plan.out)])} "$cell" \\
  >>{shlex.quote(str(plan.folder / "cells"))}/"$cell"/recipe.log 2>&1
"""
