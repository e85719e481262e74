"""The way of a request: compile cache, slot, worker, and the worker's answer in the words of the API."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sandbox.box import Limits
from sandbox.cache import ArtifactCache
from sandbox.errors import BadRequestError, LanguageNotServedError, SandboxError
from sandbox.jobs import (
    COMPILE_LIMITS,
    MAX_CODE_BYTES,
    Canary,
    Compiled,
    CompileJob,
    Failed,
    Program,
    Ran,
    RunJob,
    Source,
    StoredRun,
    Work,
)
from sandbox.metrics import Metrics
from sandbox.pool import Pool, Worker
from sandbox.translation import Asked, Report

RUN_CODE_QUEUE_S = 8.0
"""How long a request of /run_code waits for slots, and for others' compilation of its program, together."""


class JudgeService:
    """Both routes over one pool and one compile cache."""

    def __init__(self, pool: Pool, cache: ArtifactCache, missing: dict[str, str], metrics: Metrics) -> None:
        self.pool = pool
        self.cache = cache
        self.toolchains = pool.workers[0].toolchains
        self.missing = missing
        """Language -> the reason why it is not served."""
        self.metrics = metrics
        self.proven: dict[str, float] = {}
        """Language -> when a program in it ran last, by time.monotonic()."""
        self.answered = 0
        """Requests that have had their answer: while it grows, the queue moves."""

    async def do(self, work: Work) -> Asked:
        """Compile, run, and tell the results. Raises LanguageNotServedError, SandboxError, OverloadedError, and
        BadRequestError for a checker at fault."""
        asked = Asked(work.run.language)
        if asked.language in self.missing:
            raise LanguageNotServedError(f"{asked.language} is not served here: {self.missing[asked.language]}")
        asked.toolchain = self.toolchains[asked.language].version
        started = time.monotonic()
        async with self._checker(work.checker) as checker:

            def job(program: Program) -> RunJob | StoredRun:
                run = replace(work.run, folder=program.folder, entry=program.entry, checker=checker)
                if work.answer_within_s is None:
                    return run
                return replace(run, limits=run.limits.at_most(work.answer_within_s - (time.monotonic() - started)))

            deadline = None if work.answer_within_s is None else started + RUN_CODE_QUEUE_S
            await self._compile_and_run(asked, Source(asked.language, work.code), work.compile_limits, job, deadline)
        if isinstance(asked.ran, Failed) and asked.ran.by_request:
            raise BadRequestError(asked.ran.message)
        if isinstance(asked.ran, Ran):
            self.proven[asked.language] = time.monotonic()
        return asked

    async def prove(self, period_s: float) -> str:
        """Prove with a canary each language that has run no program for ``period_s``, and look at every slot's groups.
        Returns what is wrong; empty when nothing is. A language whose canary failed at start is served once it
        works."""
        problems = [group.problem() for worker in self.pool.workers for group in worker.slot.groups.values()]
        for language in self.toolchains:
            if time.monotonic() - self.proven.get(language, -period_s) < period_s:
                continue
            problem = await canary_problem(self.pool, language)
            if not problem:
                self.missing.pop(language, None)
            elif language not in self.missing:
                problems.append(f"{language}: {problem}")
        return "; ".join(problem for problem in problems if problem)

    async def _compile_and_run(
        self,
        asked: Asked,
        source: Source,
        limits: Limits,
        job: Callable[[Program], RunJob | StoredRun] | None,
        deadline: float | None,
    ) -> None:
        """Fill in ``asked``; without a job the program is only compiled. One slot is held from the compilation to the
        last test. Nobody holds a slot while waiting for another request's compilation. Raises OverloadedError for who
        still waits for either at the ``deadline``, by time.monotonic()."""
        language, code = source
        if len(code) > MAX_CODE_BYTES:
            asked.compiled = Compiled("error", None, None, b"", b"the source is larger than 1 MiB", 0, 0)
            return
        key = self._key(source, limits)
        while asked.compiled is None:
            with self.cache.use(key) as (entry, first):
                asked.cached = not first
                if first:
                    async with self._slot(asked, deadline) as worker:
                        asked.compiled = await worker.do(CompileJob(language, code, str(entry.folder), limits))
                        if isinstance(asked.compiled, Compiled):
                            self.cache.fill(key, entry, asked.compiled)
                        await _run(asked, worker, entry.folder, job)
                else:
                    try:
                        asked.compiled = await asyncio.wait_for(asyncio.shield(entry.result), _left_s(deadline))
                    except TimeoutError:
                        raise self.pool.overloaded() from None
                    if job and isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
                        async with self._slot(asked, deadline) as worker:
                            await _run(asked, worker, entry.folder, job)

    @asynccontextmanager
    async def _checker(self, source: Source | None) -> AsyncIterator[Program | None]:
        """The compiled checker program, kept for the length of the block; None where none is asked for. Raises
        BadRequestError when it does not compile, and what ``do`` raises."""
        if source is None:
            yield None
            return
        if source.language in self.missing:
            raise LanguageNotServedError(f"{source.language} is not served here: {self.missing[source.language]}")
        key = self._key(source, COMPILE_LIMITS)
        with self.cache.keep(key):
            asked = Asked(source.language)
            await self._compile_and_run(asked, source, COMPILE_LIMITS, None, None)
            compiled = asked.compiled
            if not isinstance(compiled, Compiled):
                raise SandboxError(compiled.message if isinstance(compiled, Failed) else "the checker is not compiled")
            if compiled.entry is None:
                said = compiled.stderr.decode("utf-8", "replace")[-1000:]
                raise BadRequestError(f"the checker does not compile: {said}")
            self.metrics.cache.labels(source.language, "hit" if asked.cached else "miss").inc()
            with self.cache.use(key) as (entry, _):
                yield Program(source.language, str(entry.folder), compiled.entry)

    def _key(self, source: Source, limits: Limits) -> str:
        """What a compilation is kept under."""
        parts = [self.toolchains[source.language].fingerprint.encode(), str(limits.cpu_s).encode(), source.code]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    @asynccontextmanager
    async def _slot(self, asked: Asked, deadline: float | None) -> AsyncIterator[Worker]:
        arrived = time.monotonic()
        async with self.pool.slot(_left_s(deadline)) as worker:
            asked.queue_s = time.monotonic() - arrived
            yield worker

    def count(self, asked: Asked, report: Report) -> None:
        """Count a request that has its answer."""
        self.answered += 1
        m, language = self.metrics, asked.language
        m.verdicts.labels(language, report.verdict).inc()
        m.cache.labels(language, "hit" if asked.cached else "miss").inc()
        m.cache_bytes.set(self.cache.size_bytes)
        if isinstance(asked.compiled, Compiled) and not asked.cached:
            m.cpu.labels(language, "compile").inc(asked.compiled.cpu_s)
        if isinstance(asked.ran, Ran):
            m.tests.labels(language).inc(len(asked.ran.tests))
            m.cpu.labels(language, "run").inc(sum(test.cpu_s for test in asked.ran.tests))


async def canary_problem(pool: Pool, language: str) -> str:
    """What is wrong with a language whose canary fails twice, as one lost sandbox says nothing; empty when it works."""
    async with pool.slot() as worker:
        answer = await worker.do(Canary(language))
        if isinstance(answer, Failed):
            answer = await worker.do(Canary(language))
    return f"its canary program failed: {answer.message}" if isinstance(answer, Failed) else ""


def _left_s(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


async def _run(asked: Asked, worker: Worker, folder: Path, job: Callable[[Program], RunJob | StoredRun] | None) -> None:
    if job and isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
        asked.ran = await worker.do(job(Program(asked.language, str(folder), asked.compiled.entry)))
