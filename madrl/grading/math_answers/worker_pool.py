"""MATH: worker processes that compare formulas, each answer under a hard deadline, and what their deaths mean.

Threads of this module own the workers, one each, so requests come from any thread and any event loop. Workers start
when the first formulas come, never by fork (the parent holds threads, torch, a CUDA context), and end with the parent:
their input closes, and the kernel ends those that are busy at their deadline. Nothing here keeps an interpreter from
exiting.

- A comparison that uses up its CPU time, runs out of memory or raises is the response's doing: INCORRECT.
- A worker that dies otherwise is asked again, fresh. Dead a second time by its own doing (a segmentation fault, an
  exit): INCORRECT; killed from outside (SIGKILL, as the kernel does when memory runs out, SIGTERM, SIGBUS): UNGRADED.
  The workers' own memory limit keeps a response from reaching the former.
- Whatever happens while only the reference has been looked at is the reference's doing: UNGRADED, remembered, so that a
  bad row costs one deadline. A full queue and too long a wait are UNGRADED.
"""

import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict, deque
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from madrl.extras import require
from madrl.grading.math_answers import symbolic
from madrl.rollout import Verification

logger = logging.getLogger(__name__)

CPU_S = 3.0
"""The CPU time of a worker for one answer, which a loaded machine does not change. Of 700 wrong answers to problems of
MATH the slowest took 0.23 s, the median 3 ms."""

MEMORY_BYTES = 2 << 30
"""The size of a worker's address space; 215 MB of it are the libraries."""

WALL_S = 90.0
"""The time for one answer, start of a worker included. Only a machine at a standstill needs it."""

MAX_WORKERS = 4
"""Every reward worker of a run has its own pool, of 100 MB a worker once they have something to do."""

MAX_WAITING = 16384
MAX_WAIT_S = 300.0
IDLE_S = 300.0
"""After so long without work a worker ends; the next formula starts another, about a second."""

REMEMBERED = 8192
"""Comparisons: the responses of a group repeat their answers, hanging ones too."""

_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGBUS}
"""SIGBUS: a library's page could not be read."""


_EQUAL = Verification(1.0)
_DIFFERENT = Verification(0.0, reason="wrong")
_BAD_REFERENCE = Verification(None, reason="bad_reference")


class _Job(NamedTuple):
    reference: str
    answer: str
    future: "Future[Verification]"
    give_up_at: float


@dataclass(eq=False)
class _Lost(Exception):  # noqa: N818 - it says what became of the worker
    """The worker gave no verdict."""

    reason: str
    reference_was_ready: bool
    own_doing: bool
    """Nothing outside the worker ended it."""


@dataclass(eq=False)
class WorkerPool:
    """Up to ``size`` worker processes, each for one comparison at a time. Limits are those above, unless given."""

    size: int
    cpu_s: float = CPU_S
    memory_bytes: int = MEMORY_BYTES
    wall_s: float = WALL_S
    max_waiting: int = MAX_WAITING
    max_wait_s: float = MAX_WAIT_S
    idle_s: float = IDLE_S

    def __post_init__(self) -> None:
        self._forget()
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def _forget(self) -> None:
        """Start as new: a forked child has the parent's records, and no threads. Its copies of the pipes go, or the
        workers would outlive the parent."""
        for worker in getattr(self, "_workers", {}).values():
            worker.close_pipes()
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._workers: dict[int, _Worker] = {}
        self._n_threads = self._n_idle = 0
        self._known: OrderedDict[tuple[str, str | None], Verification] = OrderedDict()
        """By reference and answer; a reference that is bad itself, by None."""

    def submit(self, reference: str, answer: str) -> "Future[Verification]":
        """Whether the LaTeX formula ``answer`` equals ``reference``, when a worker has looked. Never raises, and its
        future neither."""
        future: Future[Verification] = Future()
        with self._changed:
            known = self._recall(reference, answer)
            if known is None and len(self._waiting) >= self.max_waiting:
                known = Verification(None, reason="queue_full")
            if known is None:
                self._waiting.append(_Job(reference, answer, future, time.monotonic() + self.max_wait_s))
                if len(self._waiting) > self._n_idle and self._n_threads < self.size:
                    threading.Thread(target=self._work, name="madrl-math", daemon=True).start()
                    self._n_threads += 1
                self._changed.notify()
        if known is not None:
            future.set_result(known)
        return future

    def pids(self) -> list[int]:
        """The process ids of the workers that are alive."""
        with self._changed:
            return [worker.pid for worker in self._workers.values()]

    def _work(self) -> None:
        """A thread: one worker, its jobs one after another."""
        me = threading.get_ident()
        while True:
            job = self._next_job()
            if job is None:
                break
            if not job.future.set_running_or_notify_cancel():
                continue
            with self._changed:
                comparison = self._recall(job.reference, job.answer)
            if comparison is None:
                comparison = self._compare(me, job)
            job.future.set_result(comparison)
        self._end_worker(me)

    def _next_job(self) -> _Job | None:
        """The longest waiting job; None after IDLE_S without one, and then this thread counts no more."""
        with self._changed:
            self._n_idle += 1
            self._changed.wait_for(lambda: bool(self._waiting), timeout=self.idle_s)
            self._n_idle -= 1
            if self._waiting:
                return self._waiting.popleft()
            self._n_threads -= 1
            return None

    def _compare(self, me: int, job: _Job) -> Verification:
        if time.monotonic() > job.give_up_at:
            return Verification(None, reason="no_time")
        comparison = Verification(None, reason="worker_lost")
        for is_last in (False, True):
            try:
                comparison = self._worker(me).compare(job.reference, job.answer, self.wall_s)
            except (_Lost, OSError) as lost:
                self._end_worker(me)
                if not isinstance(lost, _Lost):
                    # No process could be started.
                    logger.warning("math worker: %s", lost)
                    continue
                logger.info("math worker: %s", lost.reason)
                if lost.reason != "deadline" and not is_last:
                    continue
                if not lost.own_doing:
                    comparison = Verification(None, reason=lost.reason)
                elif not lost.reference_was_ready:
                    comparison = _BAD_REFERENCE
                else:
                    comparison = Verification(0.0, reason=lost.reason)
            break
        self._remember(job, comparison)
        return comparison

    def _worker(self, me: int) -> "_Worker":
        worker = self._workers.get(me)
        if worker is None:
            worker = _Worker(self.cpu_s, self.memory_bytes)
            with self._changed:
                self._workers[me] = worker
        return worker

    def _end_worker(self, me: int) -> None:
        with self._changed:
            worker = self._workers.pop(me, None)
        if worker is not None:
            worker.end()

    def _recall(self, reference: str, answer: str) -> Verification | None:
        return self._known.get((reference, None)) or self._known.get((reference, answer))

    def _remember(self, job: _Job, comparison: Verification) -> None:
        if comparison.correctness is None and comparison != _BAD_REFERENCE:
            return
        key = job.reference, None if comparison == _BAD_REFERENCE else job.answer
        with self._changed:
            self._known[key] = comparison
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


_WORKER = f"from {symbolic.__name__} import main; main()"


class _Worker:
    """One process of `symbolic`."""

    def __init__(self, cpu_s: float, memory_bytes: int) -> None:
        # A fresh interpreter with this one's paths: no copy of the parent's state, nor of its __main__.
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER, str(cpu_s), str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert self._process.stdin
        assert self._process.stdout
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._has_started = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def compare(self, reference: str, answer: str, wall_s: float) -> Verification:
        """Raises _Lost when the worker has given no verdict; it is of no use any more."""
        deadline = time.monotonic() + wall_s
        ready = False
        try:
            while not self._has_started:
                self._has_started = self._receive(deadline) == symbolic.STARTED
            symbolic.write(self._requests, [reference, answer])
            reply = self._receive(deadline)
            if reply == symbolic.REFERENCE_READY:
                ready = True
                reply = self._receive(deadline)
        except TimeoutError:
            raise _Lost("worker_stalled", ready, own_doing=False) from None
        except (EOFError, BrokenPipeError):
            raise self._obituary(ready) from None
        if reply == symbolic.BAD_REFERENCE:
            return _BAD_REFERENCE
        if isinstance(reply, bool):
            return _EQUAL if reply else _DIFFERENT
        raise _Lost(str(reply), ready, own_doing=True)

    def _obituary(self, reference_was_ready: bool) -> _Lost:
        self._process.wait()
        code = self._process.returncode
        if code == -signal.SIGPROF:
            return _Lost("deadline", reference_was_ready, own_doing=True)
        if -code in _FROM_OUTSIDE or not self._has_started:
            return _Lost("worker_lost", reference_was_ready, own_doing=False)
        return _Lost("worker_crash", reference_was_ready, own_doing=True)

    def _receive(self, deadline: float) -> Any:
        (length,) = symbolic.HEADER.unpack(self._read(symbolic.HEADER.size, deadline))
        return json.loads(self._read(length, deadline))

    def _read(self, n_bytes: int, deadline: float) -> bytes:
        received = b""
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        while len(received) < n_bytes:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            some = os.read(self._replies.fileno(), n_bytes - len(received))
            if not some:
                raise EOFError
            received += some
        return received

    def end(self) -> None:
        """Kill it: it has nothing to lose."""
        self._process.kill()
        self._process.wait()
        self.close_pipes()

    def close_pipes(self) -> None:
        self._requests.close()
        self._replies.close()


@cache
def default_pool() -> WorkerPool:
    """This process's pool: a worker per core that it may use, MAX_WORKERS at most. Raises MadrlError when the libraries
    that its workers import are not installed."""
    require("math")
    return WorkerPool(min(len(os.sched_getaffinity(0)), MAX_WORKERS))
