"""The way of a request: compile cache, slot, worker, and the worker's answer in the words of the API."""

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.api import (
    Checker,
    CommandResult,
    CompileReport,
    JudgeRequest,
    JudgeResponse,
    RunCodeRequest,
    RunCodeResponse,
)
from sandbox.box import Limits
from sandbox.cache import ArtifactCache
from sandbox.errors import LanguageNotServedError, SandboxError
from sandbox.jobs import (
    COMPILE_LIMITS,
    Answer,
    Compiled,
    CompileJob,
    Failed,
    JudgeVerdict,
    Program,
    Ran,
    RunJob,
    TestCase,
)
from sandbox.languages import Toolchain, language_of
from sandbox.metrics import Metrics
from sandbox.pool import Pool, Worker

MAX_CODE_BYTES = 1 << 20
DEFAULT_MEMORY_MB = 1024
"""The limit for SandboxFusion's -1, which stands for "no limit"."""
CLIENT_SPARE_S = 9.0
"""veRL's client waits for compile_timeout + run_timeout + 10 s, then gives up for good; a 504 in time it retries."""
RUN_CODE_QUEUE_S = 8.0


class BadRequestError(Exception):
    """The request names a language that this service does not know, or files that cannot be put into the working
    directory."""


@dataclass
class Asked:
    """A request's results so far, for its answer, the log and the metrics."""

    language: str
    compiled: Answer | None = None
    cached: bool = False
    ran: Answer | None = None
    queue_s: float = 0.0


class JudgeService:
    """Both routes over one pool and one compile cache."""

    def __init__(self, pool: Pool, cache: ArtifactCache, missing: dict[str, str], metrics: Metrics) -> None:
        self.pool = pool
        self.cache = cache
        self.toolchains = pool.workers[0].toolchains
        self.missing = missing
        """Language -> the reason why it is not served."""
        self.metrics = metrics

    def language(self, name: str) -> str:
        """The canonical name. Raises BadRequestError, or LanguageNotServedError where it has no toolchain."""
        language = language_of(name)
        if language is None:
            raise BadRequestError(f"unknown language {name!r}: use one of {sorted({*self.toolchains, *self.missing})}")
        if language in self.missing:
            raise LanguageNotServedError(f"{language} is not served here: {self.missing[language]}")
        return language

    async def judge(self, request: JudgeRequest) -> tuple[JudgeResponse, Asked]:
        """The verdict. Raises BadRequestError, LanguageNotServedError, SandboxError, OverloadedError."""
        asked = Asked(self.language(request.language))
        tests = [TestCase(_bytes(test.input), _bytes(test.output)) for test in request.tests]

        async with self._checker(request.checker) as checker:

            def job(program: Program) -> RunJob:
                return RunJob(
                    program=program,
                    tests=tests,
                    limits=Limits.of(request.time_limit_s, request.memory_limit_mb),
                    stop_on_first_failure=request.stop_on_first_failure,
                    checker=checker,
                    **request.checker.model_dump(include={"mode", "abs_tol", "rel_tol"}),
                )

            await self._compile_and_run(asked, _bytes(request.code), COMPILE_LIMITS, job, None)
        if isinstance(asked.ran, Failed) and asked.ran.by_request:
            raise BadRequestError(asked.ran.message)
        response = _judge_response(asked, len(tests), self.toolchains[asked.language].version)
        self._count(asked, response.verdict)
        return response, asked

    async def run_code(self, request: RunCodeRequest) -> tuple[RunCodeResponse, Asked]:
        """SandboxFusion's answer. Raises what ``judge`` raises, BadRequestError also for its files."""
        started = time.monotonic()
        asked = Asked(self.language(request.language))
        files = {
            _inside(path): _decoded(path, content) for path, content in request.files.items() if content is not None
        }
        memory_mb = request.memory_limit_MB if request.memory_limit_MB > 0 else DEFAULT_MEMORY_MB

        def job(program: Program) -> RunJob:
            patience_s = request.compile_timeout + request.run_timeout + CLIENT_SPARE_S - (time.monotonic() - started)
            return RunJob(
                program=program,
                tests=[TestCase(_bytes(request.stdin or ""), b"")],
                limits=Limits.of(request.run_timeout, memory_mb, patience_s),
                keep_output=True,
                files=files,
                fetch=[_inside(path) for path in request.fetch_files],
            )

        limits = Limits.of(min(request.compile_timeout, COMPILE_LIMITS.cpu_s), COMPILE_LIMITS.memory_mb)
        await self._compile_and_run(asked, _bytes(request.code), limits, job, RUN_CODE_QUEUE_S)
        response = _run_code_response(asked)
        verdict = asked.ran.tests[0].verdict if isinstance(asked.ran, Ran) else ("CE" if asked.ran is None else "IE")
        self._count(asked, "IE" if response.status == "SandboxError" else verdict)
        return response, asked

    async def _compile_and_run(
        self,
        asked: Asked,
        code: bytes,
        limits: Limits,
        job: Callable[[Program], RunJob] | None,
        patience_s: float | None,
    ) -> None:
        """Fill in ``asked``; without a job the program is only compiled. One slot is held from the compilation to the
        last test. Nobody holds a slot while waiting for another request's compilation."""
        if len(code) > MAX_CODE_BYTES:
            asked.compiled = Compiled("error", None, None, b"", b"the source is larger than 1 MiB", 0, 0)
            return
        toolchain = self.toolchains[asked.language]
        key = _key(toolchain, limits, code)
        while asked.compiled is None:
            with self.cache.use(key) as (entry, first):
                asked.cached = not first
                if first:
                    async with self._slot(asked, patience_s) as worker:
                        name = toolchain.source_name(code.decode("utf-8", "surrogatepass"))
                        compilation = CompileJob(asked.language, code, name, str(entry.folder), limits)
                        asked.compiled = await worker.do(compilation)
                        if isinstance(asked.compiled, Compiled):
                            self.cache.fill(key, entry, asked.compiled)
                        await _run(asked, worker, entry.folder, job)
                else:
                    asked.compiled = await asyncio.shield(entry.result)
                    if job and isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
                        async with self._slot(asked, patience_s) as worker:
                            await _run(asked, worker, entry.folder, job)

    @asynccontextmanager
    async def _checker(self, checker: Checker) -> AsyncIterator[Program | None]:
        """The compiled checker program, kept for the length of the block; None where none is asked for. Raises
        BadRequestError when it does not compile, and what ``judge`` raises."""
        if checker.mode != "program":
            yield None
            return
        language, code = self.language(checker.language), _bytes(checker.code)
        key = _key(self.toolchains[language], COMPILE_LIMITS, code)
        while True:
            asked = Asked(language)
            await self._compile_and_run(asked, code, COMPILE_LIMITS, None, None)
            compiled = asked.compiled
            if not isinstance(compiled, Compiled):
                raise SandboxError(_problem(asked))
            if compiled.entry is None:
                raise BadRequestError(f"the checker does not compile: {_text(compiled.stderr)[-1000:]}")
            self.metrics.cache.labels(language, "hit" if asked.cached else "miss").inc()
            with self.cache.use(key) as (entry, dropped):
                if not dropped:
                    yield Program(language, str(entry.folder), compiled.entry)
                    return

    @asynccontextmanager
    async def _slot(self, asked: Asked, patience_s: float | None) -> AsyncIterator[Worker]:
        arrived = time.monotonic()
        async with self.pool.slot(patience_s) as worker:
            asked.queue_s = time.monotonic() - arrived
            yield worker

    def _count(self, asked: Asked, verdict: str) -> None:
        m, language = self.metrics, asked.language
        m.verdicts.labels(language, verdict).inc()
        m.cache.labels(language, "hit" if asked.cached else "miss").inc()
        m.cache_bytes.set(self.cache.size_bytes)
        if isinstance(asked.compiled, Compiled) and not asked.cached:
            m.cpu.labels(language, "compile").inc(asked.compiled.cpu_s)
        if isinstance(asked.ran, Ran):
            m.tests.labels(language).inc(len(asked.ran.tests))
            m.cpu.labels(language, "run").inc(sum(test.cpu_s for test in asked.ran.tests))


def _key(toolchain: Toolchain, limits: Limits, code: bytes) -> str:
    """What a compilation is kept under."""
    parts = [toolchain.fingerprint.encode(), str(limits.cpu_s).encode(), code]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


async def _run(asked: Asked, worker: Worker, folder: Path, job: Callable[[Program], RunJob] | None) -> None:
    if job and isinstance(asked.compiled, Compiled) and asked.compiled.entry is not None:
        asked.ran = await worker.do(job(Program(asked.language, str(folder), asked.compiled.entry)))


def _judge_response(asked: Asked, total: int, toolchain: str) -> JudgeResponse:
    compiled, ran = asked.compiled, asked.ran
    if not isinstance(compiled, Compiled) or isinstance(ran, Failed):
        return JudgeResponse(
            verdict=JudgeVerdict.IE, passed=0, total=total, first_failed=None, compile=None, tests=[],
            toolchain=toolchain, message=_problem(asked),
        )  # fmt: skip
    tests = ran.tests if isinstance(ran, Ran) else []
    failed = next((index for index, test in enumerate(tests) if test.verdict != "AC"), None)
    verdict = "CE" if compiled.entry is None else "AC" if failed is None else tests[failed].verdict
    report = CompileReport(
        status=compiled.status,
        exit_code=compiled.exit_code,
        stdout=_text(compiled.stdout),
        stderr=_text(compiled.stderr),
        cpu_s=compiled.cpu_s,
        wall_s=compiled.wall_s,
        cached=asked.cached,
    )
    return JudgeResponse(
        verdict=JudgeVerdict(verdict),
        passed=sum(test.verdict == "AC" for test in tests),
        total=total,
        first_failed=failed,
        compile=report,
        tests=[*tests],
        toolchain=toolchain,
        message="" if failed is None else tests[failed].message,
        points=sum(points) / total if (points := [test.points for test in tests if test.points is not None]) else None,
        tried_exec=any(test.tried_exec for test in tests),
    )


def _problem(asked: Asked) -> str:
    """The reason why nothing is known about the program."""
    return next((part.message for part in (asked.compiled, asked.ran) if isinstance(part, Failed)), "not compiled")


TRIED_EXEC = "the program tried to start another program, which is refused"

INTERPRETED = ("python", "javascript")
"""Languages that SandboxFusion does not compile: a syntax error is a failed run there."""


def _run_code_response(asked: Asked) -> RunCodeResponse:
    compiled, ran = asked.compiled, asked.ran
    if not isinstance(compiled, Compiled) or isinstance(ran, Failed):
        return RunCodeResponse(status="SandboxError", message=_problem(asked))
    compilation = CommandResult(
        status="TimeLimitExceeded" if compiled.status == "time_limit" else "Finished",
        execution_time=compiled.wall_s,
        return_code=compiled.exit_code if compiled.exit_code is not None else 1,
        stdout=_text(compiled.stdout),
        stderr=_text(compiled.stderr),
    )
    if compiled.entry is None:
        interpreted = asked.language in INTERPRETED
        return RunCodeResponse(
            status="Failed",
            compile_result=None if interpreted else compilation,
            run_result=compilation if interpreted else None,
        )
    assert isinstance(ran, Ran)
    test = ran.tests[0]
    notes = {"MLE": "memory limit exceeded", "OLE": "output limit exceeded"}
    note = notes.get(test.verdict, TRIED_EXEC if test.tried_exec else "")
    run = CommandResult(
        status="TimeLimitExceeded" if test.verdict == "TLE" else "Finished",
        execution_time=test.wall_s,
        return_code=None if test.verdict == "TLE" else test.exit_code if test.signal is None else -test.signal,
        stdout=_text(test.stdout),
        stderr=_text(test.stderr),
    )
    return RunCodeResponse(
        status="Success" if test.verdict == "AC" else "Failed",
        message=note,
        compile_result=None if asked.language in INTERPRETED else compilation,
        run_result=run,
        files={path: base64.b64encode(content).decode() for path, content in ran.files.items()},
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _inside(path: str) -> str:
    """The path, normalised. Raises BadRequestError when it leaves the working directory."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or len(path.encode()) > 1000 or "\0" in path:
        raise BadRequestError(f"file {path[:200]!r}: use a relative path inside the working directory")
    return str(parts)


def _decoded(path: str, content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise BadRequestError(f"file {path[:200]!r} is not base64: {error}") from error
