"""A machine that gives programs too little CPU time: slow, but never a wrong answer."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.sandbox

LIMIT_S = 0.4
WALL_LIMIT_S, PATIENCE_S = 3 * LIMIT_S + 2, 5 * (3 * LIMIT_S + 2)

SPIN = """
import time
while time.process_time() < {cpu_s}:
    pass
print("done")
"""
SLEEP = "import time\ntime.sleep(60)"


@pytest.fixture
def starved(own_service: Callable[..., Any]) -> Callable[..., Any]:
    """A service whose programs get so many thousandths of one core together."""
    service = own_service()
    folders = [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup")]
    groups = {folder / name for folder in folders for name in ("cpu.cfs_quota_us", "cpu.max")}
    own = f"madrl-sandbox-run-{service.pid}-"
    files = [file for file in groups if file.parent.name.startswith(own) and file.exists()]
    if not files:
        pytest.skip("CPU bandwidth cannot be limited here: no CPU controller, or not as this user")

    def start(thousandths: int, period_us: int = 100_000) -> Any:
        quota_us = period_us * thousandths // 1000
        for file in files:
            if file.name == "cpu.cfs_quota_us":
                file.with_name("cpu.cfs_period_us").write_text(str(period_us))
                file.write_text(str(quota_us))
            else:
                file.write_text(f"{quota_us} {period_us}")
        return service

    return start


def judged(service: Any, *codes: str, **fields: Any) -> dict[str, Any]:
    """The answer on a Python program that does what each of ``codes`` says in one test."""
    branches = "".join(f"if test == '{i}':\n    exec({code!r})\n" for i, code in enumerate(codes))
    tests = [{"input": f"{i}\n", "output": "done"} for i in range(len(codes))]
    fields = {"language": "python", "time_limit_s": LIMIT_S, **fields}
    answer: dict[str, Any] = service.judge(code=f"test = input()\n{branches}", tests=tests, **fields)
    return answer


def test_waiting_for_a_core_does_not_count_as_time(starved: Callable[..., Any]) -> None:
    """A program that takes 0.28 s of CPU time takes 5 s here."""
    answer = judged(starved(56), SPIN.format(cpu_s=0.28))
    assert answer["verdict"] == "AC", answer
    assert answer["tests"][0]["wall_s"] > WALL_LIMIT_S


def test_a_wait_that_goes_on_when_the_runner_runs_again_does_not_count_either(starved: Callable[..., Any]) -> None:
    """Nobody gets a core for 4.5 s, several times; then either of the two may be the first."""
    service = starved(10_000, 1_000_000)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(4):
            answer = pool.submit(judged, service, SPIN.format(cpu_s=0.28))
            while httpx.get(f"{service.url}/health", timeout=300).json()["busy"] == 0 and not answer.done():
                time.sleep(0.005)
            time.sleep(0.2)
            starved(1, 1_000_000)
            time.sleep(4.5)
            starved(10_000, 1_000_000)
            assert answer.result(300)["verdict"] == "AC", answer.result()


def test_the_limits_of_a_starved_program_are_the_same(starved: Callable[..., Any]) -> None:
    answer = judged(starved(100), SPIN.format(cpu_s=4), SLEEP, stop_on_first_failure=False)
    busy, asleep = answer["tests"]
    assert (busy["verdict"], asleep["verdict"]) == ("TLE", "TLE"), answer
    assert busy["cpu_s"] > LIMIT_S > asleep["cpu_s"], answer
    assert max(busy["wall_s"], asleep["wall_s"]) < PATIENCE_S, answer


def test_a_program_that_gets_no_core_is_not_to_blame(starved: Callable[..., Any]) -> None:
    """With a long period: where the kernel gives and takes the core ten times a second, an eighth of the wait goes
    uncounted, which leaves one second for whatever else the machine does."""
    answer = judged(starved(10, 1_000_000), SPIN.format(cpu_s=0.19), time_limit_s=0.2, retry=False)
    assert (answer["verdict"], answer["message"][:25]) == ("IE", "the machine is overloaded"), answer


def test_a_failure_before_stays_one(starved: Callable[..., Any]) -> None:
    answer = judged(
        starved(10, 1_000_000), "print('wrong')", SPIN.format(cpu_s=0.19), time_limit_s=0.2, stop_on_first_failure=False
    )
    assert (answer["verdict"], answer["first_failed"]) == ("WA", 0), answer


def test_a_sleeper_is_out_of_time_even_where_the_client_waits_no_longer(own_service: Callable[..., Any]) -> None:
    """The wall limit of /run_code is then the client's patience."""
    service = own_service()
    service.run_code(language="python", code=SLEEP, run_timeout=0.1)  # compiled by now
    answer = service.run_code(language="python", code=SLEEP, compile_timeout=1, run_timeout=5)
    assert (answer["status"], answer["run_result"]["status"]) == ("Failed", "TimeLimitExceeded"), answer
