"""Compiled programs by what went into them, compile errors too. Whoever asks first compiles; the others wait for it."""

import asyncio
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.jobs import Compiled

MAX_ENTRIES = 20_000


@dataclass
class Entry:
    """One program. ``folder`` is filled once ``result`` is ok; a result of None: the compilation was given up."""

    folder: Path
    result: "asyncio.Future[Compiled | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    claimed: bool = False
    users: int = 0
    size_bytes: int = 0

    def claim(self) -> bool:
        """True for the first caller, who must call ArtifactCache.fill."""
        first, self.claimed = not self.claimed, True
        return first


class ArtifactCache:
    """Least recently used first out, above ``max_bytes`` on disk. Artifacts in use stay."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._entries: OrderedDict[str, Entry] = OrderedDict()

    @contextmanager
    def use(self, key: str) -> Iterator[Entry]:
        """The program's entry, kept for as long as it is used."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(self.folder / uuid.uuid4().hex)
        self._entries.move_to_end(key)
        entry.users += 1
        try:
            yield entry
        finally:
            entry.users -= 1
            self._evict()

    @contextmanager
    def compiling(self, key: str, entry: Entry) -> Iterator[None]:
        """Around the work of whoever claimed the entry: those who wait are told when it is given up."""
        try:
            yield
        finally:
            self.fill(key, entry, None)

    def fill(self, key: str, entry: Entry, result: Compiled | None) -> None:
        """Tell everybody who waits, once. Only what the compiler said is kept."""
        if entry.result.done():
            return
        entry.result.set_result(result)
        if result is None:
            self._entries.pop(key, None)
        else:
            entry.size_bytes = result.size_bytes + len(result.stderr)
            self.size_bytes += entry.size_bytes

    def _evict(self) -> None:
        for key in list(self._entries):
            if self.size_bytes <= self.max_bytes and len(self._entries) <= MAX_ENTRIES:
                break
            entry = self._entries[key]
            if entry.users == 0:
                del self._entries[key]
                self.size_bytes -= entry.size_bytes
                shutil.rmtree(entry.folder, ignore_errors=True)
