"""Run cells as processes of this machine, a few at a time.

The slots are the folder's, not the process's: cells that an earlier grid left running, or that another one runs now,
take theirs. A cell is started at most once by one call, so that one that fails or is refused does not loop.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence

from madrl.errors import MadrlError
from madrl.files import waited_for
from madrl.grid.identity import Identity
from madrl.grid.ledger import CellState, Ledger, Standing, standing_of, standings_of
from madrl.grid.plan import Plan
from madrl.grid.supervise import NOT_RUN, last_line
from madrl.process import told_to_stop
from madrl.recipe import with_environment
from madrl.run import check_dataset, run_stages, shared_stages

POLL_S = 0.5
CLAIM_S = 300.0
"""How long a cell's process may take to get the cell's lock: on a busy machine an interpreter starts slowly."""


SUPERVISOR = ("-m", "madrl.grid.supervise")
"""What the interpreter is given to run one cell, before OUT and the cell's name."""


def prepare(plan: Plan, tasks: Sequence[str]) -> None:
    """Make what the cells of ``tasks`` share: their data, and the miniature models that the recipe would build. A warm
    start is a cell of its own.

    Before the first cell rather than in it, since the data are part of every cell's name, and two cells must not make
    them at once. Data that are there are made anew only where that is cheap, as in every recipe. Raises MadrlError when
    a stage fails."""
    for task in tasks:
        # The stages hold the lock as well, so that a grid that is killed now does not let another one in.
        with waited_for(plan.folder / "preparing"):
            recipe = with_environment(plan.shared_recipe(task))
            check_dataset(recipe)
            try:
                run_stages(shared_stages(recipe), plan.folder / "shared" / task)
            except SystemExit as failed:
                raise MadrlError(f"preparing {task} ended with exit code {failed.code}: see above") from None


def run(plan: Plan, identities: Sequence[Identity], slots: int, supervisor: Sequence[str] = SUPERVISOR) -> None:
    """Run the planned ones among ``identities``, ``slots`` at a time, until none is left that this call may start. It
    waits for those that others run, and goes on with them should they be interrupted.

    SIGINT and SIGTERM interrupt the cells that this call has started; SIGKILL leaves them running. Raises MadrlError
    when cells failed or were not run."""
    started: dict[str, subprocess.Popen[bytes]] = {}
    reported: set[str] = set()
    with told_to_stop(signal.SIGTERM, signal.SIGINT) as told:
        while not told:
            for name, child in started.items():
                if child.poll() is not None and name not in reported:
                    reported.add(name)
                    _report(plan, next(one for one in identities if one.run_name == name), child.returncode)
            standings = standings_of(plan.out, identities)
            waiting = [s for s in standings if s.state is CellState.PLANNED and s.run_name not in started]
            elsewhere = any(s.state is CellState.RUNNING for s in standings)
            if not waiting and len(reported) == len(started) and not elsewhere:
                break
            for standing in waiting:
                begun = None if told else start(plan, standing, slots, supervisor)
                if begun is None:
                    break
                started[standing.run_name] = begun
                done = sum(s.state is CellState.DONE for s in standings)
                _say(f"start  {standing.run_name}  ({done} of {len(standings)} done)")
            time.sleep(POLL_S)
        if told:
            _interrupt(list(started.values()))
            raise SystemExit(128 + told[0])
    states = Counter(standing.state for standing in standings_of(plan.out, identities))
    if set(states) - {CellState.DONE}:
        counts = ", ".join(f"{states[state]} {state}" for state in CellState if states[state])
        raise MadrlError(
            f"not every cell is done: {counts}; madrl grid status says why; after madrl grid retry, run runs one again"
        )
    _say(f"all {len(identities)} cells are done")


def start(
    plan: Plan, standing: Standing, slots: int, supervisor: Sequence[str] = SUPERVISOR
) -> "subprocess.Popen[bytes] | None":
    """Start the cell if a slot is free and nobody else has started it; None otherwise."""
    # One at a time among all grids of the folder, or two would take the same slot.
    with waited_for(plan.folder / "starting"):
        ledger = Ledger(plan.out, standing.run_name)
        # Whoever started the others.
        running = sum(Ledger(plan.out, lock.parent.name).is_held() for lock in (plan.folder / "cells").glob("*/lock"))
        if running >= slots or standing_of(plan.out, standing.identity).state is not CellState.PLANNED:
            return None
        ledger.describe(plan, standing.identity)
        with ledger.log.open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, *supervisor, str(plan.out), standing.run_name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + CLAIM_S
        while child.poll() is None and not ledger.is_held() and time.monotonic() < deadline:
            time.sleep(0.05)
        return child


def _report(plan: Plan, identity: Identity, exit_code: int) -> None:
    standing = standing_of(plan.out, identity)
    word = {CellState.DONE: "done", CellState.FAILED: "FAILED"}.get(standing.state, "left")
    # An older note, say of an interruption, is not the reason of a cell that was not run.
    not_run = word == "left" and exit_code == NOT_RUN
    note = last_line(Ledger(plan.out, standing.run_name).log) if not_run else standing.note
    _say(f"{word:6} {standing.run_name}  {standing.seconds / 60:.1f} min{f': {note}' if note else ''}")


def _interrupt(started: Sequence["subprocess.Popen[bytes]"]) -> None:
    """End the cells that run, and wait for them: each gives its recipe the time to end well."""
    alive = [child for child in started if child.poll() is None]
    if alive:
        _say(f"interrupting {len(alive)} running cells, half a minute at most")
    for child in alive:
        child.terminate()
    for child in alive:
        child.wait()


def _say(text: str) -> None:
    print(time.strftime("[%H:%M:%S]"), text, flush=True)
