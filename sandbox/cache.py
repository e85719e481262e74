"""Compiled programs and compile errors, under a key made of what went into them.

Whoever asks for a program first compiles it. The others wait for the result.
"""

import asyncio
import shutil
import uuid
from collections import Counter, OrderedDict
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
    size_bytes: int = 0


class ArtifactCache:
    """Keeps at most ``max_bytes`` of artifacts on disk and drops the least recently used first. Those in use stay."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._users: Counter[str] = Counter()

    @contextmanager
    def keep(self, key: str) -> Iterator[None]:
        """Keep what is under the key, or comes under it, for the length of the block."""
        self._users[key] += 1
        try:
            yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key]
            self._evict()

    @contextmanager
    def use(self, key: str) -> Iterator[tuple[Entry, bool]]:
        """The program's entry, which is kept for the length of the block, and whether it is this block that must fill
        it. Those who wait are told when the block ends without doing so."""
        with self.keep(key):
            first = key not in self._entries
            entry = self._entries.setdefault(key, Entry(self.folder / uuid.uuid4().hex))
            self._entries.move_to_end(key)
            try:
                yield entry, first
            finally:
                if first:
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
            if key not in self._users:
                entry = self._entries.pop(key)
                self.size_bytes -= entry.size_bytes
                shutil.rmtree(entry.folder, ignore_errors=True)
