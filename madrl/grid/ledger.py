"""What the grid knows of one cell, and the state that follows: read from disk every time, never remembered.

attempts.jsonl has one line for each event: started, ended (with the recipe's exit code), interrupted, requeued. A kill
leaves a start without an end; whether the cell still runs is what its lock says, which every process of it holds.
"""

import fcntl
import json
import os
import platform
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import read_json, waited_for, write_json
from madrl.grid.identity import Identity, changes
from madrl.grid.plan import GRID, Plan

PROBED_S = 3.0
"""How long whoever starts a cell tries to get its lock, which a look at its state holds for a moment."""


class CellState(StrEnum):
    """Where a cell stands."""

    PLANNED = "planned"
    """To be run, or to go on after an interruption."""
    WAITING = "waiting"
    """It starts from a warm start that is not done."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """The recipe ended with an error. It runs again on request only."""
    STALE = "stale"
    """It has run, but with another config, data, code or model. It runs again on request only."""


class Standing(NamedTuple):
    """One cell's state and how it came to it."""

    identity: Identity
    run_name: str
    """The folder that the state is about: an older one when the cell is stale."""
    state: CellState
    note: str
    """Why it failed, was interrupted or is stale; empty otherwise."""
    attempts: int
    seconds: float
    """Spent on it in all attempts, up to now while it runs."""


class Ledger:
    """The files of one cell in OUT/grid/cells."""

    def __init__(self, out: Path, run_name: str) -> None:
        self.run = out / run_name
        self.root = out / GRID / "cells" / run_name
        self.facts = self.root / "cell.json"
        self.events = self.root / "attempts.jsonl"
        self.lock = self.root / "lock"
        self.log = self.root / "recipe.log"

    def describe(self, plan: Plan, identity: Identity) -> None:
        """Write cell.json: what whoever runs the cell needs to know, whatever is planned in the meantime."""
        recipe = asdict(plan.recipe(identity.cell)) | {"out": None}
        resolved = plan.cells[identity.cell]
        facts = {"parts": identity.parts, "waits_for": identity.waits_for, "config_key": resolved.key, "recipe": recipe}
        self.root.mkdir(parents=True, exist_ok=True)
        write_json(self.facts, facts)

    def read_facts(self) -> dict[str, Any]:
        """cell.json. Raises MadrlError when there is none."""
        if not self.facts.exists():
            raise MadrlError(f"{self.root} is no cell of a grid: it has no {self.facts.name}")
        facts: dict[str, Any] = read_json(self.facts)
        return facts

    def record(self, event: str, **facts: Any) -> None:
        """Append one event."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"event": event, "at": at, "host": platform.node(), **facts}) + "\n"
        self.root.mkdir(parents=True, exist_ok=True)
        with self.events.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":  # a full disk, or a crash, left half a line
                line = f"\n{line}"
            file.write(line.encode())  # one write, which a kill leaves whole or undone

    def read(self) -> list[dict[str, Any]]:
        """The events so far; half a line is none."""
        events = []
        for line in self.events.read_bytes().split(b"\n")[:-1] if self.events.exists() else []:
            with suppress(ValueError):
                events.append(json.loads(line))
        return events

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the cell's lock, child processes with it. Raises MadrlError when others do."""
        deadline = time.monotonic() + PROBED_S

        def gives_up() -> bool:
            # A look holds it shared, and for as long as whoever looks is kept from going on.
            return self.is_held() and time.monotonic() > deadline

        with waited_for(self.lock, f"{self.root.name} is being run by another process", gives_up):
            yield

    def is_held(self) -> bool:
        """Whether any process of the cell lives."""
        if not self.lock.exists():
            return False
        with self.lock.open("rb") as file:  # also another user's
            try:
                # Shared, so that two who look do not take each other for the cell.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def state(self) -> tuple[CellState, str]:
        """The cell's state as its files have it now, and the reason where there is one."""
        return self.state_after(self.read())

    def is_done(self) -> bool:
        return self.state()[0] is CellState.DONE

    def state_after(self, events: list[dict[str, Any]]) -> tuple[CellState, str]:
        """The same, with the events already read."""
        last = events[-1] if events else {"event": "planned"}
        match last["event"]:
            case "ended" if last["exit"]:
                return CellState.FAILED, last["reason"]
            case "ended" if self.run.is_dir():
                return CellState.DONE, ""
            # Whatever the last event: also a training that outlives an interruption, and a process that just begins.
            case _ if self.is_held():
                return CellState.RUNNING, ""
            case "ended":
                return CellState.PLANNED, "its run folder was removed"
            # It may have ended between the look at its events and the one at its lock.
            case "started" if (later := self.read())[-1:] != [last]:
                return self.state_after(later)
            case "started":
                return CellState.PLANNED, f"killed; started {last['at']} on {last['host']}"
            case "interrupted":
                return CellState.PLANNED, last["reason"]
            case _:
                return CellState.PLANNED, ""


def standings_of(out: Path, identities: Iterable[Identity]) -> list[Standing]:
    """The state of each cell."""
    # One look at the folder for all cells: each for itself, the paper's grid would keep half a core busy.
    ledgers = defaultdict(list)
    for file in (out / GRID / "cells").glob("*/cell.json"):
        run_name = file.parent.name
        ledgers[run_name.rpartition("-")[0]].append(Ledger(out, run_name))
    return [_standing_of(out, identity, ledgers[identity.name]) for identity in identities]


def standing_of(out: Path, identity: Identity) -> Standing:
    """The state of one cell."""
    (standing,) = standings_of(out, [identity])
    return standing


def _standing_of(out: Path, identity: Identity, others: Iterable[Ledger]) -> Standing:
    ledger = Ledger(out, identity.run_name)
    events = ledger.read()
    if not events and (older := _older(identity, others)) is not None:
        return older
    state, note = ledger.state_after(events)
    if state is CellState.PLANNED and identity.waits_for and not Ledger(out, identity.waits_for).is_done():
        state, note = CellState.WAITING, f"waits for {identity.waits_for}"
    return Standing(identity, identity.run_name, state, note, _attempts(events), _seconds(events, state))


def _older(identity: Identity, others: Iterable[Ledger]) -> Standing | None:
    """The newest run of the cell under another hash, of ``others``; None when it never ran. One that still runs is
    running."""
    ran = [(events[-1]["at"], ledger, events) for ledger in others if _attempts(events := ledger.read())]
    if not ran:
        return None
    _, ledger, events = max(ran, key=lambda one: one[0])
    state, _ = ledger.state_after(events)
    then = ledger.read_facts()["parts"]
    note = f"other {', '.join(changes(then, identity.parts))} than now; was {state}"
    kept = state if state is CellState.RUNNING else CellState.STALE
    return Standing(identity, ledger.root.name, kept, note, _attempts(events), _seconds(events, state))


def _attempts(events: list[dict[str, Any]]) -> int:
    return sum(event["event"] == "started" for event in events)


def _seconds(events: list[dict[str, Any]], state: CellState) -> float:
    """The seconds of the attempts that ended, and those since the start of one that runs. What an attempt cost that was
    killed is not known and not counted."""
    seconds: float = sum(event.get("seconds", 0.0) for event in events)
    if state is CellState.RUNNING and (starts := [event["at"] for event in events if event["event"] == "started"]):
        seconds += max(0.0, (datetime.now(UTC) - datetime.fromisoformat(starts[-1])).total_seconds())
    return seconds
