"""The level without cgroups: honest programs get the verdicts that they get at the full one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from judge_problems import programs

pytestmark = pytest.mark.sandbox

HARD_HERE = ("eight_threads", "large_input")
"""Problems whose programs need room for many stacks, or read about as much as they may keep."""
PATIENCE = 10
"""How many times its time limit a program may take."""
FAMILY = """#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t sleeper() {
  pid_t pid = fork();
  while (pid == 0) pause();
  return pid;
}

bool went_on(pid_t pid) {
  siginfo_t told = {};
  return waitid(P_PID, pid, &told, WCONTINUED | WNOHANG) == 0 && told.si_pid == pid;
}

int main() {
  siginfo_t told;
  size_t size = 30 << 20;
  pid_t stopped = sleeper();
  kill(stopped, SIGSTOP);
  if (waitid(P_PID, stopped, &told, WSTOPPED)) return 1;
  void *shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  memset(shared, 1, size);
  pid_t sharing[8];
  bool held = false;
  for (pid_t &pid : sharing) pid = sleeper();
  for (clock_t begun = clock(); clock() - begun < CLOCKS_PER_SEC / 2;)
    for (pid_t pid : sharing) held |= went_on(pid);
  printf("%d %d", held, went_on(stopped));
}
"""


def test_honest_programs_get_the_verdicts_that_they_deserve(own_service: Callable[..., Any]) -> None:
    service = own_service("--no-cgroups")

    def judged(request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = service.judge(**{**request, "time_limit_s": PATIENCE * request["time_limit_s"]})
        return answer

    chosen = [program for program in programs() if program.problem in HARD_HERE]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(judged, [program.request() for program in chosen]))
    assert [answer["verdict"] for answer in answers] == [program.verdict for program in chosen], answers


def test_processes_stand_still_while_what_they_share_is_counted_and_then_go_on_as_before(
    own_service: Callable[..., Any],
) -> None:
    """Nine processes share 30 MB at a limit of 64. The one that was stopped before stays so."""
    service = own_service("--no-cgroups", "--slots", "1")
    tests = [{"output": "1 0"}]
    answer = service.judge(language="cpp", code=FAMILY, tests=tests, memory_limit_mb=64, time_limit_s=20)
    assert answer["verdict"] == "AC", answer


def test_shared_memory_that_is_resident_is_counted_once(own_service: Callable[..., Any]) -> None:
    service = own_service("--no-cgroups", "--slots", "1")
    code = (
        "import mmap, time\nsize = 160 << 20\nshared = mmap.mmap(-1, size)\n"
        "for at in range(0, size, 4096): shared[at] = 1\ntime.sleep(1)  # to be looked at\nprint(shared[-4096])"
    )
    limits = {"memory_limit_mb": 256, "time_limit_s": 20}
    assert service.judge(language="python", code=code, tests=[{"output": "1"}], **limits)["verdict"] == "AC"


def test_tests_that_run_out_of_memory_share_a_sandbox(own_service: Callable[..., Any]) -> None:
    """Each tells its process number: within a sandbox they go on, and in a new one they begin anew."""
    service = own_service("--no-cgroups", "--slots", "1")
    tells = "import os, signal, sys\nprint(os.getpid(), file=sys.stderr, flush=True)\n"
    code = f"{tells}x = b'a' * (400 << 20)\nsignal.pause()"
    limits = {"memory_limit_mb": 64, "time_limit_s": 20}
    answer = service.judge(language="python", code=code, tests=[{}] * 4, stop_on_first_failure=False, **limits)
    assert [one["verdict"] for one in answer["tests"]] == ["MLE"] * 4, answer
    numbers = [int(one["message"]) for one in answer["tests"]]
    assert numbers == sorted(set(numbers))
