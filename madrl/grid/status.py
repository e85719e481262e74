"""The grid as a table: what is done, what runs and how far, what failed and why, and how long the rest will take."""

import json
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from madrl.grid.ledger import Ledger, Standing, State, state_of
from madrl.grid.plan import Plan
from madrl.run_folder import RunFolder, last_step

REFRESH_S = 5.0

COLOURS = {
    State.RUNNING: "cyan",
    State.FAILED: "red",
    State.STALE: "yellow",
    State.DONE: "green",
    State.PLANNED: "default",
}
"""In the order in which the table shows them."""


class Outcome(NamedTuple):
    """What `madrl evaluate` found of a run: its holdout at the last step, or what was evaluated last without one. None
    is what does not exist, such as the JSD of responses that are all in no category."""

    jsd: float | None
    floor: float | None
    pass_at_1: float | None


def outcome_of(run: RunFolder) -> Outcome | None:
    """The outcome in the run's metrics.json; None before it was evaluated."""
    if not run.evaluation.exists():
        return None
    evaluations: list[dict[str, Any]] = json.loads(run.evaluation.read_text(encoding="utf-8"))["evaluations"]
    last = max(evaluations, key=lambda found: (found["split"] == "holdout", found["step"]), default=None)
    return None if last is None else Outcome(last["jsd"], last["floor"], last["pass@1"])


def reached(run: RunFolder) -> int:
    """The last step that any attempt logged."""
    return max((last_step(path) for path in run.metrics.glob("attempt-*.jsonl")), default=0)


def remaining_s(standings: Sequence[Standing]) -> float | None:
    """How long the planned and running cells will take, as many at once as run now (at least one): each as long as the
    finished ones of its task took on average, of all tasks where it has none; warm starts apart from trainings. None
    before the first of a kind is finished."""
    done = [s for s in standings if s.state is State.DONE and s.seconds]
    waiting = [s for s in standings if s.state in (State.PLANNED, State.RUNNING)]
    at_once = max(1, sum(s.state is State.RUNNING for s in standings))
    left = 0.0
    for standing in waiting:
        cell = standing.identity.cell
        of_kind = [s for s in done if s.identity.cell.is_warm_start == cell.is_warm_start]
        if not of_kind:
            return None
        seconds = [s.seconds for s in of_kind if s.identity.cell.task == cell.task] or [s.seconds for s in of_kind]
        left += max(0.0, fmean(seconds) - standing.seconds)
    return left / at_once if done else None


def table_of(plan: Plan, standings: Sequence[Standing]) -> Table:
    """One row for each cell, those that run first."""
    table = Table("cell", "state", "step", "JSD", "floor", "pass@1", "minutes", "attempts", "")
    for column in table.columns[2:8]:
        column.justify = "right"
    order = list(COLOURS)
    for standing in sorted(standings, key=lambda s: order.index(s.state)):
        run = RunFolder(plan.out / standing.run_name)
        table.add_row(
            standing.run_name,
            Text(standing.state, COLOURS[standing.state]),
            _progress(standing, run),
            *_numbers(standing, run),
            f"{standing.seconds / 60:.1f}" if standing.attempts else "",
            str(standing.attempts or ""),
            Text(standing.note),
        )
    return table


def summary_of(standings: Sequence[Standing]) -> Text:
    """How many cells are in each state, and when the last will be done."""
    counts = [(state, sum(s.state is state for s in standings)) for state in COLOURS]
    parts: list[Any] = [f"{len(standings)} cells: "]
    for state, count in counts:
        if count:
            parts += [(f"{count} {state}", COLOURS[state]), "  "]
    left = remaining_s(standings)
    if left:
        at = time.strftime("%a %H:%M", time.localtime(time.time() + left))
        parts.append(f"about {_duration(left)} left ({at})")
    return Text.assemble(*parts)


def show(plan: Plan, look: Callable[[], Sequence[Standing]], watch: bool) -> None:
    """Print the table; with ``watch`` keep it up to date until nothing runs and nothing is planned, or Ctrl-C."""
    # A pipe has no width: the names and reasons are what it is read for.
    console = Console() if Console().is_terminal else Console(width=200)

    def view(standings: Sequence[Standing]) -> Group:
        return Group(summary_of(standings), table_of(plan, standings))

    standings = look()
    if not watch:
        console.print(table_of(plan, standings))
        console.print(summary_of(standings))
        return
    with Live(view(standings), console=console, auto_refresh=False) as live:
        while any(s.state is State.RUNNING or _may_run(plan, s) for s in standings):
            time.sleep(REFRESH_S)
            standings = look()
            live.update(view(standings), refresh=True)


def _may_run(plan: Plan, standing: Standing) -> bool:
    """Whether the cell waits for its turn, and not for a warm start that has failed."""
    if standing.state is not State.PLANNED:
        return False
    waits_for = standing.identity.waits_for
    if waits_for is None:
        return True
    ledger = Ledger(plan, waits_for)
    return state_of(plan, ledger, ledger.read())[0] is not State.FAILED


def _progress(standing: Standing, run: RunFolder) -> str:
    total = standing.identity.steps
    if standing.state is State.DONE:
        return str(total or "")
    step = reached(run) if standing.attempts else 0
    return f"{step} / {total}" if step and total else str(step or "")


def _numbers(standing: Standing, run: RunFolder) -> tuple[str, str, str]:
    outcome = outcome_of(run) if standing.attempts else None
    if outcome is None:
        return "", "", ""
    jsd, floor, pass_at_1 = (
        "-" if value is None else f"{value:.{digits}f}" for value, digits in zip(outcome, (4, 4, 3), strict=True)
    )
    return jsd, floor, pass_at_1


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
