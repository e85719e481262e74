"""The grid as a table: what is done, what runs and how far, what failed and why, and how long the rest will take."""

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from madrl.files import read_json
from madrl.grid.cells import Cell
from madrl.grid.ledger import CellState, Standing
from madrl.grid.plan import Plan
from madrl.run_folder import RunFolder, last_step

REFRESH_S = 5.0
PIPE_WIDTH = 200
"""A pipe has no width: the names and reasons are what it is read for."""

COLOURS = {
    CellState.RUNNING: "cyan",
    CellState.FAILED: "red",
    CellState.STALE: "yellow",
    CellState.DONE: "green",
    CellState.PLANNED: "default",
    CellState.WAITING: "default",
}
"""In the order in which the table shows them."""

SHORT = {"divergence": "div", "attempts": "tries"}
"""Field -> its column's title, where that is another."""

DISPENSABLE = ("hash", "attempts", "floor", "minutes", "step")
"""Columns that a narrow terminal does without, the first of them first."""

Row = dict[str, Any]
"""One cell: what its name is made of, its state, and what is known of its run."""


def row_of(out: Path, standing: Standing) -> Row:
    """What is known of one cell, as a JSON object. ``jsd``, ``floor`` and ``pass@1`` are the holdout's at the last
    step, or those of the last evaluation without one; null is what does not exist."""
    run, steps = RunFolder(out / standing.run_name), standing.identity.steps
    reached = steps if standing.state is CellState.DONE else _reached(run) if standing.attempts else None
    outcome = _outcome(run) if standing.attempts else {}
    return {
        **standing.identity.cell._asdict(),
        "run": standing.run_name,
        "state": str(standing.state),
        "note": standing.note,
        "attempts": standing.attempts,
        "seconds": round(standing.seconds, 1),
        "step": reached,
        "steps": steps,
        **{name: outcome.get(name) for name in ("jsd", "floor", "pass@1")},
    }


def _outcome(run: RunFolder) -> dict[str, Any]:
    """What `madrl evaluate` found of the run; empty before it was evaluated."""
    if not run.evaluation.exists():
        return {}
    evaluations: list[dict[str, Any]] = read_json(run.evaluation)["evaluations"]
    return max(evaluations, key=lambda found: (found["step"], found["split"] == "holdout"), default={})


def _reached(run: RunFolder) -> int:
    """The last step that any attempt logged."""
    return max((last_step(path) for path in run.metrics.glob("attempt-*.jsonl")), default=0)


def remaining_s(standings: Sequence[Standing]) -> float | None:
    """How long the planned and running cells will take, as many at once as run now (at least one): each as long as the
    finished ones of its task took on average, of all tasks where it has none; warm starts apart from trainings. None
    before the first of a kind is finished."""
    done = [s for s in standings if s.state is CellState.DONE and s.seconds]
    waiting = [s for s in standings if s.state in (CellState.PLANNED, CellState.WAITING, CellState.RUNNING)]
    at_once = max(1, sum(s.state is CellState.RUNNING for s in standings))
    left = 0.0
    for standing in waiting:
        cell = standing.identity.cell
        of_kind = [s for s in done if s.identity.cell.is_warm_start == cell.is_warm_start]
        if not of_kind:
            return None
        seconds = [s.seconds for s in of_kind if s.identity.cell.task == cell.task] or [s.seconds for s in of_kind]
        left += max(0.0, fmean(seconds) - standing.seconds)
    return left / at_once if done else None


def view_of(plan: Plan, standings: Sequence[Standing], width: int) -> list[RenderableType]:
    """What all cells share, a table with a line for each cell (those that run first), and the reasons of those that
    have one."""
    order = list(COLOURS)
    standings = sorted(standings, key=lambda s: order.index(s.state))
    rows = [row_of(plan.out, standing) for standing in standings]
    differing = [field for field in Cell._fields if len({row[field] for row in rows}) > 1] or ["seed"]
    shared = [
        f"{field}={rows[0][field]}" for field in Cell._fields if field not in differing and rows[0][field] is not None
    ]
    reasons = defaultdict(list)
    for standing in standings:
        if standing.note:
            reasons[standing.note].append(standing.run_name)
    return [
        Text(", ".join([*shared, f"profile={plan.profile}"])),
        _table(rows, differing, width),
        *(Text(f"{names[0] if len(names) == 1 else f'{len(names)} cells'}: {note}") for note, names in reasons.items()),
    ]


def _table(rows: Sequence[Row], differing: Sequence[str], width: int) -> Table:
    """As many columns as ``width`` has room for: those in which the cells differ are always there."""
    columns = [*differing, "state", "step", "jsd", "floor", "pass@1", "minutes", "attempts", "hash"]
    left_out, unlimited = iter(DISPENSABLE), Console(width=10_000)
    while unlimited.measure(table := _drawn(rows, columns)).maximum > width and (column := next(left_out, "")):
        columns.remove(column)
    return table


def _drawn(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in columns:
        left = column in (*Cell._fields, "state", "hash")
        table.add_column(SHORT.get(column, column), justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(_text(row, column) for column in columns))
    return table


def _text(row: Row, column: str) -> RenderableType:
    """One cell of the table."""
    evaluated = row["jsd"] is not None or row["pass@1"] is not None or row["floor"] is not None
    match column:
        case "state":
            return Text(row["state"], COLOURS[CellState(row["state"])])
        case "step":
            total = f"/{row['steps']}" if row["steps"] and row["step"] != row["steps"] else ""
            return f"{row['step']}{total}" if row["step"] else ""
        case "jsd" | "floor" | "pass@1":
            value = row[column]
            return ("-" if evaluated else "") if value is None else f"{value:.{3 if column == 'pass@1' else 4}f}"
        case "minutes":
            return f"{row['seconds'] / 60:.1f}" if row["attempts"] else ""
        case "hash":
            return str(row["run"]).rpartition("-")[2]
        case _:
            return "" if row[column] is None else str(row[column])


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
        minutes = round(left / 60)
        parts.append(f"about {f'{minutes} min' if minutes < 120 else f'{minutes / 60:.1f} h'} left ({at})")
    return Text.assemble(*parts)


def show(plan: Plan, look: Callable[[], Sequence[Standing]], watch: bool) -> None:
    """Print the table; with ``watch`` keep it up to date until nothing runs and nothing is planned, or Ctrl-C."""
    console = Console() if Console().is_terminal or "COLUMNS" in os.environ else Console(width=PIPE_WIDTH)
    standings = look()
    if not watch:
        console.print(*view_of(plan, standings, console.width), summary_of(standings), sep="\n")
        return

    def view() -> Group:
        return Group(summary_of(standings), *view_of(plan, standings, console.width))

    with Live(view(), console=console, auto_refresh=False) as live:
        while any(s.state in (CellState.RUNNING, CellState.PLANNED) for s in standings):
            time.sleep(REFRESH_S)
            standings = look()
            live.update(view(), refresh=True)


def as_json(plan: Plan, standings: Sequence[Standing]) -> str:
    """One JSON object: ``remaining_s``, null when nothing tells it, and ``cells``, as ``row_of`` has them."""
    content = {"remaining_s": remaining_s(standings), "cells": [row_of(plan.out, standing) for standing in standings]}
    return json.dumps(content, indent=1)
