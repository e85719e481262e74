import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psutil
import pytest

from madrl.grading.math_answers.worker_pool import WorkerPool
from madrl.rollout import Verification

ROOT = Path(__file__).parents[2]
HANGS = "9^{9^9}"
"""Beside the reference x^2+1."""

EQUAL = Verification(1.0)
LONG_S = 600.0
"""No test waits for so long, unless it fails: a process may stand still for half a minute on a busy machine."""

_NUMBERS = count(2)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """One worker, and little patience."""
    pool = WorkerPool(1, cpu_s=1.0, wall_s=LONG_S)
    yield pool
    _kill(pool)


def _kill(pool: WorkerPool) -> None:
    for pid in pool.pids():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def _held(pool: WorkerPool) -> Iterator[None]:
    """The pool's worker stands still, so that what is asked meanwhile waits."""
    pool.submit("y", f"{next(_NUMBERS)}y").result(LONG_S)  # none that is remembered: there may be no worker
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _wait_until_taken(pool: WorkerPool) -> None:
    """Until nothing waits in the queue: a worker has it, or the thread that owns one."""
    until = time.monotonic() + LONG_S
    while pool._waiting:
        assert time.monotonic() < until
        time.sleep(0.01)


def _busy_worker(pool: WorkerPool, not_pid: int | None = None) -> int:
    """The pid of the pool's worker, once it has been comparing for a moment."""
    until = time.monotonic() + LONG_S
    at_first: dict[int, float] = {}
    while time.monotonic() < until:
        for worker in list(pool._workers.values()):
            if worker.pid != not_pid and worker._has_started:
                used = psutil.Process(worker.pid).cpu_times().user
                if used > at_first.setdefault(worker.pid, used) + 0.5:
                    return worker.pid
        time.sleep(0.01)
    raise AssertionError("no worker is busy")


def test_formulas_are_compared_as_algebra(pool: WorkerPool) -> None:
    assert pool.submit("x^2+2x+1", "(x+1)^2").result(LONG_S) == EQUAL
    assert pool.submit("x^2+2x+1", "(x-1)^2").result(LONG_S) == Verification(0.0, reason="wrong")


def test_no_process_is_started_before_there_is_something_to_compare() -> None:
    assert WorkerPool(2).pids() == []


def test_an_answer_that_hangs_is_incorrect_at_its_deadline_and_costs_one_worker(pool: WorkerPool) -> None:
    pool.submit("x", "2x").result(LONG_S)
    before = pool.pids()
    assert pool.submit("x^2+1", HANGS).result(LONG_S) == Verification(0.0, reason="deadline")
    assert pool.submit("3x", "x+2x").result(LONG_S) == EQUAL
    assert len(pool.pids()) == 1
    assert pool.pids() != before


def test_a_hanging_answer_is_remembered(pool: WorkerPool) -> None:
    pool.submit("x^2+1", HANGS).result(LONG_S)
    with _held(pool):
        assert pool.submit("x^2+1", HANGS).result(LONG_S).reason == "deadline"


def test_a_reference_that_hangs_is_ungraded_and_costs_one_deadline(pool: WorkerPool) -> None:
    bad = Verification(None, reason="bad_reference")
    reference = r"\log(" * 300 + "2" + ")" * 300
    assert pool.submit(reference, "5x").result(LONG_S) == bad
    with _held(pool):
        assert [pool.submit(reference, f"{n}x").result(LONG_S) for n in range(20)] == [bad] * 20


def test_an_answer_with_nothing_in_it_is_wrong_and_says_nothing_of_the_reference(pool: WorkerPool) -> None:
    assert pool.submit("x^2+3", "").result(LONG_S).reason == "wrong"
    assert pool.submit("x^2+3", "3+x^2").result(LONG_S) == EQUAL


def test_a_reference_that_is_no_formula_is_ungraded(pool: WorkerPool) -> None:
    assert pool.submit(r"\frac{1}{", "x").result(LONG_S) == Verification(None, reason="bad_reference")


def test_an_answer_that_wants_all_memory_is_incorrect_and_its_worker_has_only_so_much() -> None:
    small = WorkerPool(1, memory_bytes=400 << 20, cpu_s=1, wall_s=LONG_S)
    try:
        assert small.submit("2x", "x+x").result(LONG_S) == EQUAL
        (pid,) = small.pids()
        assert psutil.Process(pid).rlimit(psutil.RLIMIT_AS) == (400 << 20, 400 << 20)
        assert small.submit("42", "2^{2^{33}}").result(LONG_S).correctness == 0  # a gigabyte
        assert small.submit("3x", "x+2x").result(LONG_S) == EQUAL
    finally:
        _kill(small)


def test_a_worker_that_somebody_kills_is_asked_again() -> None:
    pool = WorkerPool(1, cpu_s=LONG_S, wall_s=LONG_S)
    try:
        pool.submit("x", "2x").result(LONG_S)
        outcome = pool.submit("x^2+1", HANGS)
        pool.cpu_s = 1.0  # of the next worker
        os.kill(_busy_worker(pool), signal.SIGKILL)
        assert outcome.result(LONG_S).reason == "deadline"
    finally:
        _kill(pool)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGBUS])
def test_an_answer_whose_workers_are_killed_twice_from_outside_is_ungraded(number: signal.Signals) -> None:
    pool = WorkerPool(1, cpu_s=LONG_S, wall_s=LONG_S)
    try:
        pool.submit("x", "2x").result(LONG_S)
        outcome = pool.submit("x^2+1", HANGS)
        first = _busy_worker(pool)
        os.kill(first, number)
        os.kill(_busy_worker(pool, first), number)
        assert outcome.result(LONG_S) == Verification(None, reason="worker_lost")
    finally:
        _kill(pool)


def test_an_answer_whose_workers_crash_twice_is_incorrect() -> None:
    pool = WorkerPool(1, cpu_s=LONG_S, wall_s=LONG_S)
    try:
        pool.submit("x", "2x").result(LONG_S)
        outcome = pool.submit("x^2+1", HANGS)
        first = _busy_worker(pool)
        os.kill(first, signal.SIGSEGV)
        os.kill(_busy_worker(pool, first), signal.SIGSEGV)
        assert outcome.result(LONG_S) == Verification(0.0, reason="worker_crash")
    finally:
        _kill(pool)


def test_a_full_queue_and_too_long_a_wait_are_ungraded() -> None:
    pool = WorkerPool(1, cpu_s=1, max_waiting=2, wall_s=LONG_S)
    try:
        with _held(pool):
            outcomes = [pool.submit("x^2+1", HANGS)]
            _wait_until_taken(pool)
            pool.max_wait_s = 0.0
            outcomes += [pool.submit("x", f"{n}x") for n in (3, 4, 5)]
        assert [outcome.result(LONG_S).reason for outcome in outcomes] == [
            "deadline",
            "no_time",
            "no_time",
            "queue_full",
        ]
        assert outcomes[-1].result().correctness is None
    finally:
        _kill(pool)


def test_a_cancelled_request_does_not_stop_the_others(pool: WorkerPool) -> None:
    with _held(pool):
        pool.submit("x^2+1", "7^{9^9}")
        _wait_until_taken(pool)
        cancelled, other = pool.submit("x", "5x"), pool.submit("5x", "2x+3x")
        assert cancelled.cancel()
    assert other.result(LONG_S) == EQUAL


def test_workers_end_after_a_time_without_work_and_come_back() -> None:
    pool = WorkerPool(1, idle_s=0.1)
    assert pool.submit("2x", "x+x").result(LONG_S) == EQUAL
    until = time.monotonic() + LONG_S
    while pool.pids() and time.monotonic() < until:
        time.sleep(0.02)
    assert pool.pids() == []
    assert pool.submit("3x", "x+2x").result(LONG_S) == EQUAL


def test_several_event_loops_in_several_threads_share_a_pool(pool: WorkerPool) -> None:
    results: list[Verification] = []

    async def ask(n: int) -> None:
        results.append(await asyncio.wrap_future(pool.submit(f"{n}x", f"{n - 1}x+x")))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(ask(n))) for n in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    asyncio.run(ask(9))
    assert results == [EQUAL] * 7


def test_a_forked_child_has_a_pool_of_its_own(pool: WorkerPool) -> None:
    pool.submit("2x", "x+x").result(LONG_S)
    child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = pool.pids() == [] and pool.submit("4x", "x+3x").result(LONG_S) == EQUAL
            _kill(pool)
        finally:  # or it would go on as a second pytest
            os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.submit("5x", "x+4x").result(LONG_S) == EQUAL


def test_an_interpreter_exits_while_a_worker_computes_and_leaves_no_process() -> None:
    program = """
        import time
        from madrl.grading.math_answers.worker_pool import WorkerPool
        pool = WorkerPool(1, cpu_s=1)
        pool.submit("x", "2x").result()
        print(*pool.pids())
        pool.submit("x^2+1", "9^{9^9}")
        while pool._waiting:
            time.sleep(0.01)
        time.sleep(0.2)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=LONG_S)
    (pid,) = map(int, done.stdout.split())
    until = time.monotonic() + LONG_S
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(pid)


def test_a_worker_imports_nothing_while_it_compares() -> None:
    program = """
        import json
        import sys
        from pathlib import Path
        from madrl.files import read_jsonl
        from madrl.grading.math_answers.answer_text import answer_in
        from madrl.grading.math_answers.equivalence import expression
        from madrl.grading.math_answers.symbolic import LATE_IMPORTS, formulas, same

        def compare(one, other):
            same(formulas(one), formulas(other))

        for pair in LATE_IMPORTS:
            compare(*pair)
        before = set(sys.modules)
        for case in read_jsonl(Path("tests/golden/math_cases.jsonl")):
            compare(expression(case["gold"]).latex, expression(answer_in(case["pred"]) or "x").latex)
        import json
        print(json.dumps(sorted(set(sys.modules) - before)))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=LONG_S)
    assert json.loads(done.stdout) == []


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
