"""What the grid knows of one cell, and the state that follows: read from disk every time, never remembered.

attempts.jsonl has one line for each event: started, ended (with the recipe's exit code), interrupted, requeued. A kill
leaves a start without an end; whether it still runs is what its lock says, which every process of the cell holds. A
full disk, or a machine that crashes, may leave half a line, which is no event.
"""

import fcntl
import json
import os
import platform
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import replacing, waited_for
from madrl.grid.identity import Identity, changes
from madrl.grid.plan import Plan

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
        descriptor = os.open(self.events, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = f"\n{line}"
            # One write, which a kill leaves whole or undone.
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """The events so far."""
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
        with self.lock.open("a+") as file:
            try:
                # Shared, so that two who look do not take each other for the cell.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def standings_of(plan: Plan, identities: Iterable[Identity]) -> list[Standing]:
    """The state of each cell."""
    # One look at the folder for all cells: each for itself, the paper's grid would keep half a core busy.
    ledgers = defaultdict(list)
    for file in (plan.folder / "cells").glob("*/cell.json"):
        run_name = file.parent.name
        ledgers[run_name.rpartition("-")[0]].append(Ledger(plan, run_name))
    return [_standing_of(plan, identity, ledgers[identity.name]) for identity in identities]


def is_ready(plan: Plan, identity: Identity) -> bool:
    """Whether the model that the cell starts from is there, as far as another cell makes it."""
    if identity.waits_for is None:
        return True
    ledger = Ledger(plan, identity.waits_for)
    return state_of(plan, ledger, ledger.read())[0] is State.DONE


def standing_of(plan: Plan, identity: Identity) -> Standing:
    """The state of one cell."""
    (standing,) = standings_of(plan, [identity])
    return standing


def _standing_of(plan: Plan, identity: Identity, others: Iterable[Ledger]) -> Standing:
    run_name = identity.run_name
    ledger = Ledger(plan, run_name)
    events = ledger.read()
    if not events:
        older = _older(plan, identity, others)
        if older is not None:
            return older
    state, note = state_of(plan, ledger, events)
    if state is State.PLANNED and not is_ready(plan, identity):
        note = f"waits for {identity.waits_for}"
    return Standing(identity, run_name, state, note, _attempts(events), _seconds(events, state))


def state_of(plan: Plan, ledger: Ledger, events: list[dict[str, Any]]) -> tuple[State, str]:
    """The state that follows from a cell's events, its lock and its run folder; and the reason, where it has one."""
    last = events[-1] if events else {"event": "planned"}
    match last["event"]:
        case "ended" if last["exit"]:
            return State.FAILED, last["reason"]
        case "ended" if plan.command is not None or (plan.out / ledger.root.name).is_dir():
            return State.DONE, ""
        # Whatever the last event: also a training that outlives an interruption, and a process that just begins.
        case _ if ledger.is_held():
            return State.RUNNING, ""
        case "ended":
            return State.PLANNED, "its run folder was removed"
        # It may have ended between the look at its events and the one at its lock.
        case "started" if (later := ledger.read())[-1:] != [last]:
            return state_of(plan, ledger, later)
        case "started":
            return State.PLANNED, f"killed; started {last['at']} on {last['host']}"
        case "interrupted":
            return State.PLANNED, last["reason"]
        case _:
            return State.PLANNED, ""


def _older(plan: Plan, identity: Identity, others: Iterable[Ledger]) -> Standing | None:
    """The newest run of the cell under another hash, of ``others``; None when it never ran. One that still runs is
    running."""
    ran = []
    for ledger in others:
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
    """From each start to its end; a kill has no end, so that what it cost is not known. Never below 0, also when clocks
    differ."""
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
    return max(0.0, seconds)


def now() -> str:
    """The time as an event has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
