"""The choice of the service, among several equal ones, that the next request goes to."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

ASIDE_S, MAX_ASIDE_S = 0.25, 5.0
"""A replica that has failed n times in a row is left alone for min(MAX, ASIDE * 2^(n - 1))."""

WITHOUT_S = 60.0
"""A replica that says it has no toolchain for a language is believed for this long: then it may have been installed."""

NOT_SERVED = "no sandbox serves"
"""How the reason begins why a program is ungraded whose language no replica has."""

RETURN_JITTER_S = 0.1
"""Requests that wait for a replica's return come back spread over this time."""


@dataclass
class Replica:
    """One service, as this client knows it."""

    url: str
    in_flight: int = 0
    """The number of our own requests that it has not answered yet."""
    failures: int = 0
    """The number of failures in a row."""
    aside_until: float = 0.0
    """The moment, on the monotonic clock, until which it is left alone."""
    moved_at: float = -math.inf
    """The latest moment, on the monotonic clock, at which it was seen to have answered a request, whoever's."""
    slots: int | None = None
    """The programs that it runs at a time, as it has told, or what it counts as when it did not tell; None before."""
    asked_for_slots: bool = False
    without: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Language -> the moment, on the monotonic clock, until which it is not asked for it, and its own words."""

    def failed(self, trouble: str) -> None:
        """Leave it alone for a while, each time longer; once only for all the requests that one failure hits."""
        if self.aside_until > time.monotonic():
            return
        aside_s = min(MAX_ASIDE_S, ASIDE_S * 2.0 ** min(self.failures, 30))
        self.failures += 1
        self.leave_alone(aside_s)
        logger.warning("%s; left alone for %.2g s", trouble, aside_s)

    def leave_alone(self, for_s: float) -> None:
        """Send it nothing for so long, without counting it as a failure."""
        self.aside_until = max(self.aside_until, time.monotonic() + for_s)

    def worked(self) -> None:
        """It has given a verdict."""
        self.failures = 0
        self.moved_at = time.monotonic()

    def lacks(self, language: str, why: str) -> None:
        """It works, and has no toolchain for a language: ask it for others only."""
        self.failures = 0
        self.without[language] = (time.monotonic() + WITHOUT_S, why)

    def may_have(self, language: str) -> bool:
        """Whether it can be asked for a language."""
        return self.without.get(language, (0.0, ""))[0] <= time.monotonic()


async def next_replica(replicas: Sequence[Replica], avoid: Replica | None) -> Replica:
    """The replica with the fewest of our requests in flight, at random among equals, of those not left alone; ``avoid``
    only when there is no other. One that has failed and given no verdict since then has one request at a time, unless
    that is so of all. Waits while all are left alone."""
    while True:
        now = time.monotonic()
        ready = [r for r in replicas if r.aside_until <= now]
        if ready:
            ready = [r for r in ready if not (r.failures and r.in_flight)] or ready
            ready = [r for r in ready if r is not avoid] or ready
            fewest = min(r.in_flight for r in ready)
            return random.choice([r for r in ready if r.in_flight == fewest])
        first_back = min(r.aside_until for r in replicas)
        await asyncio.sleep(first_back - now + random.uniform(0, RETURN_JITTER_S))
