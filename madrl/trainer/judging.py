"""One prompt's sessions, from the first response to the group's rewards. Plain asyncio: no Ray, no veRL.

Classification and verification start as responses arrive, so that the slow part overlaps generation; only the cheap
group step waits for the last sibling.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Response = TypeVar("Response")
Judged = TypeVar("Judged")

JUDGE_WINDOW_S = 0.02
"""Responses of one prompt that arrive within this time share one request to a reward worker. The group needs them all
anyway, so nobody waits longer for it."""


class Timing(NamedTuple):
    """Where one response's time in the reward stage went, in seconds."""

    judge_s: float
    """From the request that judged it to its answer."""
    group_wait_s: float
    """Waiting for siblings: not part of the reward stage's own cost."""
    score_s: float
    """The group step."""
    arrived_at: float
    """When it was delivered, in seconds since the epoch."""
    scored_at: float
    """When its reward was known."""


@dataclass(frozen=True)
class Scored:
    """One response's share of its group's result."""

    result: Any
    timing: Timing


class PromptGroup(Generic[Response, Judged]):
    """Holds the sessions of one prompt until each has delivered or ended, then scores them together, once.

    Args:
        size: sessions that were started for the prompt.
        judge: classifies and verifies some of the responses; called while others are still being generated. An
            exception in the place of a judgment fails that response's session only.
        score: scores the whole group; called once with the sessions that delivered, in session order.
    """

    def __init__(
        self,
        size: int,
        judge: Callable[[Sequence[Response]], Awaitable[Sequence[Judged | Exception]]],
        score: Callable[[Sequence[Response], Sequence[Judged]], Awaitable[Sequence[Any]]],
    ) -> None:
        self._judge = judge
        self._score = score
        self._open = set(range(size))
        self._responses: dict[int, Response] = {}
        self._judged: dict[int, Judged] = {}
        self._unjudgeable: dict[int, Exception] = {}
        self._judge_s: dict[int, float] = {}
        self._waiting_for_judge: list[int] = []
        self._judging: list[asyncio.Task[None]] = []
        self._complete = asyncio.Event()
        self._scoring: asyncio.Task[dict[int, Any]] | None = None
        self._score_s = 0.0

    def leave(self, session: int) -> None:
        """The session has delivered or ended. One that failed must not hold its siblings up."""
        self._open.discard(session)
        if not self._open:
            self._complete.set()

    async def submit(self, session: int, response: Response) -> Scored:
        """Deliver a response; returns its part of the group's result once every sibling has delivered or ended.

        Whatever ``judge`` or ``score`` raises is raised here, in every session of the group; what ``judge`` returns as
        an exception is raised in its own session.
        """
        self._responses[session] = response
        self._waiting_for_judge.append(session)
        if len(self._waiting_for_judge) == 1:
            self._judging.append(asyncio.create_task(self._judge_arrivals()))
        self.leave(session)
        arrived_at = time.time()
        await self._complete.wait()
        if self._scoring is None:
            self._scoring = asyncio.create_task(self._score_group())
        results = await asyncio.shield(self._scoring)
        if session in self._unjudgeable:
            raise self._unjudgeable[session]
        scored_at = time.time()
        judge_s = self._judge_s[session]
        wait_s = max(0.0, scored_at - arrived_at - judge_s - self._score_s)
        return Scored(results[session], Timing(judge_s, wait_s, self._score_s, arrived_at, scored_at))

    async def _judge_arrivals(self) -> None:
        await asyncio.sleep(JUDGE_WINDOW_S)
        sessions, self._waiting_for_judge = self._waiting_for_judge, []
        started = time.perf_counter()
        judged = await self._judge([self._responses[s] for s in sessions])
        for session, judgment in zip(sessions, judged, strict=True):
            if isinstance(judgment, Exception):
                self._unjudgeable[session] = judgment
            else:
                self._judged[session] = judgment
            self._judge_s[session] = time.perf_counter() - started

    async def _score_group(self) -> dict[int, Any]:
        await asyncio.gather(*self._judging)
        sessions = sorted(self._judged)
        if not sessions:
            return {}
        started = time.perf_counter()
        results = await self._score([self._responses[s] for s in sessions], [self._judged[s] for s in sessions])
        self._score_s = time.perf_counter() - started
        return dict(zip(sessions, results, strict=True))
