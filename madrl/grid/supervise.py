"""Run one cell to its end and write down how it ended. Every backend starts cells with it:

    python -m madrl.grid.supervise OUT RUN

It holds the cell's lock, and so does every process below it, whoever of them is killed: a cell that still runs is never
taken for one that does not. A grid that is killed leaves it running, and its end is recorded. When it is killed itself,
the recipe's stage is told to end; whatever outlives it all the same holds the lock. SIGTERM interrupts the cell, and so
does the Ctrl-C of a terminal. Its output belongs in the cell's recipe.log, where whoever starts it sends it.

Exit codes: the recipe's own; 75 when it was interrupted; 2 when it was not run.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from madrl.errors import MadrlError
from madrl.grid.identity import changes, parts_of
from madrl.grid.ledger import CellState, Ledger
from madrl.grid.plan import key_of
from madrl.process import told_to_stop
from madrl.recipe import Recipe, with_environment
from madrl.run import run as run_recipe

INTERRUPTED = 75
"""EX_TEMPFAIL: the cell goes on when it is started again."""

NOT_RUN = 2
"""There was nothing to run, or it may not be run now: the last line of the cell's log says why."""

KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What ends a recipe's stage from outside. A crash (SIGSEGV, SIGABRT) is a failure."""

REASON_CHARACTERS = 1000
TAIL_BYTES = 1 << 14


def supervise(out: Path, run_name: str, run: Callable[[Recipe], None] = run_recipe) -> int:
    """Run the cell with ``run``, unless there is nothing to run; returns the exit code. Raises MadrlError when another
    process runs it, and when what it was planned with has changed: its run would not be what its name says."""
    ledger = Ledger(out.absolute(), run_name)
    facts = ledger.read_facts()
    planned = {**facts["recipe"], "out": out.absolute(), "overrides": tuple(facts["recipe"]["overrides"])}
    recipe, parts, waits_for = Recipe(**planned), facts["parts"], facts["waits_for"]
    with ledger.held():
        state, _ = ledger.state()
        if state in (CellState.DONE, CellState.FAILED):
            raise MadrlError(f"{run_name} is {state} already: madrl grid retry lets a failed cell run again")
        if waits_for and not Ledger(recipe.out, waits_for).is_done():
            raise MadrlError(f"{run_name} starts from what {waits_for} makes, which is not done")
        now = parts | parts_of(recipe) | ({"model": waits_for} if waits_for else {})
        changed = ["config"] if key_of(recipe) != facts["config_key"] else []
        if changed := [*changed, *changes(parts, now)]:
            raise MadrlError(f"{', '.join(changed)} changed since this cell was planned: start madrl grid run again")
        model = str(recipe.out / waits_for / "model") if waits_for else recipe.model
        return _run(ledger, with_environment(replace(recipe, name=run_name, model=model)), run)


def _run(ledger: Ledger, recipe: Recipe, run: Callable[[Recipe], None]) -> int:
    offset = ledger.log.stat().st_size if ledger.log.exists() else 0
    code, reason, begun = 0, "", time.monotonic()
    ledger.record("started", pid=os.getpid())
    try:
        run(recipe)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
        reason = last_line(ledger.log, offset)
    except Exception as error:
        code, reason = 2, f"{'' if isinstance(error, MadrlError) else f'{type(error).__name__}: '}{error}"
        print(f"madrl: error: {reason}", file=sys.stderr, flush=True)
    with told_to_stop(signal.SIGTERM, signal.SIGINT):  # or one that comes now would take the end for a kill
        seconds = round(time.monotonic() - begun, 1)
        if code - 128 in KILLS:
            ledger.record("interrupted", seconds=seconds, reason=f"interrupted by {signal.Signals(code - 128).name}")
            return INTERRUPTED
        ledger.record("ended", exit=code, seconds=seconds, reason=reason[:REASON_CHARACTERS] or f"exit code {code}")
        return code


def last_line(log: Path, offset: int = 0) -> str:
    """The last line of a cell's log that is not empty, from ``offset`` on; empty when there is no log."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(offset, log.stat().st_size - TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:REASON_CHARACTERS]


def main(argv: Sequence[str], run: Callable[[Recipe], None] = run_recipe) -> int:
    """The process; ``argv`` is OUT and RUN."""
    try:
        out, run_name = argv
        return supervise(Path(out), run_name, run)
    except MadrlError as error:
        print(f"madrl: error: {error}", file=sys.stderr)
        return NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
