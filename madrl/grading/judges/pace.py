"""How fast requests may follow one another at a service that counts them by the minute."""

import asyncio
import time


class Pace:
    """At most ``per_minute`` requests a minute, evenly spaced, first come, first served; None sets no limit. Works in
    one event loop."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval_s = 60.0 / per_minute if per_minute else 0.0
        self._free_at = 0.0
        """The moment, on the monotonic clock, from which the next request may go."""
        self._one_by_one = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until a request may go."""
        async with self._one_by_one:
            while (wait_s := self._free_at - time.monotonic()) > 0:  # leave_alone may move it meanwhile
                await asyncio.sleep(wait_s)
            self._free_at = time.monotonic() + self._interval_s

    def leave_alone(self, for_s: float) -> None:
        """Let nothing go for so long, as the service asked."""
        self._free_at = max(self._free_at, time.monotonic() + for_s)
