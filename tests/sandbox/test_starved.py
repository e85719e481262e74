"""A machine that gives programs too little CPU time: slow, but never a wrong answer."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.sandbox

LIMIT_S = 0.4
WALL_LIMIT_S = 3 * LIMIT_S + 2

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

    def start(thousandths: int, period_us: int = 100_000) -> Any:
        service.starve(thousandths, period_us)
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


def test_a_program_that_is_kept_waiting_for_minutes_is_judged_by_its_cpu_time(starved: Callable[..., Any]) -> None:
    """It gets a fiftieth of a core, so that its 0.19 s take 10."""
    programs = SPIN.format(cpu_s=0.19), SPIN.format(cpu_s=0.6)
    judged(starved(10_000, 1_000_000), *programs, time_limit_s=0.3)  # compiled by now
    answer = judged(starved(20, 1_000_000), *programs, time_limit_s=0.3)
    assert [test["verdict"] for test in answer["tests"]] == ["AC", "TLE"], answer
    assert answer["tests"][0]["wall_s"] > 2 * WALL_LIMIT_S, answer


def test_a_program_whose_client_leaves_before_it_gets_a_core_is_not_to_blame(starved: Callable[..., Any]) -> None:
    code = SPIN.format(cpu_s=2)
    starved(10_000).run_code(language="python", code=code, compile_timeout=1)  # compiled by now
    answer = starved(100).run_code(language="python", code=code, compile_timeout=1, run_timeout=3, retry=False)
    assert answer["status"] == "SandboxError", answer
    assert "the machine is overloaded" in answer["message"], answer


def test_a_sleeper_is_out_of_time_even_where_the_client_waits_no_longer(own_service: Callable[..., Any]) -> None:
    """The wall limit of /run_code is then the client's patience."""
    service = own_service()
    service.run_code(language="python", code=SLEEP, run_timeout=0.1)  # compiled by now
    answer = service.run_code(language="python", code=SLEEP, compile_timeout=1, run_timeout=5)
    assert (answer["status"], answer["run_result"]["status"]) == ("Failed", "TimeLimitExceeded"), answer
