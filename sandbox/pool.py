"""The worker processes, one a slot, and the bounded queue in front of them."""

import asyncio
import pickle
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox.box import GRACE_S, Slot
from sandbox.jobs import COMPILE_LIMITS, Answer, Failed, Job, RunJob, StoredRun
from sandbox.languages import Toolchain
from sandbox.worker import HEADER, pack

PACKAGE_ROOT = Path(__file__).parent.parent


class OverloadedError(Exception):
    """The queue is full, or a request has waited in it for too long."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"too many programs are waiting: try again in {retry_after_s} s, or another replica")
        self.retry_after_s = retry_after_s


class Worker:
    """One worker process. When it dies it is started again, and the job that it had is tried once more."""

    def __init__(self, slot: Slot, toolchains: dict[str, Toolchain]) -> None:
        self.slot = slot
        self.toolchains = toolchains
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        """Start the process and hand it its slot and toolchains."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._reader, self._writer = await asyncio.open_connection(sock=ours)
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "sandbox.worker",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                cwd=PACKAGE_ROOT,
            )
        self._writer.write(pack((self.slot, self.toolchains)))

    async def do(self, job: Job) -> Answer:
        """The answer to a job. It is Failed when the worker dies on it twice. When cancelled, ends whatever the worker
        does first; the next job finds another in its place."""
        try:
            for attempt in (1, 2):
                try:
                    if self._process is None:
                        await self.start()
                    return await asyncio.wait_for(self._ask(job), _patience_s(job))
                except (OSError, EOFError, asyncio.IncompleteReadError, TimeoutError) as error:
                    await self._end()
                    if attempt == 2:
                        return Failed(f"the worker died: {type(error).__name__} {error}")
            raise AssertionError("unreachable")
        except asyncio.CancelledError:
            await self._end()
            raise

    async def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()  # its sandbox ends with it (native/guard.c)
        await self.stop()

    async def _ask(self, job: Job) -> Answer:
        assert self._writer is not None
        self._writer.write(pack(job))
        await self._writer.drain()
        head = await self._reader.readexactly(HEADER.size)
        answer: Answer = pickle.loads(await self._reader.readexactly(HEADER.unpack(head)[0]))
        return answer

    async def stop(self) -> None:
        """End the process and everything in its slot."""
        if self._writer is not None:
            self._writer.close()
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._process.wait(), 2)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        for group in self.slot.groups.values():
            await asyncio.to_thread(group.kill)
        self._process = None


def _patience_s(job: Job) -> float:
    """How long to wait for a worker: longer than one that keeps its own limits takes, even when sandboxes are lost and
    canaries run."""
    walls = job.limits.patience_s * job.count if isinstance(job, RunJob | StoredRun) else COMPILE_LIMITS.patience_s
    return 2 * (walls + GRACE_S) + 1800


class Pool:
    """Hands out slots, first come, first served, while at most ``queue_size`` requests wait."""

    def __init__(self, workers: list[Worker], queue_size: int) -> None:
        self.workers = workers
        self.queue_size = queue_size
        self.admitted = 0
        """Number of requests in the service, those that run and those that wait."""
        self._places = asyncio.Semaphore(len(workers) + queue_size)
        # A semaphore, and not a queue of workers, where whoever returns one and asks again at once would get it before
        # those who wait.
        self._turns = asyncio.Semaphore(len(workers))
        self._idle = deque(workers)
        self._busy_s = 1.0

    @property
    def waiting(self) -> int:
        """Number of requests that have no slot yet."""
        return max(0, self.admitted - self.busy)

    @property
    def busy(self) -> int:
        """Number of slots in use."""
        return len(self.workers) - len(self._idle)

    @property
    def full(self) -> bool:
        """Whether there is no place for another request."""
        return self._places.locked()

    @asynccontextmanager
    async def admission(self, waits: bool = False) -> AsyncIterator[None]:
        """Hold a place in the service for the length of the block. Where there is none, wait for one, or raise
        OverloadedError."""
        if self.full and not waits:
            raise self.overloaded()
        async with self._places:
            self.admitted += 1
            try:
                yield
            finally:
                self.admitted -= 1

    @asynccontextmanager
    async def slot(self, patience_s: float | None = None) -> AsyncIterator[Worker]:
        """Hold a worker for the length of the block. Raises OverloadedError when none gets free in ``patience_s``."""
        try:
            async with asyncio.timeout(patience_s):
                await self._turns.acquire()
        except TimeoutError:
            raise self.overloaded() from None
        worker = self._idle.popleft()
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            yield worker
        finally:
            self._busy_s += 0.1 * (loop.time() - started - self._busy_s)
            self._idle.append(worker)
            self._turns.release()

    def overloaded(self) -> OverloadedError:
        """The error, with an estimate of when half of the queue will be through."""
        half = 0.5 * self.waiting * self._busy_s / len(self.workers)
        return OverloadedError(min(5, max(1, round(half))))
