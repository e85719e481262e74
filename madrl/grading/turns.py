"""How many requests are taken up at a time, first come, first served, where that number changes."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

CLIENTS_VARIABLE = "MADRL_SANDBOX_CLIENTS"
"""How many processes like this one share the services. A training sets it to the number of its reward workers."""


def clients() -> int:
    """How many processes share the services, this one included. Nobody else reads CLIENTS_VARIABLE."""
    return int(os.environ.get(CLIENTS_VARIABLE, "1"))


class Turns:
    """At most ``limit`` turns at a time. Works in one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def taken(self, patience_s: float, moved_at: Callable[[], float]) -> AsyncIterator[None]:
        """One of the turns, for as long as the context is open.

        ``moved_at`` tells the latest moment, on the monotonic clock, at which any request was answered. Raises
        TimeoutError when there was none for ``patience_s`` of waiting.
        """
        since = time.monotonic()
        while True:
            silent_s = time.monotonic() - max(since, moved_at())
            if silent_s >= patience_s:
                raise TimeoutError
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s - silent_s):
                    await self.acquire()
                break
        try:
            yield
        finally:
            self.release()

    async def acquire(self) -> None:
        """Wait for a turn."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given at this very moment
                self.release()
            raise

    def release(self) -> None:
        """End a turn."""
        self._held -= 1
        self._give()

    def resize(self, limit: int) -> None:
        """From now on at most ``limit``. Turns that are held stay."""
        self.limit = limit
        self._give()

    def _give(self) -> None:
        while self._waiting and self._held < self.limit:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                turn.set_result(None)
                self._held += 1
