"""The end of the service, its own and its workers': nothing that it started outlives it, nothing begun is lost."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

if TYPE_CHECKING:
    from sandbox_service import Service

pytestmark = pytest.mark.sandbox

GONE_S = 60
"""Seconds after which no process of a dead service may be alive."""
STUBBORN = """
import ctypes, os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, b'stubborn')
            while True:
                time.sleep(0.01)
        os._exit(0)
ctypes.CDLL(None).prctl(15, b'stubborn')
time.sleep(600)
"""
"""A program that ignores every signal and leaves daemons: four processes."""
SLEEPER = """
#include <sys/prctl.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 4; i++) fork();
    prctl(PR_SET_NAME, "stubborn");
    for (;;) usleep(1000);
}
"""
"""A program of sixteen processes."""
OUTPUT = [{"output": "done"}]


@pytest.fixture
def mortal(service: "Service") -> Iterator["Service"]:
    """The service of the session, started again after the test."""
    yield service
    if not service.healthy():
        service.kill()
        service.start()
    service.warm_up()


def until(condition: Callable[[], bool], timeout_s: float = 120) -> bool:
    """Whether ``condition`` came true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """The processes that still run. One that has ended and waits for its new parent does not."""
    left = []
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                left.append(one)
    return left


def busy(service: "Service") -> int:
    """How many slots work."""
    return int(service.get("/health").json()["busy"])


def groups_of(pid: int) -> list[Path]:
    """The cgroups of the service with this process number."""
    folders = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))
    return [folder for folder in folders if folder.name.startswith(f"madrl-sandbox-run-{pid}-")]


@pytest.mark.parametrize(
    ("language", "code", "size"), [("python", STUBBORN, 4), ("cpp", SLEEPER, 16)], ids=["python", "cpp"]
)
def test_a_killed_service_leaves_no_sandbox_alive_and_starts_again_on_its_state(
    mortal: "Service", language: str, code: str, size: int
) -> None:
    with ThreadPoolExecutor(4) as pool:
        requests = [
            pool.submit(mortal.judge, language=language, code=code, tests=[{}], time_limit_s=60) for _ in range(4)
        ]
        assert until(lambda: mortal.count("stubborn") == 2 * size), mortal.processes()
        processes, old = mortal.processes(), mortal.pid
        mortal.kill()
        assert until(lambda: not alive(processes) and not alive(mortal.processes()), GONE_S), mortal.processes()
        assert all(isinstance(request.exception(120), httpx.TransportError) for request in requests)
    mortal.start()
    mortal.judges_correctly(language)
    assert not groups_of(old), "the cgroups of the killed service are still there"
    assert len(list(mortal.state.glob("run-*"))) == 1, "the files of the killed service are still there"


def test_a_terminated_service_finishes_what_it_has_begun_and_exits_0(mortal: "Service") -> None:
    processes, old = mortal.processes(), mortal.pid
    with ThreadPoolExecutor(3) as pool:
        fields: dict[str, Any] = {"language": "python", "tests": OUTPUT, "time_limit_s": 60}
        running = [pool.submit(mortal.judge, code=mortal.held(), **fields) for _ in range(2)]
        assert until(lambda: mortal.holds() == 2)
        fields["code"] = mortal.held()
        waiting: Future[httpx.Response] = pool.submit(httpx.post, f"{mortal.url}/judge", json=fields, timeout=300)
        assert until(lambda: mortal.get("/health").json()["waiting"] == 1)
        processes += mortal.processes()
        with mortal.letting_go(once=lambda: not mortal.healthy()):
            assert mortal.stop() == 0, mortal.tail()
        assert [request.result(120)["verdict"] for request in running] == ["AC", "AC"]
        answer = waiting.result(120)  # begun or not: it is told
        assert answer.status_code in {429, 503} or answer.json()["verdict"] == "AC", answer.text
    assert until(lambda: not alive(processes) and not mortal.processes(), GONE_S), mortal.processes()
    assert not groups_of(old)
    assert not list(mortal.state.glob("run-*"))


def test_a_terminated_service_that_idles_exits_at_once(mortal: "Service") -> None:
    start = time.monotonic()
    assert mortal.stop() == 0, mortal.tail()
    assert time.monotonic() - start < 45  # a drain may take 60
    assert until(lambda: not mortal.processes(), GONE_S), mortal.processes()


def test_a_killed_worker_is_replaced_and_its_request_gets_an_answer(mortal: "Service") -> None:
    """Check that what was lost is done again or answered with an error, and never blamed on the program."""
    with mortal.leaves_nothing_behind(), ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            fields: dict[str, Any] = {"language": "python", "tests": OUTPUT, "time_limit_s": 60}
            requests = [pool.submit(mortal.judge, code=mortal.held(), **fields) for _ in range(2)]
            assert until(lambda: mortal.holds() == 2)
            children = psutil.Process(mortal.pid).children()
            workers = [child for child in children if any("sandbox.worker" in part for part in child.cmdline())]
            assert workers, [child.cmdline() for child in children]
            workers[0].kill()
            with mortal.letting_go():
                verdicts = sorted(request.result(300)["verdict"] for request in requests)
            assert verdicts in (["AC", "AC"], ["AC", "IE"]), verdicts
            assert until(lambda: busy(mortal) == 0)
