"""Run cells as processes of this machine, a few at a time.

The slots are the folder's, not the process's: cells that an earlier grid left running, or that another one runs now,
take theirs. A cell is started at most once by one call, so that one that fails or is refused does not loop.
"""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from madrl.errors import MadrlError
from madrl.files import locked, waited_for
from madrl.grid.identity import Identity, shared_recipe
from madrl.grid.ledger import Ledger, Standing, State, is_ready, standing_of, standings_of
from madrl.grid.plan import Plan
from madrl.grid.supervise import NOT_RUN, last_line
from madrl.process import told_to_stop
from madrl.run import run_stages, shared_stages

POLL_S = 0.5
CLAIM_S = 300.0
"""How long a cell's process may take to get the cell's lock: on a busy machine an interpreter starts slowly."""


def supervisor(plan: Plan, run_name: str) -> list[str]:
    """The command that runs one cell, for every backend."""
    return [sys.executable, "-m", "madrl.grid.supervise", str(plan.out), run_name]


def prepare(plan: Plan, tasks: Sequence[str], dataset: str = "") -> None:
    """Make what the cells of ``tasks`` share: their data, and the miniature models that the recipe would build. A warm
    start is a cell of its own.

    Before the first cell rather than in it, since the data are part of every cell's name, and two cells must not make
    them at once. Data that are there are made anew only where that is cheap, as in every recipe; ``dataset`` is where
    they are made from, as in ``Recipe``. Raises MadrlError when a stage fails. A command of one's own prepares what it
    needs itself."""
    if plan.command is not None:
        return
    for task in tasks:
        # The stages hold the lock as well, so that a grid that is killed now does not let another one in.
        with waited_for(plan.folder / "preparing"):
            try:
                recipe = replace(shared_recipe(plan, task), dataset=dataset)
                run_stages(shared_stages(recipe), plan.folder / "shared" / task)
            except SystemExit as failed:
                raise MadrlError(f"preparing {task} ended with exit code {failed.code}: see above") from None


def run(plan: Plan, identities: Sequence[Identity], slots: int) -> None:
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
                    _report(plan, identities, name, child.returncode)
            standings = standings_of(plan, identities)
            waiting = [
                s
                for s in standings
                if s.state is State.PLANNED and s.run_name not in started and is_ready(plan, s.identity)
            ]
            elsewhere = any(s.state is State.RUNNING for s in standings)
            if not waiting and len(reported) == len(started) and not elsewhere:
                break
            for standing in waiting:
                begun = None if told else _start(plan, standing, slots)
                if begun is None:
                    break
                started[standing.run_name] = begun
                done = sum(s.state is State.DONE for s in standings)
                _say(f"start  {standing.run_name}  ({done} of {len(standings)} done)")
            time.sleep(POLL_S)
        if told:
            _interrupt(list(started.values()))
            raise SystemExit(128 + told[0])
    _check_end(standings_of(plan, identities))


def _start(plan: Plan, standing: Standing, slots: int) -> "subprocess.Popen[bytes] | None":
    """Start the cell if a slot is free and nobody else has started it; None otherwise."""
    with contextlib.ExitStack() as starting:
        try:
            # One at a time among all grids of the folder, or two would take the same slot.
            starting.enter_context(locked(plan.folder / "starting", "busy"))
        except MadrlError:
            return None
        ledger = Ledger(plan, standing.run_name)
        if len(running(plan)) >= slots or standing_of(plan, standing.identity).state is not State.PLANNED:
            return None
        ledger.describe(standing.identity)
        with ledger.log.open("ab") as log:
            child = subprocess.Popen(
                supervisor(plan, standing.run_name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + CLAIM_S
        while child.poll() is None and not ledger.is_held() and time.monotonic() < deadline:
            time.sleep(0.05)
        return child


def running(plan: Plan) -> list[str]:
    """The cells of the folder that run now, whoever started them."""
    folders = (plan.folder / "cells").glob("*/lock")
    return [path.parent.name for path in folders if Ledger(plan, path.parent.name).is_held()]


def _report(plan: Plan, identities: Sequence[Identity], name: str, exit_code: int) -> None:
    identity = next(identity for identity in identities if identity.run_name == name)
    standing = standing_of(plan, identity)
    minutes = f"{standing.seconds / 60:.1f} min"
    match standing.state:
        case State.DONE:
            _say(f"done   {name}  {minutes}")
        case State.FAILED:
            _say(f"FAILED {name}  {minutes}: {standing.note}")
        case _ if exit_code == NOT_RUN:
            # An older note, say of an interruption, is not the reason.
            _say(f"left   {name}: {last_line(Ledger(plan, name).log)}")
        case _:
            _say(f"left   {name}: {standing.note or f'see the end of {Ledger(plan, name).log}'}")


def _check_end(standings: Sequence[Standing]) -> None:
    left = [s for s in standings if s.state is not State.DONE]
    if not left:
        _say(f"all {len(standings)} cells are done")
        return
    counts = ", ".join(f"{n} {state}" for state in State if (n := sum(s.state is state for s in standings)))
    raise MadrlError(f"not every cell is done: {counts}; madrl grid status says why, madrl grid retry runs one again")


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
