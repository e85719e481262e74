"""An async client for one or more replicas of the sandbox service: one program in, one verdict out.

A verdict depends on nothing but the program, so a request may be sent again, to any replica, as often as it takes. What
goes wrong on the way never becomes a verdict: when nothing helps, the result says *ungraded*, and why.
"""

import asyncio
import itertools
import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import httpx

from madrl.errors import MadrlError
from madrl.grading.connections import MAX_BACKOFF_S, backoff_s, connections, json_body, retry_after_s
from madrl.grading.programs.fleet import Fleet
from madrl.grading.programs.replicas import NOT_SERVED, Replica, next_replica
from madrl.grading.turns import Turns

VERDICTS = frozenset({"AC", "WA", "TLE", "MLE", "RE", "CE", "OLE"})
"""What the service can say of a program. Its IE is not among them: that says nothing of the program."""

MAX_INTERNAL_ERRORS = 3
"""Attempts that may end in IE or a 5xx that is no overload: then the service works and fails on this request."""

MAX_RETRY_AFTER_S = 60.0

FIRST_TURNS, LEAST_TURNS = 64, 4
"""Requests at a time at a replica that does not tell its slots, and at least, which is also before any has told."""

SILENCE_S, PROBE_S = 60.0, 15.0
"""A replica that has not answered a request for SILENCE is asked for /health, again and again, for PROBE each time."""


class JudgeResult(NamedTuple):
    """The service's answer to one request, or why there is none."""

    verdict: str | None
    """One of VERDICTS, or None when ungraded: nothing is known about the program."""
    reason: str = ""
    """Why it is ungraded, or has a verdict although nothing ran."""
    status: int = httpx.codes.OK
    """The HTTP status behind it."""
    tried_exec: bool = False
    """Whether the program tried to start another one, as far as the service can tell."""
    passed: float = 0.0
    """The share of the tests that it passed, in [0, 1]. Those that were not run count as not passed."""


class _AttemptError(Exception):
    """An attempt without a verdict, worth repeating. Its text names the replica and what happened."""

    def __init__(self, text: str, internal: bool = False) -> None:
        super().__init__(text)
        self.internal = internal
        """The service works and fails on this request."""


class _NotServedError(Exception):
    """The replica has no toolchain for the request's language; others may."""


@dataclass
class _Course:
    """What a request has been through, for the reason when its deadline passes."""

    trouble: str
    deadline: asyncio.Timeout | None = None
    """The limit of its turn, once it has one."""
    has_failed: bool = False
    """Whether any attempt has failed."""

    def is_late(self) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and self.deadline.expired()

    def prolong(self, until: float) -> None:
        """Move the deadline, as long as nothing but a queue has been in the way."""
        if self.deadline is not None and not self.has_failed:
            self.deadline.reschedule(until)


class _Patience(NamedTuple):
    """How long a replica may be silent before it is asked whether it is there, and how long it may take to say so."""

    silence_s: float
    probe_s: float
    attempt_s: float
    """How long an attempt may take, counted anew whenever the replica has answered another request."""
    deadline_s: float
    """The same of a request with all its attempts, of which the first alone is counted anew."""


class SandboxClient:
    """Asks replicas of the service for verdicts. ``urls`` are addresses, or sources of addresses that change
    (fleet.py).

    A request goes to the replica with the fewest of our own requests in flight. One that loses connections or answers
    5xx or IE is left alone for a short, growing time; one that answers 429 for as long as it asks; one that has no
    toolchain for a language (501) is asked for the others only. One that has failed gets one request at a time, after
    it has answered /health, until it gives a verdict again, as long as another replica works.

    ``max_concurrency`` bounds the requests taken up at a time, over all replicas. When it is not given, each
    replica's /health is asked for its slots, and the bound is twice as many as there are for each of the
    ``clients`` that share them: enough that no slot waits for a request, few enough that another client's need not
    wait long. ``deadline_s`` bounds each from the moment that it gets its turn, so that any number of them may wait
    behind a slow service; those that wait give up when nothing at all has been answered for as long.
    ``request_timeout_s`` bounds one attempt and defaults to two thirds of the deadline. Both are counted anew
    whenever the replica that has the request says in /health that it has answered others meanwhile, ours or another
    client's: then its queue moves, however slowly. The deadline is not, once the request has failed somewhere. An
    attempt ends much earlier at a replica that accepts requests and is not there: every SILENCE_S, or a fourth of
    ``request_timeout_s`` if that is less, its /health is asked for, which a busy service answers. ``headers`` go
    with every request.

    Works in one event loop at a time, and opens new connections in a new loop: ``aclose`` in each one that ends.
    Ignores proxies in the environment. Raises MadrlError when ``urls`` is empty or holds what is no source.
    """

    def __init__(
        self,
        urls: Sequence[str],
        max_concurrency: int | None = None,
        deadline_s: float = 300.0,
        request_timeout_s: float | None = None,
        headers: Mapping[str, str] | None = None,
        clients: int = 1,
    ) -> None:
        if not urls:
            raise MadrlError("no sandbox URL: give at least one, such as http://127.0.0.1:8080")
        self._fixed = max_concurrency
        self._clients = clients
        self.deadline_s = deadline_s
        self.request_timeout_s = deadline_s * 2 / 3 if request_timeout_s is None else request_timeout_s
        silence_s, probe_s = (min(at_most_s, self.request_timeout_s / 4) for at_most_s in (SILENCE_S, PROBE_S))
        self.patience = _Patience(silence_s, probe_s, self.request_timeout_s, deadline_s)
        self._headers = headers
        self._fleet = Fleet(urls)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None
        self._turns = Turns(max_concurrency or LEAST_TURNS)
        self._learning: set[asyncio.Task[None]] = set()

    @property
    def urls(self) -> list[str]:
        """The replicas' addresses, as of the last look."""
        return [replica.url for replica in self._fleet.known]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close this loop's connections. The client can be used again."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            for task in self._learning:
                task.cancel()
            await asyncio.gather(*self._learning, return_exceptions=True)
            await http.aclose()

    async def judge(self, request: Mapping[str, Any]) -> JudgeResult:
        """The service's verdict on ``request``, which holds the fields of its ``POST /judge``.

        Repeats the request until there is one: after 429, 502, 503, 504, a lost connection, a timeout or half an answer
        until the deadline; after IE or any other 5xx twice. Ungraded when that does not help, and at once when the
        service refuses the request as such (any other 4xx) and when no replica has the language.

        What the program itself causes is no reason to be ungraded: characters that UTF-8 cannot carry (half a surrogate
        pair) are sent as ``?``, and a program that is alone too large for the service (413) is a compile error, CE.
        """
        http = self._connections()
        course = _Course(f"waiting for its turn, {self._turns.limit} at a time")
        try:
            async with (
                self._turns.taken(self.deadline_s, self._moved_at),
                asyncio.timeout(self.deadline_s) as course.deadline,
            ):
                course.trouble = "no answer"
                result = await self._settle(http, request, course)
                if result.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
                    alone = await self._settle(http, {**request, "tests": [{"input": "", "output": ""}]}, course)
                    if alone.status == result.status:
                        return JudgeResult("CE", "the program is too large for the sandbox")
                return result
        except TimeoutError:
            return JudgeResult(None, f"no sandbox verdict within {self.deadline_s:g} s: {course.trouble}")

    def _moved_at(self) -> float:
        return max(replica.moved_at for replica in self._fleet.known) if self._fleet.known else -math.inf

    def _connections(self) -> httpx.AsyncClient:
        """This loop's connection pool. A former loop's is dropped: only its own loop could have closed it."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._http, self._turns = loop, None, Turns(self._turns.limit)
            self._learning.clear()
        if self._http is None:
            # The turns bound the connections: one for each request, and one to ask for /health while it waits.
            self._http = connections(self.request_timeout_s, None, self._headers)
        return self._http

    async def _settle(self, http: httpx.AsyncClient, request: Mapping[str, Any], course: _Course) -> JudgeResult:
        """Repeat the request until repeating it would not change the result."""
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        language = str(request["language"])
        replica, internal_errors = None, 0
        for attempt in itertools.count():
            replicas = await self._fleet.replicas()
            self._learn_slots(http, replicas)
            able = [replica for replica in replicas if replica.may_have(language)]
            if not replicas:  # pods or nodes that are still to come
                course.trouble = f"no sandbox at {', '.join(self._fleet.sources)} {self._fleet.trouble}".rstrip()
                await asyncio.sleep(random.uniform(0, MAX_BACKOFF_S))
                continue
            if not able:
                return JudgeResult(None, _no_replica_has(language, replicas), httpx.codes.NOT_IMPLEMENTED)
            replica = await next_replica(able, avoid=replica)
            try:
                return await _attempt(http, replica, request, body, self.patience, course)
            except _NotServedError:
                continue
            except _AttemptError as trouble:
                course.trouble = str(trouble)
                course.has_failed = True
                internal_errors += trouble.internal
            if internal_errors == MAX_INTERNAL_ERRORS:
                return JudgeResult(None, course.trouble, httpx.codes.INTERNAL_SERVER_ERROR)
            await asyncio.sleep(backoff_s(attempt))
        raise AssertionError("unreachable")

    def _learn_slots(self, http: httpx.AsyncClient, replicas: Sequence[Replica]) -> None:
        """Ask those that are new for their slots, beside everything else, and set the number of turns by what is known.
        One that does not tell counts as FIRST_TURNS / 2 slots, one that has not answered yet as none."""
        if self._fixed is not None:
            return

        async def ask(replica: Replica) -> None:
            try:
                answer = await http.get(f"{replica.url}/health", timeout=self.patience.probe_s)
                replica.slots = max(1, int(answer.json()["slots"]))
            except (httpx.RequestError, ValueError, KeyError, TypeError):
                replica.slots = FIRST_TURNS // 2
            self._set_turns()

        for replica in replicas:
            if not replica.asked_for_slots:
                replica.asked_for_slots = True
                task = asyncio.create_task(ask(replica))
                self._learning.add(task)
                task.add_done_callback(self._learning.discard)
        self._set_turns()

    def _set_turns(self) -> None:
        slots = sum(replica.slots or 0 for replica in self._fleet.known)
        limit = max(LEAST_TURNS, math.ceil(2 * slots / self._clients))
        if limit != self._turns.limit:
            self._turns.resize(limit)


def _no_replica_has(language: str, replicas: Sequence[Replica]) -> str:
    said = "; ".join(f"{replica.url}: {replica.without[language][1]}" for replica in replicas)
    return f"{NOT_SERVED} {language} ({said}): install it and start that sandbox again, or add one that has it"


async def _attempt(
    http: httpx.AsyncClient,
    replica: Replica,
    request: Mapping[str, Any],
    body: bytes,
    patience: _Patience,
    course: _Course,
) -> JudgeResult:
    """Send the request once. Raises _AttemptError when it is worth repeating and _NotServedError when it is worth
    sending to another, after telling the replica's record."""
    replica.in_flight += 1
    try:
        response = await _answer(http, replica, body, patience, course)
    except httpx.RequestError as error:
        raise _failure(replica, f"{type(error).__name__} {error}".rstrip()) from error
    except asyncio.CancelledError:
        if course.is_late():
            replica.failed(f"sandbox {replica.url}: no answer to a request whose deadline has passed")
        raise
    finally:
        replica.in_flight -= 1
    status = response.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS:
        replica.leave_alone(retry_after_s(response, MAX_RETRY_AFTER_S))
        raise _AttemptError(f"sandbox {replica.url}: overloaded (HTTP 429)")
    if status == httpx.codes.NOT_IMPLEMENTED:
        replica.lacks(str(request["language"]), _detail(response))
        raise _NotServedError
    if status >= 500:
        # A draining service's Retry-After is not heeded: the next one at this address may be there sooner.
        raise _failure(replica, f"HTTP {status} {response.text[:200]}", internal=status not in (502, 503, 504))
    if status != httpx.codes.OK:
        reason = f"sandbox {replica.url} refuses the request: HTTP {status} {response.text[:200]}"
        return JudgeResult(None, reason, status)
    try:
        report = response.json()
    except ValueError as error:
        raise _failure(replica, "half an answer") from error
    verdict = report.get("verdict") if isinstance(report, dict) else report
    if not (isinstance(verdict, str) and verdict in VERDICTS):
        message = report.get("message", "") if verdict == "IE" else "an answer of another kind"
        raise _failure(replica, f"internal error: {message}", internal=True)
    passed, total = report.get("passed"), report.get("total")
    share = passed / total if isinstance(passed, int) and isinstance(total, int) and total else 0.0
    replica.worked()
    return JudgeResult(verdict, tried_exec=report.get("tried_exec") is True, passed=share)


async def _answer(
    http: httpx.AsyncClient, replica: Replica, body: bytes, patience: _Patience, course: _Course
) -> httpx.Response:
    """The replica's answer to the request. Raises httpx.RequestError when none comes while the replica answers no other
    either, and when it does not answer /health, which it is asked for whenever there is reason to doubt that it is
    there."""

    async def answered() -> object:
        """How many requests it has answered; None when it does not tell."""
        health = await http.get(f"{replica.url}/health", timeout=patience.probe_s)
        with suppress(ValueError, KeyError, TypeError):
            return health.json()["answered"]
        return None

    if replica.failures:
        await answered()
    moved = started = time.monotonic()
    before: object = None
    sending = asyncio.create_task(http.post(f"{replica.url}/judge", **json_body(body)))
    try:
        while not (await asyncio.wait({sending}, timeout=patience.silence_s))[0]:
            if time.monotonic() - moved >= patience.attempt_s:
                raise httpx.ReadTimeout(f"after {time.monotonic() - started:.3g} s")
            now = await answered()
            if before is not None and now != before:
                replica.moved_at = moved = time.monotonic()
                course.prolong(asyncio.get_running_loop().time() + patience.deadline_s)
            before = now
        return sending.result()
    finally:
        sending.cancel()


def _failure(replica: Replica, what: str, internal: bool = False) -> _AttemptError:
    trouble = f"sandbox {replica.url}: {what}"
    replica.failed(trouble)
    return _AttemptError(trouble, internal)


def _detail(response: httpx.Response) -> str:
    """What the service says in an error's body, as far as a line has room for it."""
    with suppress(ValueError, KeyError, TypeError):
        return str(response.json()["detail"])[:300]
    return response.text[:200]
