"""What the grid knows of one cell, and the state that follows: read from disk every time, never remembered.

attempts.jsonl has one line for each event: started, ended (with the recipe's exit code), interrupted, requeued. A kill
leaves a start without an end; whether it still runs is what its lock says, which every process of the cell holds.
"""

import fcntl
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked, replacing
from madrl.grid.identity import Identity, changes
from madrl.grid.plan import Plan
from madrl.run_folder import logged

PROBED_S = 3.0
"""How long whoever starts a cell tries to get its lock, which a look at its state holds for a moment."""


class State(StrEnum):
    """Where a cell stands."""

    PLANNED = "planned"
    """To be run, or to go on after an interruption."""
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
    state: State
    note: str
    """Why it failed, was interrupted or is stale; empty otherwise."""
    attempts: int
    seconds: float
    """Spent on it in all attempts, up to now while it runs."""


class Ledger:
    """The files of one cell in OUT/grid/cells."""

    def __init__(self, plan: Plan, run_name: str) -> None:
        self._plan = plan
        self.root = plan.folder / "cells" / run_name
        self.facts = self.root / "cell.json"
        self.events = self.root / "attempts.jsonl"
        self.lock = self.root / "lock"
        self.log = self.root / "recipe.log"

    def describe(self, identity: Identity) -> None:
        """Write cell.json: what whoever runs the cell needs to know, whatever is planned in the meantime."""
        content = {"parts": identity.parts, "plan": self._plan.shared()}
        self.root.mkdir(parents=True, exist_ok=True)
        with replacing(self.facts) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def read_facts(self) -> dict[str, Any]:
        """cell.json. Raises MadrlError when there is none."""
        if not self.facts.exists():
            raise MadrlError(f"{self.root} is no cell of a grid: it has no {self.facts.name}")
        facts: dict[str, Any] = json.loads(self.facts.read_text(encoding="utf-8"))
        return facts

    def record(self, event: str, **facts: Any) -> None:
        """Append one event."""
        line = json.dumps({"event": event, "at": now(), "host": platform.node(), **facts}) + "\n"
        self.root.mkdir(parents=True, exist_ok=True)
        # One write, which a kill leaves whole or undone.
        descriptor = os.open(self.events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """The events so far."""
        return logged(self.events)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the cell's lock, child processes with it. Raises MadrlError when others do."""
        deadline = time.monotonic() + PROBED_S
        while self.is_held() and time.monotonic() < deadline:
            time.sleep(0.05)
        with locked(self.lock, f"{self.root.name} is being run by another process"):
            yield

    def is_held(self) -> bool:
        """Whether any process of the cell lives."""
        if not self.lock.exists():
            return False
        with self.lock.open("a+") as file:
            try:
                # Shared, so that two who look do not take each other for the cell.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def standing_of(plan: Plan, identity: Identity) -> Standing:
    """The state of one cell."""
    run_name = identity.run_name
    ledger = Ledger(plan, run_name)
    events = ledger.read()
    if not events:
        older = _older(plan, identity)
        if older is not None:
            return older
    state, note = state_of(plan, ledger, events)
    return Standing(identity, run_name, state, note, _attempts(events), _seconds(events, state))


def state_of(plan: Plan, ledger: Ledger, events: list[dict[str, Any]]) -> tuple[State, str]:
    """The state that follows from a cell's events, its lock and its run folder; and the reason, where it has one."""
    last = events[-1] if events else {"event": "planned"}
    match last["event"]:
        case "ended" if last["exit"]:
            return State.FAILED, last["reason"]
        case "ended" if plan.command is None and not (plan.out / ledger.root.name).is_dir():
            return State.PLANNED, "its run folder was removed"
        case "ended":
            return State.DONE, ""
        case "started" if ledger.is_held():
            return State.RUNNING, ""
        case "started":
            return State.PLANNED, f"killed; started {last['at']} on {last['host']}"
        case "interrupted":
            return State.PLANNED, last["reason"]
        case _:
            return State.PLANNED, ""


def _older(plan: Plan, identity: Identity) -> Standing | None:
    """The newest run of the cell under another hash; None when it never ran. One that still runs is running."""
    ran = []
    for facts in (plan.folder / "cells").glob(f"{identity.name}-*/cell.json"):
        ledger = Ledger(plan, facts.parent.name)
        events = ledger.read()
        if _attempts(events):
            ran.append((events[-1]["at"], ledger, events))
    if not ran:
        return None
    _, ledger, events = max(ran, key=lambda one: one[0])
    state, _ = state_of(plan, ledger, events)
    then = ledger.read_facts()["parts"]
    note = f"other {', '.join(changes(then, identity.parts))} than now; was {state}"
    kept = state if state is State.RUNNING else State.STALE
    return Standing(identity, ledger.root.name, kept, note, _attempts(events), _seconds(events, state))


def _attempts(events: list[dict[str, Any]]) -> int:
    return sum(event["event"] == "started" for event in events)


def _seconds(events: list[dict[str, Any]], state: State) -> float:
    """From each start to its end; a kill has no end, so that what it cost is not known."""
    seconds = 0.0
    started: datetime | None = None
    for event in events:
        at = datetime.fromisoformat(event["at"])
        if event["event"] == "started":
            started = at
        elif started is not None:
            seconds += (at - started).total_seconds()
            started = None
    if started is not None and state is State.RUNNING:
        seconds += (datetime.now(UTC) - started).total_seconds()
    return seconds


def now() -> str:
    """The time as an event has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
