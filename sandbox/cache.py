"""Compiled programs and compile errors, under a key made of what went into them.

Whoever asks for a program first compiles it. The others wait for the result.
"""

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
    """One program. ``folder`` is filled once ``result`` is ok. A result of None says that the compilation was given
    up."""

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
    """Keeps at most ``max_bytes`` of artifacts on disk and drops the least recently used first. Those in use stay."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._entries: OrderedDict[str, Entry] = OrderedDict()

    @contextmanager
    def use(self, key: str) -> Iterator[Entry]:
        """The program's entry, which is kept for the length of the block."""
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
        """Surround the work of whoever claimed the entry, so that those who wait are told when it is given up."""
        try:
            yield
        finally:
            self.fill(key, entry, None)

    def fill(self, key: str, entry: Entry, result: Compiled | None) -> None:
        """Give the result to everybody who waits. Only the first call counts. None is not kept."""
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
