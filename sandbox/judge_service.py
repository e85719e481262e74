"""The way of a request: compile cache, slot, worker, and the worker's answer in the words of the API."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sandbox.cache import ArtifactCache
from sandbox.errors import LanguageNotServedError
from sandbox.jobs import MAX_CODE_BYTES, Canary, Compiled, CompileJob, Failed, Ran, Work
from sandbox.metrics import Metrics
from sandbox.pool import Pool, Worker
from sandbox.translation import Asked, Report

RUN_CODE_QUEUE_S = 8.0


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

    async def do(self, work: Work) -> Asked:
        """Compile, run, and tell the results. Raises LanguageNotServedError, SandboxError, OverloadedError."""
        asked = Asked(work.run.language)
        if asked.language in self.missing:
            raise LanguageNotServedError(f"{asked.language} is not served here: {self.missing[asked.language]}")
        asked.toolchain = self.toolchains[asked.language].version
        await self._compile_and_run(asked, work, time.monotonic())
        if isinstance(asked.ran, Ran):
            self.proven[asked.language] = time.monotonic()
        return asked

    async def prove(self, period_s: float) -> str:
        """Prove with a canary each language that has run no program for ``period_s``, and look at every slot's groups.
        Returns what is wrong; empty when nothing is."""
        problems = [worker.slot.group.problem() for worker in self.pool.workers if worker.slot.group]
        for language in self.toolchains.keys() - self.missing.keys():
            if time.monotonic() - self.proven.get(language, -period_s) < period_s:
                continue
            async with self.pool.slot() as worker:
                answer = await worker.do(Canary(language))
                if isinstance(answer, Failed):
                    answer = await worker.do(Canary(language))
            if isinstance(answer, Failed):
                problems.append(f"{language}: its canary program failed: {answer.message}")
        return "; ".join(problem for problem in problems if problem)

    async def _compile_and_run(self, asked: Asked, work: Work, started: float) -> None:
        """Fill in ``asked``. One slot is held from the compilation to the last test. Nobody holds a slot while waiting
        for another request's compilation."""
        code, limits = work.code, work.compile_limits
        patience_s = None if work.answer_within_s is None else RUN_CODE_QUEUE_S
        if len(code) > MAX_CODE_BYTES:
            asked.compiled = Compiled("error", None, None, b"", b"the source is larger than 1 MiB", 0, 0)
            return
        parts = [self.toolchains[asked.language].fingerprint.encode(), str(limits.cpu_s).encode(), code]
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()
        while asked.compiled is None:
            with self.cache.use(key) as (entry, first):
                asked.cached = not first
                if first:
                    async with self._slot(asked, patience_s) as worker:
                        asked.compiled = await worker.do(CompileJob(asked.language, code, str(entry.folder), limits))
                        if isinstance(asked.compiled, Compiled):
                            self.cache.fill(key, entry, asked.compiled)
                        await _run(asked, worker, entry.folder, work, started)
                else:
                    asked.compiled = await asyncio.shield(entry.result)
                    if isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
                        async with self._slot(asked, patience_s) as worker:
                            await _run(asked, worker, entry.folder, work, started)

    @asynccontextmanager
    async def _slot(self, asked: Asked, patience_s: float | None) -> AsyncIterator[Worker]:
        arrived = time.monotonic()
        async with self.pool.slot(patience_s) as worker:
            asked.queue_s = time.monotonic() - arrived
            yield worker

    def count(self, asked: Asked, report: Report) -> None:
        """Count a request that has its answer."""
        m, language = self.metrics, asked.language
        m.verdicts.labels(language, report.verdict).inc()
        m.cache.labels(language, "hit" if asked.cached else "miss").inc()
        m.cache_bytes.set(self.cache.size_bytes)
        if isinstance(asked.compiled, Compiled) and not asked.cached:
            m.cpu.labels(language, "compile").inc(asked.compiled.cpu_s)
        if isinstance(asked.ran, Ran):
            m.tests.labels(language).inc(len(asked.ran.tests))
            m.cpu.labels(language, "run").inc(sum(test.cpu_s for test in asked.ran.tests))


async def _run(asked: Asked, worker: Worker, folder: Path, work: Work, started: float) -> None:
    if isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
        job = replace(work.run, folder=str(folder), entry=asked.compiled.entry)
        if work.answer_within_s is not None:
            job = replace(job, limits=job.limits.at_most(work.answer_within_s - (time.monotonic() - started)))
        asked.ran = await worker.do(job)
