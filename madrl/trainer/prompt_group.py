"""The sessions of one prompt, from the first response to the group's rewards, in plain asyncio without Ray or veRL.

Classification and verification start as responses arrive, so that the slow part overlaps generation; only the cheap
group step waits for the last sibling.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

Response = TypeVar("Response")
Graded = TypeVar("Graded")

GRADE_WINDOW_S = 0.02
"""Responses of one prompt that arrive within this time share one request to a reward worker. The group needs them all
anyway, so nobody waits longer for it."""


class Timing(NamedTuple):
    """The parts of one response's time in the reward stage, in seconds."""

    grade_s: float
    """The time from the request that graded it to its answer."""
    group_wait_s: float
    """The time it waited for siblings, which is not part of the reward stage's own cost."""
    score_s: float
    """The time of the group step."""
    arrived_at: float
    """The moment when it was delivered, in seconds since the epoch."""
    scored_at: float
    """The moment when its reward was known, in seconds since the epoch."""


class Scored(NamedTuple):
    """One response's share of its group's result."""

    result: Any
    timing: Timing


class PromptGroup(Generic[Response, Graded]):
    """Holds the sessions of one prompt until each has delivered or ended, then scores them together, once.

    Args:
        size: sessions that were started for the prompt.
        grade: classifies and verifies some of the responses; called while others are still being generated. An
            exception in the place of a grade fails that response's session only.
        score: scores the whole group; called once with the sessions that delivered, in session order.
    """

    def __init__(
        self,
        size: int,
        grade: Callable[[Sequence[Response]], Awaitable[Sequence[Graded | Exception]]],
        score: Callable[[Sequence[Response], Sequence[Graded]], Awaitable[Sequence[Any]]],
    ) -> None:
        self.size = size
        self._grade = grade
        self._score = score
        self._open = set(range(size))
        self._responses: dict[int, Response] = {}
        self._grades: dict[int, Graded | Exception] = {}
        self._grade_s: dict[int, float] = {}
        self._waiting_for_grade: list[int] = []
        self._grading: list[asyncio.Task[None]] = []
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

        Whatever ``grade`` or ``score`` raises is raised here, in every session of the group; what ``grade`` returns as
        an exception is raised in its own session.
        """
        self._responses[session] = response
        self._waiting_for_grade.append(session)
        if len(self._waiting_for_grade) == 1:
            self._grading.append(asyncio.create_task(self._grade_arrivals()))
        self.leave(session)
        arrived_at = time.time()
        await self._complete.wait()
        if self._scoring is None:
            self._scoring = asyncio.create_task(self._score_group())
        results = await asyncio.shield(self._scoring)
        if isinstance(grade := self._grades[session], Exception):
            raise grade
        scored_at = time.time()
        grade_s = self._grade_s[session]
        wait_s = max(0.0, scored_at - arrived_at - grade_s - self._score_s)
        return Scored(results[session], Timing(grade_s, wait_s, self._score_s, arrived_at, scored_at))

    async def _grade_arrivals(self) -> None:
        await asyncio.sleep(GRADE_WINDOW_S)
        sessions, self._waiting_for_grade = self._waiting_for_grade, []
        started = time.perf_counter()
        grades = await self._grade([self._responses[s] for s in sessions])
        self._grades.update(zip(sessions, grades, strict=True))
        self._grade_s.update(dict.fromkeys(sessions, time.perf_counter() - started))

    async def _score_group(self) -> dict[int, Any]:
        await asyncio.gather(*self._grading)
        graded = {s: grade for s, grade in sorted(self._grades.items()) if not isinstance(grade, Exception)}
        if not graded:
            return {}
        started = time.perf_counter()
        results = await self._score([self._responses[s] for s in graded], list(graded.values()))
        self._score_s = time.perf_counter() - started
        return dict(zip(graded, results, strict=True))
