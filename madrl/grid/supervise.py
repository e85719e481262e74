"""Run one cell to its end and write down how it ended. Every backend starts cells with it:

    python -m madrl.grid.supervise OUT RUN

It holds the cell's lock, and so does every process below it, whoever of them is killed: a cell that still runs is never
taken for one that does not. A grid that is killed leaves it running, and its end is recorded. When it is killed itself,
the recipe ends with it, so that one that comes to its end has always somebody to record that; whatever outlives it all
the same holds the lock. SIGTERM and SIGINT interrupt the cell.

Exit codes: the recipe's own; 75 when it was interrupted; 2 when it was not run.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from madrl.errors import MadrlError
from madrl.grid.cells import Cell
from madrl.grid.identity import Identity, check_unchanged
from madrl.grid.ledger import Ledger, State, is_ready, state_of
from madrl.grid.plan import Plan, load_plan, plan_of
from madrl.process import PATIENCE_S, end_with_parent, told_to_stop
from madrl.recipe import WARM_START
from madrl.run import madrl_command

INTERRUPTED = 75
"""EX_TEMPFAIL: the cell goes on when it is started again."""

NOT_RUN = 2
"""There was nothing to run, or it may not be run now: the last line of the cell's log says why."""

KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What ends a recipe from outside. A crash (SIGSEGV, SIGABRT) is a failure."""

REASON_CHARACTERS = 1000
TAIL_BYTES = 1 << 14

OWN_VARIABLES = ("TARGET", "DIVERGENCE", "FORM", "ALPHA", "LAMBDA_G", "ENTROPY", "MODEL", "DRY_RUN")
"""Variables of madrl.run that decide a run: not to be inherited from whoever starts the grid."""


def command_of(plan: Plan, cell: Cell) -> list[str]:
    """What runs a cell, its variables in the environment."""
    if plan.command is not None:
        return [*plan.command, *plan.overrides]
    if cell.is_warm_start:
        return madrl_command("run", cell.task, WARM_START, *plan.recipe(cell).overrides)
    variables = cell.variables()
    return madrl_command("run", cell.task, variables["TARGET"], variables["DIVERGENCE"], *plan.overrides)


def variables_of(plan: Plan, identity: Identity) -> dict[str, str]:
    """The variables that make the recipe this cell in this folder."""
    cell = identity.cell
    where = {"PROFILE": plan.profile, "OUT": str(plan.out), "NAME": identity.run_name}
    model = plan.models.get(cell.task)
    if identity.waits_for is not None:
        model = str(plan.out / identity.waits_for / "model")
    return {**cell.variables(), **where, **({"MODEL": model} if model else {})}


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Our environment with ``variables``, and without any other that would decide the run."""
    return {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES} | dict(variables)


def supervise(out: Path, run_name: str) -> int:
    """Run the cell, unless there is nothing to run; returns the exit code. Raises MadrlError when another process runs
    it, and when what it was planned with has changed."""
    facts = Ledger(load_plan(out), run_name).read_facts()
    cell = Cell(**facts["parts"]["cell"])
    plan = plan_of(out.absolute(), [cell], facts["plan"])
    ledger = Ledger(plan, run_name)
    with ledger.held():
        state, _ = state_of(plan, ledger, ledger.read())
        if state in (State.DONE, State.FAILED):
            raise MadrlError(f"{run_name} is {state} already: madrl grid retry lets a failed cell run again")
        identity = check_unchanged(plan, facts["parts"])
        if not is_ready(plan, identity):
            raise MadrlError(f"{run_name} starts from what {identity.waits_for} makes, which is not done")
        return _run(ledger, command_of(plan, cell), variables_of(plan, identity))


def _run(ledger: Ledger, command: Sequence[str], variables: dict[str, str]) -> int:
    offset = ledger.log.stat().st_size if ledger.log.exists() else 0
    with told_to_stop(signal.SIGTERM, signal.SIGINT) as told, ledger.log.open("ab") as log:
        ledger.record("started", pid=os.getpid())
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment_of(variables),
                close_fds=False,  # the lock
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )
        except OSError as error:
            ledger.record("ended", exit=127, reason=str(error))
            return 127
        while child.poll() is None and not told:
            time.sleep(0.1)
        # A recipe that came to its end is done, whoever wanted to stop it at that moment.
        by = None if child.poll() == 0 else told[0] if told else _killed_by(child.returncode)
        _end_group(child, PATIENCE_S if by else 0.0)
        # Still deaf to signals, or a second one would take the end for a kill.
        if by:
            ledger.record("interrupted", reason=f"interrupted by {by.name}")
            return INTERRUPTED
        reason = last_line(ledger.log, offset) if child.returncode else ""
        ledger.record("ended", exit=child.returncode, reason=reason or f"exit code {child.returncode}")
        return child.returncode


def _killed_by(exit_code: int) -> signal.Signals | None:
    """The signal that ended the recipe's shell, or the command that the shell was at; None when it ended by itself."""
    number = -exit_code if exit_code < 0 else exit_code - 128
    return signal.Signals(number) if number in KILLS else None


def _end_group(child: subprocess.Popen[bytes], patience_s: float) -> None:
    """End the recipe and what is left of its group, politely for ``patience_s`` first."""
    deadline = time.monotonic() + patience_s
    with contextlib.suppress(ProcessLookupError):
        if patience_s:
            os.killpg(child.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            child.poll()  # or it stays in its group as a zombie
            os.killpg(child.pid, 0)
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def last_line(log: Path, offset: int = 0) -> str:
    """The last line that is no empty one in a cell's log, from ``offset`` on."""
    with log.open("rb") as file:
        file.seek(max(offset, log.stat().st_size - TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:REASON_CHARACTERS]


def main(argv: Sequence[str]) -> int:
    """The process; ``argv`` is OUT and RUN."""
    try:
        out, run_name = argv
        return supervise(Path(out), run_name)
    except MadrlError as error:
        print(f"madrl: error: {error}", file=sys.stderr)
        return NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
