"""How many requests are taken up at a time, first come, first served, where that number changes."""

import asyncio
from collections import deque


class Turns:
    """At most ``limit`` turns at a time. Works in one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

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
