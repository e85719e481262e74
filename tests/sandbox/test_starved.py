"""A machine that gives programs too little CPU time: slow, but never a wrong answer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 0.2
"""Of CPU time; 2.6 s asleep, 13 s in all."""

SPIN = """
import time
while time.process_time() < {cpu_s}:
    pass
print("done")
"""


@pytest.fixture
def starved(own_service: Callable[..., Any]) -> Callable[[int], Any]:
    """A service whose programs get so many thousandths of one core together."""
    service = own_service()
    folders = [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup")]
    groups = {folder / name for folder in folders for name in ("cpu.cfs_quota_us", "cpu.max")}
    files = [file for file in groups if file.parent.name == f"madrl-sandbox-{service.pid}" and file.exists()]
    if not files:
        pytest.skip("CPU bandwidth cannot be limited here: no CPU controller, or not as this user")

    def start(thousandths: int) -> Any:
        for file in files:
            quota = 100 * thousandths
            file.write_text(str(quota) if file.name == "cpu.cfs_quota_us" else f"{quota} 100000")
        return service

    return start


def test_waiting_for_a_core_does_not_count_as_time(starved: Callable[[int], Any]) -> None:
    """What takes 0.16 s of CPU time takes 4 s here."""
    service, code = starved(40), SPIN.format(cpu_s=0.16)
    answer = service.judge(language="python", code=code, tests=[{"output": "done"}], time_limit_s=LIMIT_S)
    assert answer["verdict"] == "AC", answer
    assert answer["tests"][0]["wall_s"] > 3 * LIMIT_S + 2


def test_the_limits_of_a_starved_program_are_the_same(starved: Callable[[int], Any]) -> None:
    service = starved(100)
    for code in (SPIN.format(cpu_s=1), "import time\ntime.sleep(60)"):
        answer = service.judge(language="python", code=code, tests=[{"output": "done"}], time_limit_s=LIMIT_S)
        assert answer["verdict"] == "TLE", answer


def test_a_program_that_gets_no_core_is_not_to_blame(starved: Callable[[int], Any]) -> None:
    service, code = starved(10), SPIN.format(cpu_s=0.19)
    answer = service.judge(language="python", code=code, tests=[{"output": "done"}], time_limit_s=LIMIT_S)
    assert (answer["verdict"], answer["message"][:25]) == ("IE", "the machine is overloaded"), answer
