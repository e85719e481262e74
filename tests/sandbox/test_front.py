"""The front process: who may ask, what it refuses, and what it never does itself."""

import asyncio
import errno
import json
import os
import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI, Request
from test_service_death import until
from uvicorn import Config
from uvicorn.server import ServerState

from sandbox import connection, jobs
from sandbox.__main__ import _keep_proving, bind, canaries, find_toolchains, read_token
from sandbox.api import MAX_TESTS_CPU_S
from sandbox.bodies import Bodies, TooLargeError
from sandbox.box import Slot
from sandbox.cache import ArtifactCache
from sandbox.errors import BadRequestError, SandboxError, ToolchainMissingError
from sandbox.jobs import Answer, Canary, Compiled, CompileJob, Failed, Job, JudgeVerdict, Ran, RunJob, StoredRun
from sandbox.judge_service import JudgeService
from sandbox.languages import LANGUAGES, Toolchain
from sandbox.metrics import Metrics
from sandbox.pool import OverloadedError, Pool, Worker
from sandbox.service import ServiceState, build_app
from sandbox.settings import Protection, ServiceSettings
from sandbox.translation import aside, read_judge, read_run_code, read_stored, report_stored

TOKEN = "0123456789abcdef" * 2


class ScriptedWorker:
    """A worker that runs nothing: every program prints what is expected, and canaries fail as told."""

    def __init__(self) -> None:
        self.slot = Slot("", "")
        self.toolchains = {
            name: Toolchain(name, f"{name} 1", ("compiler",), ("run",)) for name in ("python", "javascript")
        }
        self.done: list[Job] = []
        self.ran: list[jobs.TestCase] = []
        self.prints = b""
        self.problem = ""

    async def do(self, job: Job) -> Answer:
        self.done.append(job)
        if isinstance(job, CompileJob):
            return Compiled("ok", "main", 0, b"", b"", 0.0, 0.0, size_bytes=1)
        if isinstance(job, RunJob | StoredRun):
            self.ran = (job.loaded() if isinstance(job, StoredRun) else job).tests
            return Ran([jobs.TestResult(JudgeVerdict.AC, 0.1, 0.1, 1, 0, None, stdout=self.prints)] * job.count)
        return Failed(self.problem) if self.problem else Ran([])


def scripted(tmp_path: Path, token: str | None = None) -> tuple[ScriptedWorker, ServiceState, FastAPI]:
    """A service over one scripted worker."""
    worker = ScriptedWorker()
    state = over(worker, tmp_path, token)
    return worker, state, build_app(state)


def over(worker: ScriptedWorker, tmp_path: Path, token: str | None = None) -> ServiceState:
    """The state of a service over this worker."""
    pool = Pool([cast(Worker, worker)], 10)
    service = JudgeService(pool, ArtifactCache(tmp_path, 1 << 20), {}, Metrics())
    return ServiceState(service, ServiceSettings(), Protection.FULL, "", token)


async def ask(app: FastAPI, method: str, path: str, host: str = "127.0.0.1:8080", **how: Any) -> httpx.Response:
    """One request to the application, without a network."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}") as client:
        return await client.request(method, path, **how)


REQUEST: dict[str, Any] = {"language": "python", "code": "print(1)", "tests": [{"output": "1"}]}


async def test_a_cache_that_is_too_small_for_anything_keeps_a_checker_for_as_long_as_it_is_asked(
    tmp_path: Path,
) -> None:
    class CompilesOnce(ScriptedWorker):
        async def do(self, job: Job) -> Answer:
            assert len(self.done) < 3, "it is compiled again"
            self.kept = state.service.cache.size_bytes
            return await super().do(job)

    worker = CompilesOnce()
    state = over(worker, tmp_path)
    state.service.cache.max_bytes = 0
    checker = {"mode": "program", "language": "javascript", "code": "0"}
    answer = await ask(build_app(state), "POST", "/judge", json={**REQUEST, "checker": checker})
    assert answer.json()["verdict"] == "AC"
    assert [type(job) for job in worker.done] == [CompileJob, CompileJob, RunJob]
    assert (worker.kept, state.service.cache.size_bytes) == (2, 0)


@pytest.mark.parametrize(
    "body",
    [
        '{"time_limit_s": NaN}',
        '{"time_limit_s": Infinity}',
        '{"time_limit_s": 1e999}',
        '{"memory_limit_mb": ' + "9" * 5000 + "}",
        '{"checker": {"abs_tol": NaN}}',
        '{"checker": {"mode": "\\ud800"}}',
        '{"language": "\\ud800"}',
        '{"\\ud800": 1}',
        '{"stop_on_first_failure": "\\udfff"}',
        "[" * 100_000,
        "\ud800",
        "",
        "null",
        '{"tests": [' + "0," * 200_000 + "0]}",
        json.dumps({"tests": [{}] * 1000, "time_limit_s": 60}),
        "{" + ",".join(f'"a{n}": 0' for n in range(200_000)) + "}",
    ],
    ids=lambda body: ascii(body[:40]),
)
@pytest.mark.parametrize("route", ["/judge", "/run_code"])
async def test_a_malformed_request_is_the_clients_error(tmp_path: Path, body: str, route: str) -> None:
    if body.startswith("{") and len(body) < 1000:
        own = {**REQUEST, "files": {"\ud800": ""}} if route == "/run_code" else REQUEST
        body = json.dumps(own)[:-1] + ", " + body[1:]
    worker, _, app = scripted(tmp_path)
    content = body.encode("utf-8", "surrogatepass")
    answer = await ask(app, "POST", route, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert len(answer.text) < 5000
    assert worker.done == []


def test_all_tests_together_have_a_limit() -> None:
    work = json.dumps({**REQUEST, "tests": [{}] * 600, "time_limit_s": MAX_TESTS_CPU_S / 600})
    assert read_judge(work.encode()).run.count == 600
    with pytest.raises(BadRequestError, match="time_limit_s"):
        read_judge(json.dumps({**REQUEST, "tests": [{}] * 601, "time_limit_s": MAX_TESTS_CPU_S / 600}).encode())


@pytest.mark.parametrize("large", [False, True])
async def test_what_is_large_is_translated_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    asides: list[Any] = []

    async def noted(size_bytes: int, function: Callable[..., Any], *arguments: Any) -> Any:
        asides.append(function)
        return await aside(size_bytes, function, *arguments)

    monkeypatch.setattr("sandbox.service.aside", noted)
    worker, _, app = scripted(tmp_path)
    worker.prints = b"\0" * (100_000 if large else 10)
    text = "1 2\n" * (100_000 if large else 10)
    answer = await ask(app, "POST", "/judge", json={**REQUEST, "tests": [{"input": text, "output": text}] * 3})
    assert answer.json()["passed"] == 3
    assert isinstance(worker.done[-1], StoredRun if large else RunJob)
    assert [test.stdin for test in worker.ran] == [text.encode()] * 3
    ran = await ask(app, "POST", "/run_code", json={"language": "python", "code": ""})
    assert ran.json()["run_result"]["stdout"] == worker.prints.decode()
    assert set(asides) == ({read_stored, report_stored} if large else set())
    assert await aside(1, os.getpid) != os.getpid()


async def test_a_request_that_takes_too_much_memory_to_read_is_the_clients_error() -> None:
    with pytest.raises(BadRequestError, match="memory"):
        await aside(1, bytearray, 8 << 30)


def ends_its_process(times: int, note: Path) -> str:
    """Return the note, once so many processes have written a letter into it and died."""
    if len(note.read_text()) < times:
        with note.open("a") as file:
            file.write("x")
        os._exit(1)
    return note.read_text()


async def test_a_translator_that_is_lost_is_replaced_once_and_nobody_but_us_is_to_blame(tmp_path: Path) -> None:
    note = tmp_path / "note"
    note.write_text("")
    assert await aside(1, ends_its_process, 1, note) == "x"
    note.write_text("")
    with pytest.raises(SandboxError, match="lost twice"):
        await aside(1, ends_its_process, 9, note)
    assert note.read_text() == "xx"


async def test_a_request_whose_translator_is_lost_each_time_is_not_repeated_until_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be after 503."""
    _, _, app = scripted(tmp_path)
    note = tmp_path / "note"
    note.write_text("")

    async def lost(*_: Any) -> Any:
        return await aside(1, ends_its_process, 9, note)

    monkeypatch.setattr("sandbox.service.aside", lost)
    large = {**REQUEST, "tests": [{"input": "x" * 100_000}]}
    ran = {"language": "python", "code": "", "stdin": "x" * 100_000}
    answers = [await ask(app, "POST", "/judge", json=large), await ask(app, "POST", "/run_code", json=ran)]
    assert [answer.status_code for answer in answers] == [500, 504], answers
    assert "lost twice" in answers[0].text


async def test_an_answer_that_takes_too_much_memory_to_write_is_not_the_requests_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, _, app = scripted(tmp_path)
    worker.prints = b"x" * 100_000

    async def short_of_memory(*_: Any) -> Any:
        return await aside(1, bytearray, 8 << 30)

    monkeypatch.setattr("sandbox.service.aside", short_of_memory)
    answer = await ask(app, "POST", "/judge", json=REQUEST)
    assert answer.status_code == 503, answer.text


async def test_a_request_that_finds_no_descriptor_left_is_told_to_come_again(tmp_path: Path) -> None:
    _, _, app = scripted(tmp_path)
    large = {**REQUEST, "tests": [{"input": "x" * 100_000}]}
    ran = {"language": "python", "code": "", "stdin": "x" * 100_000}
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(lowest_free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        answers = [await ask(app, "POST", "/judge", json=large), await ask(app, "POST", "/run_code", json=ran)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [answer.status_code for answer in answers] == [429, 504]


async def test_a_mistake_of_ours_is_500_or_what_verls_client_repeats_and_is_left_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, state, app = scripted(tmp_path)

    async def disk_is_full(_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(state.service, "do", disk_is_full)
    ran = {"language": "python", "code": ""}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answers = [await client.post("/judge", json=REQUEST), await client.post("/run_code", json=ran)]
    assert [answer.status_code for answer in answers] == [500, 504]
    assert all("x-request-id" in answer.headers for answer in answers)
    with pytest.raises(OSError, match="No space left"):  # the server, which logs it
        await ask(app, "POST", "/run_code", json=ran)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a": "", "a/b": ""}, "its folder is a file too"),
        ({"a/b/c": "", "a": ""}, "its folder is a file too"),
        ({"a-": "", "a": "", "a/b": ""}, "'a/b': its folder is a file too"),
        ({"n" * 256: ""}, "longer than 255 bytes"),
        ({"é" * 128: ""}, "longer than 255 bytes"),
    ],
)
def test_files_that_no_folder_can_hold_are_refused(files: dict[str, str], problem: str) -> None:
    with pytest.raises(BadRequestError, match=problem):
        read_run_code(json.dumps({"language": "python", "code": "", "files": files}).encode())


def test_files_with_long_names_and_folders_in_common_are_taken() -> None:
    files = {"n" * 255: "", "a/b": "", "a/c": "", "ab": "", "a/b-": "", "a/bc/d": ""}
    work = read_run_code(json.dumps({"language": "python", "code": "", "files": files}).encode())
    assert isinstance(work.run, RunJob)
    assert work.run.files.keys() == files.keys()


def test_files_in_many_folders_are_looked_at_in_little_time() -> None:
    """As many and as deep as a request may have. They took 2 s, in which the service answered nobody."""
    deep = {f"{n:03}{'/d' * 498}": "" for n in range(1000)}
    body = json.dumps({"language": "python", "code": "", "files": deep}).encode()
    begun = time.process_time()
    read_run_code(body)
    assert time.process_time() - begun < 1


def test_a_file_that_is_asked_for_twice_is_fetched_once_under_each_of_its_names() -> None:
    asked = ["a", "b/c", "./a", "b//c", "a"]
    work = read_run_code(json.dumps({"language": "python", "code": "", "fetch_files": asked}).encode())
    assert isinstance(work.run, RunJob)
    assert work.run.fetch == ["a", "b/c", "./a", "b//c"]


def request_of(*chunks: bytes, declared: int | None = None) -> Request:
    """A request with this body."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    left = iter([*messages, {"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        return next(left)

    headers = [] if declared is None else [(b"content-length", b"%d" % declared)]
    return Request({"type": "http", "headers": headers}, receive)


async def test_bodies_are_admitted_by_their_bytes_before_anything_reads_them() -> None:
    bodies = Bodies(10, 15, lambda: OverloadedError(1))
    with ExitStack() as files:
        async with bodies.of(request_of(b"12345", b"67890"), files) as first:
            assert (first, bodies.held) == (b"1234567890", 10)
            with pytest.raises(OverloadedError):
                async with bodies.of(request_of(b"123", b"456"), files):
                    pass
            assert bodies.held == 10
            async with bodies.of(request_of(b"12345"), files) as second:
                assert second == b"12345"
        assert bodies.held == 0
        for too_large in (request_of(b"12345", b"678901"), request_of(declared=11)):
            with pytest.raises(TooLargeError):
                async with bodies.of(too_large, files):
                    pass
        assert bodies.held == 0


async def test_a_large_body_is_kept_whole_in_a_file_that_ends_with_its_request() -> None:
    chunks = [bytes([n]) * 50_000 for n in range(4)]
    with ExitStack() as files:
        async with Bodies(1 << 20, 1 << 20, lambda: OverloadedError(1)).of(request_of(*chunks), files) as body:
            assert isinstance(body, Path)
            assert body.read_bytes() == b"".join(chunks)
    assert not body.exists() or "memfd" not in str(body.readlink())


class Wire(asyncio.Transport):
    """The server's end of a connection, of which only the closing is watched."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = asyncio.Event()

    def write(self, data: Any) -> None:
        """Send nothing."""

    def close(self) -> None:
        """Note it."""
        self.closed.set()

    def is_closing(self) -> bool:
        """Whether it has been closed."""
        return self.closed.is_set()


@pytest.mark.parametrize("beginning", [b"", b"POST /judge HTTP/1.1\r\nHost: loc"])
async def test_a_head_that_does_not_end_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, beginning: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.01)
    _, _, app = scripted(tmp_path)
    config = Config(app, log_config=None)
    config.load()
    protocol, wire = connection.HeadInTime(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    if beginning:
        protocol.data_received(beginning)
    await asyncio.wait_for(wire.closed.wait(), 60)


async def test_a_head_that_ends_is_waited_for_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 1000.0)
    _, _, app = scripted(tmp_path)
    config = Config(app, log_config=None)
    config.load()
    protocol = connection.HeadInTime(config, ServerState(), {})
    protocol.connection_made(Wire())
    assert protocol._late is not None
    protocol.data_received(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert protocol._late is None
    while not protocol.cycle.response_complete:
        await asyncio.sleep(0)
    protocol.data_received(b"GET /health HT")
    assert protocol._late is not None
    protocol.connection_lost(None)
    assert protocol._late is None


# ---- who may ask


async def test_without_a_token_only_this_machines_own_names_are_served(tmp_path: Path) -> None:
    _, _, app = scripted(tmp_path)
    for host in ("localhost:8080", "127.0.0.1", "[::1]:8080", "127.1.2.3:1"):
        assert (await ask(app, "GET", "/languages", host)).status_code == 200, host
    for host in ("evil.example:8080", "localhost.evil.example", "192.168.1.1:8080"):
        answer = await ask(app, "POST", "/judge", host, json=REQUEST)
        assert (answer.status_code, "x-request-id" in answer.headers) == (421, True), host


async def test_what_a_page_in_a_browser_may_send_unasked_is_refused(tmp_path: Path) -> None:
    worker, _, app = scripted(tmp_path)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=application/json"):
        answer = await ask(app, "POST", "/judge", content=json.dumps(REQUEST), headers={"content-type": kind})
        assert (answer.status_code, "application/json" in answer.text) == (422, True)
    assert worker.done == []
    kind = "Application/JSON; charset=utf-8"
    answer = await ask(app, "POST", "/judge", content=json.dumps(REQUEST), headers={"content-type": kind})
    assert answer.json()["verdict"] == "AC"


async def test_the_documentation_tells_every_field_of_a_request(tmp_path: Path) -> None:
    _, _, app = scripted(tmp_path)
    described = (await ask(app, "GET", "/openapi.json")).json()
    for route, model in (
        ("/judge", "JudgeRequest"),
        ("/judge/batch", "BatchRequest"),
        ("/run_code", "RunCodeRequest"),
    ):
        body = described["paths"][route]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["$ref"] == f"#/components/schemas/{model}"
        own = "programs" if route == "/judge/batch" else "language"
        assert own in described["components"]["schemas"][model]["properties"]
    assert "language" in described["components"]["schemas"]["BatchProgram"]["properties"]


async def test_with_a_token_nothing_is_told_without_it_but_whether_the_service_is_well(tmp_path: Path) -> None:
    worker, _, app = scripted(tmp_path, TOKEN)
    wrong: list[dict[str, str]] = [{}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}]
    for headers in wrong:
        for method, path in (("POST", "/judge"), ("POST", "/run_code"), ("GET", "/languages"), ("GET", "/metrics")):
            answer = await ask(app, method, path, "node1:8080", headers=headers, json=REQUEST)
            assert answer.status_code == 401, path
        answer = await ask(app, "GET", "/health", "node1:8080", headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert worker.done == []
    right = {"authorization": f"Bearer {TOKEN}"}
    assert (await ask(app, "POST", "/judge", "node1:8080", headers=right, json=REQUEST)).json()["verdict"] == "AC"
    assert (await ask(app, "GET", "/health", "node1:8080", headers=right)).json()["slots"] == 1


def test_an_address_that_others_reach_needs_a_token() -> None:
    with pytest.raises(SandboxError, match="--token-file"):
        bind("0.0.0.0", 0, loopback_only=True)
    bind("127.0.0.1", 0, loopback_only=True).close()
    bind("0.0.0.0", 0, loopback_only=False).close()


def test_a_token_that_is_easily_guessed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(SandboxError, match="cannot read"):
        read_token(file)
    for text in ("", "\n", "short", "two words and some more of them"):
        file.write_text(text)
        with pytest.raises(SandboxError, match="openssl rand"):
            read_token(file)
    file.write_text(TOKEN + "\n")
    assert read_token(file) == TOKEN


# ---- whether it can still judge


async def test_health_turns_503_with_the_reason_when_a_proof_fails_and_back(tmp_path: Path) -> None:
    worker, state, app = scripted(tmp_path)
    worker.problem = "cannot compile: no space left"
    state.trouble = await state.service.prove(1000)
    answer = await ask(app, "GET", "/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "broken")
    for language in ("python", "javascript"):
        assert f"{language}: its canary program failed: cannot compile: no space left" in answer.json()["trouble"]
    worker.problem = ""
    state.trouble = await state.service.prove(1000)
    assert (await ask(app, "GET", "/health")).status_code == 200


class ClumsyWorker(ScriptedWorker):
    """A worker whose first canaries fail."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def do(self, job: Job) -> Answer:
        self.problem = "its sandbox was lost" if self.failures > 0 else ""
        self.failures -= 1
        return await super().do(job)


async def test_one_lost_sandbox_at_start_costs_no_language() -> None:
    worker = ClumsyWorker(1)
    assert await canaries(Pool([cast(Worker, worker)], 10), worker.toolchains) == {}
    worker = ClumsyWorker(4)
    missing = await canaries(Pool([cast(Worker, worker)], 10), worker.toolchains)
    assert missing == dict.fromkeys(worker.toolchains, "its canary program failed: its sandbox was lost")


async def test_a_language_whose_canary_failed_at_start_is_served_once_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker, state, app = scripted(tmp_path)
    state.service.missing |= {"python": "its canary program failed: no memory", "java": "javac is not installed"}
    assert (await ask(app, "POST", "/judge", json=REQUEST)).status_code == 501
    worker.problem = "no memory"
    state.service.proven["javascript"] = time.monotonic()
    assert await state.service.prove(1000) == ""
    assert state.service.missing.keys() == {"python", "java"}
    worker.problem = ""
    monkeypatch.setattr("sandbox.__main__.PROVE_S", 0)
    proving = asyncio.create_task(_keep_proving(state))
    told = ""
    async with asyncio.timeout(60):
        while "sandbox: python: served again" not in told:
            await asyncio.sleep(0)
            told += capsys.readouterr().err
    proving.cancel()
    assert state.service.missing == {"java": "javac is not installed"}
    assert (await ask(app, "POST", "/judge", json=REQUEST)).json()["verdict"] == "AC"


def test_java_is_not_served_without_its_loop_where_it_should_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Health would say that it has."""

    def prepared(folder: Path, *_: Any) -> Toolchain:
        return Toolchain("java", "java 1", ("javac",), ("java",))

    def unprepared(*_: Any) -> Any:
        raise ToolchainMissingError("the loop does not compile")

    java = replace(LANGUAGES["java"], toolchain=prepared, loop=unprepared)
    monkeypatch.setattr("sandbox.__main__.LANGUAGES", {"java": java})
    assert find_toolchains(tmp_path, True) == ({}, {"java": "the loop does not compile"})
    assert find_toolchains(tmp_path, False) == ({"java": prepared(tmp_path)}, {})


async def test_a_language_that_is_installed_on_request_only_is_missed_by_nobody_but_who_asks_for_it(
    tmp_path: Path,
) -> None:
    _, state, app = scripted(tmp_path)
    state.service.missing |= {"rust": "apt-get install rustc", "go": "apt-get install golang-go"}
    health = (await ask(app, "GET", "/health")).json()
    assert health["missing"] == {"go": "apt-get install golang-go"}
    assert (health["languages"]["go"], health["languages"]["python"], "rust" in health["languages"]) == (
        False,
        True,
        False,
    )
    refused = await ask(app, "POST", "/judge", json={**REQUEST, "language": "rust"})
    assert (refused.status_code, "apt-get install rustc" in refused.text) == (501, True)
    listed = {entry["name"]: entry for entry in (await ask(app, "GET", "/languages")).json()}
    assert (listed["rust"]["available"], listed["rust"]["problem"]) == (False, "apt-get install rustc")


async def test_a_language_that_ran_a_program_needs_no_canary(tmp_path: Path) -> None:
    worker, state, app = scripted(tmp_path)
    await ask(app, "POST", "/judge", json=REQUEST)
    worker.done.clear()
    assert await state.service.prove(1000) == ""
    assert worker.done == [Canary("javascript")]


# ---- clients that leave


@pytest.mark.sandbox
@pytest.mark.parametrize("route", ["/judge", "/run_code"])
def test_what_a_client_that_left_asked_for_is_ended_and_dropped(own_service: Callable[..., Any], route: str) -> None:
    service = own_service("--slots", "1")

    def begin() -> socket.socket:
        own = {"time_limit_s": 60, "tests": [{}] * 20} if route == "/judge" else {"run_timeout": 300}
        body = json.dumps({"language": "python", "code": service.held(), **own})
        client = socket.create_connection(("127.0.0.1", service.port))
        head = f"POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return client

    def load() -> tuple[int, int]:
        health = service.get("/health").json()
        return health["busy"], health["waiting"]

    running = begin()
    assert until(lambda: service.holds() == 1)
    waiting = begin()
    assert until(lambda: load() == (1, 1))
    waiting.close()
    assert until(lambda: load() == (1, 0))
    running.close()
    assert until(lambda: load() == (0, 0) and service.holds() == 0)
    assert service.judge(**REQUEST)["verdict"] == "AC"
    assert f'sandbox_abandoned_total{{route="{route}"}} 2.0' in service.get("/metrics").text
