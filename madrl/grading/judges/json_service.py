"""An async client of a service that answers JSON with JSON: requests go out at a bounded rate and are repeated until
one of them is answered or a deadline has passed.

It is for questions whose answer does not depend on how often they are asked. What goes wrong on the way never becomes
an answer: when nothing helps, MadrlError says what happened, and the response that was asked about is ungraded.
"""

import asyncio
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx

from madrl.errors import MadrlError
from madrl.grading.connections import backoff_s, connections, json_body, retry_after_s
from madrl.grading.judges.pace import Pace
from madrl.grading.turns import Turns, clients

T = TypeVar("T")

MAX_UNREADABLE = 3
"""Answers to one question that may be unreadable: then the service works and fails on this question."""

READY_TIMEOUT_S = 30.0

SHOWN_CHARACTERS = 300
"""The length at which an error's body is cut off in a message."""

REPEATED = {httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_EARLY, httpx.codes.TOO_MANY_REQUESTS}
"""Statuses below 500 after which a request is worth repeating."""

OF_THE_QUESTION = {
    httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY
}  # fmt: skip
"""Statuses by which a service refuses what a request says: a text that is too long for its model, or that its filter
does not let pass."""


class UnreadableError(Exception):
    """An answer that is not what was asked for. Its text says what it is."""


class NoAnswerError(MadrlError):
    """The service works and gives no answer to this question."""


class _TroubleError(Exception):
    """An attempt without an answer, worth repeating. Its text says what happened."""

    def __init__(self, text: str, unreadable: bool = False) -> None:
        super().__init__(text)
        self.unreadable = unreadable
        """The service answered, with something else."""


class JsonService:
    """The service at ``url``.

    Args:
        concurrency: requests at a time, of all processes that grade for a run together.
        requests_per_minute: the same for the rate; None sets no limit.
        deadline_s: the time for an answer with all repetitions, from the moment that a request gets its turn, so that
            any number of them may wait behind a slow service. Those that wait give up when nothing has been answered
            for as long. One attempt gets half of it.
        api_key_variable: the environment variable that holds the key; None for a service that wants none.

    Works in one event loop at a time and opens new connections in a new one. Ignores proxies in the environment. Raises
    MadrlError for a number that is not above 0 and a variable that is not set.
    """

    def __init__(
        self,
        url: str,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        deadline_s: float,
        api_key_variable: str | None = None,
    ) -> None:
        numbers = {"concurrency": concurrency, "requests_per_minute": requests_per_minute, "deadline_s": deadline_s}
        for name, number in numbers.items():
            if number is not None and not number > 0:
                raise MadrlError(f"{name}={number} is not above 0")
        if not url.startswith(("http://", "https://")):
            raise MadrlError(f"{url!r} is no address of a service: write it as http://HOST:PORT")
        self.url = url.rstrip("/")
        self._concurrency = math.ceil(concurrency / clients())
        self._per_minute = None if requests_per_minute is None else requests_per_minute / clients()
        self._deadline_s = deadline_s
        self._headers: dict[str, str] = {}
        if api_key_variable is not None:
            key = os.environ.get(api_key_variable)
            if not key:
                raise MadrlError(f"the environment variable {api_key_variable} is not set: put the key of {url} there")
            self._headers["Authorization"] = f"Bearer {key}"
        self._answered_at = -math.inf
        """The latest moment, on the monotonic clock, at which it answered a question."""
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, path: str, body: Mapping[str, Any] | None, read: Callable[[Any], T]) -> T:
        """What ``read`` finds in the answer to POST ``path`` with ``body``, or to GET where ``body`` is None.

        ``read`` raises UnreadableError for what is no answer to the question, and may raise what looking for keys that
        are not there raises. Raises NoAnswerError when the service refuses what the request says, and when
        MAX_UNREADABLE answers are unreadable; MadrlError when it refuses the request otherwise, and at the deadline.
        """
        self._enter_loop()
        # Characters that UTF-8 cannot carry (half a surrogate pair) are sent as "?".
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        trouble, unreadable = f"it waits for its turn, {self._concurrency} at a time", 0
        try:
            async with self._turns.taken(self._deadline_s, lambda: self._answered_at):
                await self._pace.wait()
                async with asyncio.timeout(self._deadline_s):
                    trouble = "no answer"
                    for attempt in itertools.count():
                        try:
                            found = _found(read, await self._attempt(path, content))
                        except _TroubleError as error:
                            trouble = str(error)
                            unreadable += error.unreadable
                        else:
                            self._answered_at = time.monotonic()
                            return found
                        if unreadable == MAX_UNREADABLE:
                            raise NoAnswerError(f"{self.url}: {trouble}")
                        await asyncio.sleep(backoff_s(attempt))
                        await self._pace.wait()
        except TimeoutError:
            raise MadrlError(f"{self.url}: no answer within {self._deadline_s:g} s: {trouble}") from None
        raise AssertionError("unreachable")

    def check_models(self, model: str, path: str) -> None:
        """Raises MadrlError, with the remedy, when the service does not list ``model`` at GET ``path``."""
        url = f"{self.url}{path}"
        try:
            answer = httpx.get(url, headers=self._headers, timeout=READY_TIMEOUT_S, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MadrlError(
                f"no answer at {url} ({type(error).__name__}): start the service, or name its url"
            ) from error
        if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise MadrlError(f"{url} wants another key: name the environment variable that holds it (api_key_variable)")
        try:
            names = [entry["id"] for entry in answer.json()["data"]]
        except (ValueError, LookupError, TypeError):
            raise MadrlError(
                f"{url} lists no models (HTTP {answer.status_code}): name the address of an OpenAI-compatible service"
            ) from None
        if model not in names:
            raise MadrlError(f"{url} has no model {model!r}: name one of {names}")

    def _enter_loop(self) -> None:
        """Everything that belongs to an event loop, anew in a new one. A former loop's connections are dropped: only
        their own loop could have closed them."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._turns, self._pace = Turns(self._concurrency), Pace(self._per_minute)
            self._http = connections(self._deadline_s / 2, self._deadline_s / 2, self._headers)

    async def _attempt(self, path: str, content: bytes | None) -> httpx.Response:
        try:
            if content is None:
                answer = await self._http.get(f"{self.url}{path}")
            else:
                answer = await self._http.post(f"{self.url}{path}", **json_body(content))
        except httpx.RequestError as error:
            raise _TroubleError(f"{type(error).__name__} {error}".rstrip()) from error
        status, said = answer.status_code, answer.text[:SHOWN_CHARACTERS]
        if status in REPEATED or status >= 500:
            self._pace.leave_alone(retry_after_s(answer, self._deadline_s))
            raise _TroubleError(f"HTTP {status} {said}")
        if status != httpx.codes.OK:
            refused = f"{self.url}{path} refuses the request: HTTP {status} {said}"
            raise NoAnswerError(refused) if status in OF_THE_QUESTION else MadrlError(refused)
        return answer


def _found(read: Callable[[Any], T], answer: httpx.Response) -> T:
    try:
        return read(answer.json())
    except (UnreadableError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise _TroubleError(f"unreadable answer ({type(error).__name__}: {error})", unreadable=True) from error
