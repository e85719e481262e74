import asyncio
import json
import os
import random
import socket
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scripted_service import Handler, Hole, Reply, ScriptedService, verdict

from madrl.errors import MadrlError
from madrl.grading.programs import sandbox_client
from madrl.grading.programs.sandbox_client import MAX_INTERNAL_ERRORS, SandboxClient

REQUEST = {"language": "python", "code": "print(1)", "tests": [{"input": "", "output": "1"}]}


def script(*replies: Reply) -> Handler:
    """Each reply once, in order, and the last one ever after."""
    rest = list(replies)

    async def handler(request: dict[str, Any]) -> Reply:
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return handler


async def hang(request: dict[str, Any]) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def echo(request: dict[str, Any]) -> Reply:
    """After a moment, the verdict that the code asks for."""
    await asyncio.sleep(random.uniform(0, 0.02))
    return verdict(request["code"])


def asking(*services: ScriptedService, deadline_s: float = 600.0, **options: Any) -> SandboxClient:
    """A client of these replicas, which asks for no slots unless it is told to."""
    options = {"max_concurrency": 64, **options}
    return SandboxClient([service.url for service in services], deadline_s=deadline_s, **options)


@pytest.mark.parametrize("code", ["AC", "WA", "TLE", "MLE", "RE", "CE", "OLE"])
async def test_a_verdict_comes_back_with_the_whole_answer(code: str) -> None:
    async with ScriptedService(script(verdict(code))) as service, asking(service) as client:
        result = await client.judge(REQUEST)
    assert (result.verdict, result.reason) == (code, "")
    assert service.requests == [REQUEST]


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(429),
        Reply(502, b"<html>"),
        Reply(503, headers={"Retry-After": "30"}),
        Reply(504),
        Reply(500),
        verdict("IE", "no space left"),
        Reply(cut_after=0),
        Reply(cut_after=10),
        Reply(body=b'{"verdict": "AC"', cut_after=1000),
        Reply(body=b'{"verdict": "AC"}', cut_after=-3),
        Reply(body=b'{"verdict": "A'),
        Reply(body=b'{"verdict": ["AC"]}'),
        Reply(body=b'["AC"]'),
        Reply(body=b"\xff\xfe\xfa"),
        Reply(headers={"Content-Length": "nonsense"}),
        Reply(headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
    ],
    ids=lambda reply: f"{reply.status} {reply.body.decode(errors='replace')} cut after {reply.cut_after}",
)
async def test_after_any_trouble_the_request_is_repeated(trouble: Reply) -> None:
    async with (
        ScriptedService(script(trouble, trouble, verdict("WA"))) as service,
        asking(service) as client,
    ):
        result = await client.judge(REQUEST)
    assert result.verdict == "WA"
    assert service.requests == [REQUEST] * 3


async def test_a_refusal_waits_for_as_long_as_retry_after_says() -> None:
    busy = Reply(429, headers={"Retry-After": "1"})
    async with ScriptedService(script(busy, verdict())) as service, asking(service) as client:
        started = time.monotonic()
        assert (await client.judge(REQUEST)).verdict == "AC"
    assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize("value", ["-1", "1e3", "nan", "", "Wed, 21 Oct 2065 07:28:00 GMT", "٣", "99999999999999"])
async def test_a_retry_after_that_is_no_number_of_seconds_is_passed_over(value: str) -> None:
    reply = Reply(429, headers={"Retry-After": value.encode().decode("latin-1")})
    async with (
        ScriptedService(script(reply, verdict())) as service,
        asking(service) as client,
    ):
        assert (await client.judge(REQUEST)).verdict == "AC"


@pytest.mark.parametrize("trouble", [verdict("IE", "no space left"), Reply(500, b"no space left"), verdict("XX")])
async def test_a_service_that_fails_on_a_request_is_asked_three_times(trouble: Reply) -> None:
    async with ScriptedService(script(trouble)) as service, asking(service) as client:
        result = await client.judge(REQUEST)
    assert result.verdict is None
    assert service.url in result.reason
    assert "no space left" in result.reason or "another kind" in result.reason
    assert len(service.requests) == MAX_INTERNAL_ERRORS == 3


async def test_after_an_internal_error_another_replica_is_asked() -> None:
    async with (
        ScriptedService(script(verdict("IE"))) as sick,
        ScriptedService(script(verdict())) as well,
        asking(sick, well) as client,
    ):
        while not sick.requests:
            assert (await client.judge(REQUEST)).verdict == "AC"


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
async def test_a_refused_request_is_ungraded_at_once_with_the_services_words(status: int) -> None:
    refusal = Reply(status, b'{"detail": "tests: at least 1"}')
    async with ScriptedService(script(refusal)) as service, asking(service) as client:
        result = await client.judge(REQUEST)
    assert result.verdict is None
    assert f"HTTP {status}" in result.reason
    assert "tests: at least 1" in result.reason
    assert len(service.requests) == 1


NO_JAVA = Reply(501, b'{"detail": "java is not served here: apt-get install default-jdk-headless"}')


async def without_java(request: dict[str, Any]) -> Reply:
    return NO_JAVA if request["language"] == "java" else verdict()


async def test_a_language_that_a_replica_lacks_is_graded_by_another_and_that_replica_is_not_left_alone() -> None:
    async with (
        ScriptedService(without_java) as lacking,
        ScriptedService(script(verdict("WA"))) as whole,
        asking(lacking, whole) as client,
    ):
        java = {**REQUEST, "language": "java"}
        # It misses all sixty first choices once in 2^60 runs.
        assert {(await client.judge(java)).verdict for _ in range(60)} == {"WA"}
        assert lacking.requests == [java]
        (record,) = [replica for replica in client._fleet.known if replica.url == lacking.url]
        assert (record.aside_until, record.failures) == (0.0, 0)
        await whole.kill()
        assert (await client.judge(REQUEST)).verdict == "AC"


async def test_a_language_that_no_replica_has_is_ungraded_at_once_with_the_remedy() -> None:
    async with (
        ScriptedService(without_java) as one,
        ScriptedService(without_java) as other,
        asking(one, other) as client,
        asyncio.timeout(300),  # half the deadline
    ):
        results = [await client.judge({**REQUEST, "language": "java"}) for _ in range(3)]
        assert (await client.judge(REQUEST)).verdict == "AC"
    for result in results:
        assert result.verdict is None
        assert "no sandbox serves java" in result.reason
        assert f"{other.url}: java is not served here: apt-get install default-jdk-headless" in result.reason
    assert sum(request["language"] == "java" for service in (one, other) for request in service.requests) == 2


async def too_large(request: dict[str, Any]) -> Reply:
    """A service that takes a thousand bytes."""
    return Reply(413, b"too large") if len(json.dumps(request)) > 1000 else verdict()


async def test_a_program_too_large_for_the_service_is_a_compile_error() -> None:
    async with ScriptedService(too_large) as service, asking(service) as client:
        result = await client.judge({**REQUEST, "code": "x" * 1000})
    assert result.verdict == "CE"
    assert "too large" in result.reason


async def test_tests_too_large_for_the_service_are_not_the_programs_fault() -> None:
    async with ScriptedService(too_large) as service, asking(service) as client:
        result = await client.judge({**REQUEST, "tests": [{"input": "x" * 1000, "output": ""}]})
    assert result.verdict is None
    assert "HTTP 413" in result.reason


async def test_characters_that_utf8_cannot_carry_are_replaced_and_nul_arrives() -> None:
    async with ScriptedService(script(verdict("CE"))) as service, asking(service) as client:
        assert (await client.judge({**REQUEST, "code": "a\ud800b\x00c\udfffनमस्ते😀"})).verdict == "CE"
    assert service.requests[0]["code"] == "a?b\x00c?नमस्ते😀"


async def out_of_time(handler: Handler, last_trouble: str, alive: bool) -> None:
    """Ask until the deadline. On a busy machine it may pass before there is an answer: then a later one is tried."""
    for deadline_s in (0.7, 7.0, 70.0):
        async with ScriptedService(handler) as service:
            if not alive:
                await service.kill()
            async with asking(service, deadline_s=deadline_s) as client, asyncio.timeout(300):
                started = time.monotonic()
                result = await client.judge(REQUEST)
                assert time.monotonic() - started >= deadline_s
        assert result.verdict is None
        assert f"within {deadline_s:g} s" in result.reason
        if last_trouble in result.reason:
            return
    pytest.fail(f"{last_trouble!r} is never named")


@pytest.mark.parametrize(
    ("handler", "last_trouble"),
    [
        (hang, "ReadTimeout"),
        (script(Reply(429)), "HTTP 429"),
        (script(Reply(504, b"queue full")), "HTTP 504 queue full"),
    ],
    ids=["hang", "429", "504"],
)
async def test_when_the_deadline_passes_it_is_ungraded_and_names_the_last_trouble(
    handler: Handler, last_trouble: str
) -> None:
    await out_of_time(handler, last_trouble, alive=True)


async def test_when_nobody_is_there_it_is_ungraded_at_the_deadline() -> None:
    await out_of_time(hang, "ConnectError", alive=False)


async def test_those_that_wait_for_their_turn_give_up_when_no_verdict_comes_at_all() -> None:
    async with ScriptedService(hang) as service, asking(service, max_concurrency=1, deadline_s=0.5) as client:
        results = await asyncio.gather(*(client.judge(REQUEST) for _ in range(5)))
    assert [result.verdict for result in results] == [None] * 5
    assert any("waiting for its turn, 1 at a time" in result.reason for result in results)


async def test_a_service_that_is_slower_than_a_batch_s_deadline_judges_all_of_it() -> None:
    """Eight requests, one at a time, a fourth of a deadline each. On a busy machine one may miss it: then a longer one
    is tried."""
    ungraded = 0
    for deadline_s in (1.0, 10.0, 100.0):

        async def slow(request: dict[str, Any], takes_s: float = deadline_s / 4) -> Reply:
            await asyncio.sleep(takes_s)
            return verdict()

        async with (
            ScriptedService(slow) as service,
            asking(service, max_concurrency=1, deadline_s=deadline_s, request_timeout_s=deadline_s) as client,
        ):
            results = await asyncio.gather(*(client.judge(REQUEST) for _ in range(8)))
        ungraded = [result.verdict for result in results].count(None)
        if not ungraded:
            assert {result.verdict for result in results} == {"AC"}
            return
    pytest.fail(f"{ungraded} of 8 are ungraded")


async def test_a_replica_that_accepts_and_never_answers_loses_no_verdict_and_is_not_used_again() -> None:
    """Two batches. On a busy machine the other replica may seem silent too: then a longer deadline is tried."""
    verdicts: set[str | None] = set()
    sent: list[int] = []
    for deadline_s in (6.0, 60.0, 600.0):
        verdicts, sent = set(), []
        async with (
            Hole() as hole,
            ScriptedService(echo) as alive,
            SandboxClient([hole.url, alive.url], deadline_s=deadline_s) as client,
        ):
            for _ in range(2):
                results = await asyncio.gather(*(client.judge({**REQUEST, "code": "AC"}) for _ in range(128)))
                verdicts |= {result.verdict for result in results}
                sent.append(sum(head.startswith("POST") for head in hole.heads))
        if verdicts == {"AC"} and sent[0] == sent[1] > 0:
            return
    pytest.fail(f"verdicts {verdicts}, programs sent to the silent replica {sent}")


async def test_a_busy_replica_that_answers_health_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_client, "SILENCE_S", 0.05)
    monkeypatch.setattr(sandbox_client, "PROBE_S", 600.0)
    service: ScriptedService

    async def when_asked_three_times(request: dict[str, Any]) -> Reply:
        while service.health_requests < 3:
            await asyncio.sleep(0.01)
        return verdict()

    async with ScriptedService(when_asked_three_times) as service, asking(service, deadline_s=6000) as client:
        assert (await client.judge(REQUEST)).verdict == "AC"
    assert service.requests == [REQUEST]


async def test_a_request_that_its_deadline_ends_is_a_failure_of_the_replica_that_had_it() -> None:
    async with ScriptedService(hang) as service, asking(service, deadline_s=0.5, request_timeout_s=600) as client:
        result = await client.judge(REQUEST)
        assert (result.verdict, result.reason) == (None, "no sandbox verdict within 0.5 s: no answer")
        (replica,) = client._fleet.known
        assert (replica.failures, replica.in_flight) == (1, 0)


async def test_a_request_that_its_caller_ends_is_nobody_s_failure() -> None:
    async with ScriptedService(hang) as service, asking(service) as client:
        asked = asyncio.create_task(client.judge(REQUEST))
        while not service.requests:
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert client._fleet.known[0].failures == 0


async def test_a_machine_that_has_vanished_from_the_network_is_noticed_by_tcp_itself() -> None:
    async with ScriptedService(hang) as service, asking(service) as client:
        asked = asyncio.create_task(client.judge(REQUEST))
        while not service.requests:
            await asyncio.sleep(0.01)
        found = [options for options in map(tcp_options, Path("/proc/self/fd").iterdir()) if options[0] == service.port]
        asked.cancel()
    assert found == [(service.port, 1, 30, 10, 3, 60_000)]


def tcp_options(descriptor: Path) -> tuple[int, ...]:
    """The port at the other end of one of this process's sockets, and its options; (0,) for any other file."""
    try:
        with socket.socket(fileno=os.dup(int(descriptor.name))) as end:
            names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
            options = [end.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
            return (end.getpeername()[1], end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *options)
    except OSError:
        return (0,)


async def test_an_attempt_that_hangs_is_given_up_for_another_replica() -> None:
    async with (
        ScriptedService(hang) as stuck,
        ScriptedService(script(verdict())) as well,
        asking(stuck, well, request_timeout_s=0.3) as client,
    ):
        while not stuck.requests:
            assert (await client.judge(REQUEST)).verdict == "AC"


async def test_a_cancelled_request_frees_its_turn_and_its_connection() -> None:
    async with ScriptedService(hang) as service, asking(service, max_concurrency=1) as client:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.judge(REQUEST), 0.2)
        service.handler = script(verdict())
        assert (await client.judge(REQUEST)).verdict == "AC"


async def test_killing_and_restarting_the_service_in_the_middle_of_a_batch_loses_no_verdict() -> None:
    wanted = [random.choice(["AC", "WA", "TLE", "RE"]) for _ in range(200)]
    async with ScriptedService(echo) as service, asking(service, max_concurrency=16) as client:
        batch = asyncio.gather(*(client.judge({**REQUEST, "code": code}) for code in wanted))
        for n in (50, 120):
            while len(service.requests) < n and not batch.done():
                await asyncio.sleep(0.001)
            await service.kill()
            await asyncio.sleep(0.3)
            await service.start()
        results = await batch
    assert [result.verdict for result in results] == wanted


async def test_with_one_of_two_replicas_dead_the_other_serves_all() -> None:
    async with ScriptedService(echo) as dead, ScriptedService(echo) as alive:
        await dead.kill()
        async with asking(dead, alive) as client:
            results = await asyncio.gather(*(client.judge({**REQUEST, "code": "AC"}) for _ in range(200)))
        await dead.start()
    assert {result.verdict for result in results} == {"AC"}
    assert len(alive.requests) == 200


async def test_a_replica_that_keeps_failing_is_left_alone_for_longer_and_longer() -> None:
    asked_at: list[float] = []

    async def fails(request: dict[str, Any]) -> Reply:
        asked_at.append(time.monotonic())
        return Reply(cut_after=0)

    async with (
        ScriptedService(fails) as sick,
        ScriptedService(script(verdict())) as well,
        asking(sick, well) as client,
        asyncio.timeout(600),
    ):
        while len(asked_at) < 4:
            assert (await client.judge(REQUEST)).verdict == "AC"
            await asyncio.sleep(0.005)
    gaps_s = [later - earlier for earlier, later in pairwise(asked_at)]
    assert all(gap_s >= least_s for gap_s, least_s in zip(gaps_s, (0.25, 0.5, 1.0), strict=True)), gaps_s


async def test_a_replica_that_comes_back_is_used_again() -> None:
    async with ScriptedService(echo) as one, ScriptedService(echo) as other:
        await one.kill()
        async with asking(one, other) as client:
            for _ in range(10):
                await client.judge({**REQUEST, "code": "AC"})
            await one.start()
            async with asyncio.timeout(600):
                while not one.requests:
                    await client.judge({**REQUEST, "code": "AC"})


async def test_requests_go_to_the_replica_with_the_fewest_in_flight() -> None:
    release = asyncio.Event()

    async def hold(request: dict[str, Any]) -> Reply:
        await release.wait()
        return verdict()

    async with (
        ScriptedService(hold) as one,
        ScriptedService(hold) as other,
        ScriptedService(hold) as third,
        asking(one, other, third) as client,
    ):
        batch = [asyncio.create_task(client.judge(REQUEST)) for _ in range(30)]
        while one.in_flight + other.in_flight + third.in_flight < 30 and not any(task.done() for task in batch):
            await asyncio.sleep(0.005)
        in_flight = (one.in_flight, other.in_flight, third.in_flight)
        release.set()
        await asyncio.gather(*batch)
    assert in_flight == (10, 10, 10)


async def test_equally_loaded_replicas_take_turns_at_random() -> None:
    async with (
        ScriptedService(script(verdict())) as one,
        ScriptedService(script(verdict())) as other,
        asking(one, other) as client,
    ):
        for _ in range(60):
            await client.judge(REQUEST)
    # Each misses all sixty once in 2^60 runs.
    assert one.requests
    assert other.requests


async def test_never_more_requests_in_flight_than_allowed() -> None:
    async with ScriptedService(echo) as service, asking(service, max_concurrency=7) as client:
        await asyncio.gather(*(client.judge({**REQUEST, "code": "AC"}) for _ in range(100)))
    assert service.most_in_flight == 7


def test_a_client_serves_one_event_loop_after_another() -> None:
    service = ScriptedService(echo)
    clients: list[SandboxClient] = []

    async def batch(close: bool) -> set[str | None]:
        async with service:
            client = clients[0] if clients else asking(service, max_concurrency=2)
            clients[:] = [client]
            results = await asyncio.gather(*(client.judge({**REQUEST, "code": "AC"}) for _ in range(20)))
            if close:
                await client.aclose()
        return {result.verdict for result in results}

    assert [asyncio.run(batch(close)) for close in (True, False, True)] == [{"AC"}] * 3


async def test_a_closed_client_leaves_no_connection_and_can_be_used_again() -> None:
    async with ScriptedService(script(verdict())) as service:
        client = asking(service)
        for _ in range(2):
            assert (await client.judge(REQUEST)).verdict == "AC"
            await client.aclose()
            await client.aclose()
            async with asyncio.timeout(300):
                while service.connections:
                    await asyncio.sleep(0.01)


async def test_a_proxy_in_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with ScriptedService(script(verdict())) as service, asking(service) as client:
        assert (await client.judge(REQUEST)).verdict == "AC"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "localhost", "ftp://host", "http://", "http://host:port"])
def test_a_url_that_is_none_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(MadrlError, match="write it as http://host:port"):
        SandboxClient([url])


def test_a_slash_after_a_url_makes_no_difference() -> None:
    assert SandboxClient(["http://host:1/"]).urls == ["http://host:1"]


def test_no_url_at_all_is_refused() -> None:
    with pytest.raises(MadrlError, match="no sandbox URL"):
        SandboxClient([])
