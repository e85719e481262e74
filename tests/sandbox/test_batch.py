"""Many programs in one request: a line for each as soon as it is judged, and what other clients notice of it."""

import asyncio
import json
import os
import resource
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI
from sample_programs import ADD, BROKEN, CRASH, WRONG
from test_front import REQUEST, ScriptedWorker, ask, scripted
from test_service_death import until

from sandbox.batch import Lines
from sandbox.cache import ArtifactCache
from sandbox.jobs import Answer, CompileJob, Job, StoredRun
from sandbox.judge_service import JudgeService
from sandbox.metrics import Metrics
from sandbox.pool import Pool, Worker
from sandbox.service import ServiceState, build_app
from sandbox.settings import Protection, ServiceSettings
from sandbox.translation import Item, aside, read_batch, report_stored

PATH = "/judge/batch"


async def batch_of(app: FastAPI, programs: list[Any]) -> httpx.Response:
    """The answer to a batch. json.dumps and not httpx's own, which cannot send a lone surrogate."""
    content = json.dumps({"programs": programs})
    return await ask(app, "POST", PATH, content=content, headers={"content-type": "application/json"})


def lines_of(answer: httpx.Response) -> dict[int, dict[str, Any]]:
    """Index -> line of a batch's answer."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.content.split(b"\n")[:-1]]
    assert len({line["index"] for line in lines}) == len(lines)
    return {line["index"]: line for line in lines}


@pytest.mark.parametrize("large", [False, True])
async def test_each_program_has_a_line_with_its_id_and_what_judge_says_of_it(
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
    programs = [{**REQUEST, "tests": [{"input": text}] * count, "id": f"{count} é\n"} for count in (1, 2, 3)]
    lines = lines_of(await batch_of(app, programs))
    assert [test.stdin for test in worker.ran] == [text.encode()] * 3
    assert set(asides) == ({read_batch, report_stored} if large else set())
    for index, program in enumerate(programs):
        alone = (await ask(app, "POST", "/judge", json={**REQUEST, "tests": program["tests"]})).json()
        alone["compile"]["cached"] = lines[index]["result"]["compile"]["cached"]
        assert lines[index] == {"index": index, "id": program["id"], "status": 200, "result": alone}


async def test_a_program_at_fault_has_a_line_that_says_so_and_the_others_are_judged(tmp_path: Path) -> None:
    _, state, app = scripted(tmp_path)
    state.service.missing["java"] = "javac is not installed"
    programs: list[Any] = [
        {**REQUEST, "language": "cobol", "id": "b"}, {"id": 7}, "\ud800", {**REQUEST, "id": "x" * 300}, None,
        {**REQUEST, "language": "java"}, {**REQUEST, "language": "\ud800"}, REQUEST, {**REQUEST, "tests": []},
    ]  # fmt: skip
    lines = lines_of(await batch_of(app, programs))
    assert [lines[n]["status"] for n in range(9)] == [422] * 5 + [501, 422, 200, 422]
    assert [lines[n]["id"] for n in range(4)] == ["b", "", "", "x" * 200]
    assert lines[7]["result"]["verdict"] == "AC"
    assert all(("result" in line) != ("detail" in line) for line in lines.values())
    for index, words in {0: "cobol", 3: "id", 5: "javac is not installed", 8: "tests"}.items():
        assert words in lines[index]["detail"]


@pytest.mark.parametrize(
    "body",
    ["[]", "{}", '{"programs": []}', '{"programs": 3}', '{"programs": [NaN]}', '{"programs": [{}], "x": 1}', "["],
)
async def test_what_is_no_batch_is_refused_as_a_whole(tmp_path: Path, body: str) -> None:
    worker, _, app = scripted(tmp_path)
    for content in (body, body + " " * 100_000):
        answer = await ask(app, "POST", PATH, content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, worker.done) == (422, [])


async def test_a_batch_has_a_thousand_programs_at_most(tmp_path: Path) -> None:
    worker, _, app = scripted(tmp_path)
    assert (await batch_of(app, [REQUEST] * 1001)).status_code == 422
    assert worker.done == []
    lines = lines_of(await batch_of(app, [REQUEST] * 1000))
    assert sorted(lines) == list(range(1000))


class DescriptorTaker(ScriptedWorker):
    """Leaves the front process no descriptor once a program has run."""

    async def do(self, job: Job) -> Answer:
        answer = await super().do(job)
        if isinstance(job, StoredRun):
            os.close(lowest_free := os.dup(0))
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        return answer


async def test_a_program_that_finds_no_descriptor_left_has_a_line_and_the_others_have_theirs(tmp_path: Path) -> None:
    worker = DescriptorTaker()
    worker.prints = b"x" * 100_000
    _, app = over(worker, tmp_path, 10)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        lines = lines_of(await batch_of(app, [{**REQUEST, "tests": []}, REQUEST, REQUEST]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [lines[n]["status"] for n in range(3)] == [422, 503, 503]
    assert "try again" in lines[1]["detail"]


async def test_a_page_in_a_browser_may_not_send_a_batch_unasked(tmp_path: Path) -> None:
    worker, _, app = scripted(tmp_path)
    content = json.dumps({"programs": [REQUEST]})
    answer = await ask(app, "POST", PATH, content=content, headers={"content-type": "text/plain"})
    assert (answer.status_code, worker.done) == (422, [])


# ---- the queue


class HeldWorker(ScriptedWorker):
    """Runs a program when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Semaphore(0)
        self.compiled: list[bytes] = []

    async def do(self, job: Job) -> Answer:
        if isinstance(job, CompileJob):
            self.compiled.append(job.code)
            await self.let_go.acquire()
        return await super().do(job)


def over(worker: ScriptedWorker, tmp_path: Path, queue_size: int) -> tuple[ServiceState, FastAPI]:
    """A service over one worker."""
    pool = Pool([cast(Worker, worker)], queue_size)
    service = JudgeService(pool, ArtifactCache(tmp_path, 1 << 20), {}, Metrics())
    state = ServiceState(service, ServiceSettings(), Protection.FULL, "")
    return state, build_app(state)


def held(tmp_path: Path, queue_size: int) -> tuple[HeldWorker, ServiceState, FastAPI]:
    """A service over one held worker."""
    worker = HeldWorker()
    return worker, *over(worker, tmp_path, queue_size)


def programs(count: int) -> list[dict[str, Any]]:
    """Different programs, so that each is compiled."""
    return [{**REQUEST, "code": f"batch {n}"} for n in range(count)]


async def begun(worker: HeldWorker, count: int) -> None:
    """Wait until ``count`` programs have reached the worker."""
    async with asyncio.timeout(60):
        while len(worker.compiled) < count:
            await asyncio.sleep(0.001)


async def test_another_clients_program_waits_for_two_of_a_batch_and_not_for_all(tmp_path: Path) -> None:
    worker, _, app = held(tmp_path, 10)
    batch = asyncio.create_task(batch_of(app, programs(20)))
    await begun(worker, 1)
    single = asyncio.create_task(ask(app, "POST", "/judge", json={**REQUEST, "code": "single"}))
    for _ in range(200):  # all that is sent has arrived
        await asyncio.sleep(0)
    for _ in range(21):
        worker.let_go.release()
    assert (await single).json()["verdict"] == "AC"
    assert len(lines_of(await batch)) == 20
    assert worker.compiled.index(b"single") == 2


async def test_a_batch_is_refused_by_a_full_queue_and_its_programs_wait_for_places(tmp_path: Path) -> None:
    worker, state, app = held(tmp_path, 1)  # two places: one runs, one waits
    batch = asyncio.create_task(batch_of(app, programs(3)))
    await begun(worker, 1)
    for _ in range(200):
        await asyncio.sleep(0)
    assert state.service.pool.full
    refused = await asyncio.wait_for(batch_of(app, programs(1)), 60)
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    assert (await ask(app, "POST", "/judge", json=REQUEST)).status_code == 429
    # Another batch finds a place, and then the queue full for its second program, which waits.
    for _ in range(2):
        worker.let_go.release()
    await begun(worker, 3)
    assert not state.service.pool.full
    other = asyncio.create_task(batch_of(app, [{**REQUEST, "code": c} for c in "xyz"]))
    for _ in range(200):
        await asyncio.sleep(0)
    assert (state.service.pool.admitted, state.service.pool.waiting) == (2, 1)
    for _ in range(4):
        worker.let_go.release()
    assert {line["status"] for line in lines_of(await other).values()} == {200}
    assert len(lines_of(await batch)) == 3
    assert (state.service.pool.admitted, state.service.pool.full) == (0, False)


async def test_a_batchs_bytes_count_until_its_last_line_is_sent(tmp_path: Path) -> None:
    worker, state, _ = held(tmp_path, 10)
    state.settings = ServiceSettings(budget_mb=1)
    app = build_app(state)
    body = [{**program, "tests": [{"input": "x" * 300_000}]} for program in programs(2)]
    batch = asyncio.create_task(batch_of(app, body))
    await begun(worker, 1)
    worker.let_go.release()
    await begun(worker, 2)
    large = {**REQUEST, "code": "other", "tests": [{"input": "x" * 600_000}]}
    assert (await asyncio.wait_for(ask(app, "POST", "/judge", json=large), 60)).status_code == 429
    worker.let_go.release()
    assert len(lines_of(await batch)) == 2
    worker.let_go.release()
    assert (await ask(app, "POST", "/judge", json=large)).status_code == 200


async def test_a_copy_of_a_program_that_compiles_waits_no_longer_for_it_than_for_a_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both waits together have one end: veRL's client leaves for good soon after it."""
    monkeypatch.setattr("sandbox.judge_service.RUN_CODE_QUEUE_S", 0.05)
    worker, _, app = held(tmp_path, 10)
    request = {"language": "python", "code": "the same"}
    first = asyncio.create_task(ask(app, "POST", "/run_code", json=request))
    await begun(worker, 1)
    copies = [ask(app, "POST", "/run_code", json={**request, "stdin": f"{n}"}) for n in range(3)]
    answers = await asyncio.wait_for(asyncio.gather(*copies), 60)
    assert [answer.status_code for answer in answers] == [504] * 3
    worker.let_go.release()
    assert (await first).status_code == 200
    assert (await ask(app, "POST", "/run_code", json=request)).status_code == 200
    assert worker.compiled == [b"the same"]


# ---- clients that leave


async def test_a_client_that_takes_no_line_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.batch.BODY_S", 0.01)
    judged: list[int] = []
    ended: list[str] = []

    async def line(item: Item, _: ExitStack) -> list[bytes]:
        judged.append(item.index)
        return [b"line\n"]

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive() -> Any:
        await asyncio.Event().wait()

    stack = AsyncExitStack()
    stack.callback(ended.append, "closed")
    items = [Item(n, "", None) for n in range(10)]
    answer = Lines(items, line, 2, stack, lambda: ended.append("left"))
    await asyncio.wait_for(answer({"type": "http"}, receive, send), 60)
    assert (judged, ended) == ([0, 1], ["left", "closed"])


@pytest.mark.sandbox
def test_a_verdict_comes_while_another_program_of_the_batch_still_runs(own_service: Callable[..., Any]) -> None:
    service = own_service()
    quick = {"language": "python", "code": "print('quick')", "tests": [{"output": "quick"}], "id": "quick"}
    slow = {"language": "python", "code": service.held(), "tests": [{"output": "done"}], "time_limit_s": 60}
    with httpx.stream("POST", service.url + PATH, json={"programs": [slow, quick]}, timeout=300) as answer:
        lines = answer.iter_lines()
        first = json.loads(next(lines))
        assert (first["index"], first["id"], first["result"]["verdict"]) == (1, "quick", "AC")
        assert until(lambda: service.holds() == 1)
        with service.letting_go():
            second = json.loads(next(lines))
        assert (second["index"], second["id"], second["result"]["verdict"]) == (0, "", "AC")
        assert list(lines) == []


@pytest.mark.sandbox
def test_a_batch_gets_the_verdicts_that_its_programs_get_alone(own_service: Callable[..., Any]) -> None:
    service = own_service()
    tests = [{"input": f"{n} 7", "output": f"{n + 7}"} for n in range(3)]
    mix = [
        {"language": language, "code": code, "tests": tests, "time_limit_s": 10}
        for kind in (ADD, WRONG, CRASH, BROKEN)
        for language, code in kind.items()
        if language in service.get("/health").json()["languages"]
    ]
    large = {**mix[0], "tests": [{**tests[0], "input": tests[0]["input"] + " " * 100_000}]}
    alone = [service.judge(**program) for program in mix]
    for programs in (mix, [*mix, large]):  # the second is read in another process
        lines = lines_of(service.client.post(PATH, json={"programs": programs}))
        assert len(lines) == len(programs)
        for n, expected in enumerate([*alone, alone[0]][: len(programs)]):
            found = lines[n]["result"]
            assert found["verdict"] == expected["verdict"]
            assert n == len(mix) or found["passed"] == expected["passed"]


@pytest.mark.sandbox
def test_what_a_batch_has_left_is_dropped_when_its_client_leaves(own_service: Callable[..., Any]) -> None:
    service = own_service("--slots", "1")
    batch = [{"language": "python", "code": service.held(), "tests": [{}], "time_limit_s": 60} for _ in range(6)]
    with httpx.stream("POST", service.url + PATH, json={"programs": batch}, timeout=300) as answer:
        assert answer.status_code == 200
        assert until(lambda: service.holds() == 1)
        assert until(lambda: service.get("/health").json()["waiting"] == 1)

    def idle() -> bool:
        health = service.get("/health").json()
        return (health["busy"], health["waiting"], service.holds()) == (0, 0, 0)

    assert until(idle)
    assert service.judge(**REQUEST)["verdict"] == "AC"
    metrics = service.get("/metrics").text
    assert f'sandbox_abandoned_total{{route="{PATH}"}} 1.0' in metrics
    assert 'sandbox_tests_total{language="python"} 1.0' in metrics
