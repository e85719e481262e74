"""From a request's bytes to the service's terms, and from its results to an answer's bytes.

All of it takes time in proportion to bytes that a client or a program chose. What is large is therefore translated in
a process of its own (``aside``), and goes there and back in files in memory, so that the front process holds nothing of
it. A thread would not do: JSON is parsed in one call, which keeps the interpreter's lock, and with it the event loop,
for as long as it takes (a quarter of a second for 57 MB on a busy core, and a list of two million numbers is worse).
"""

import base64
import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, NoReturn, TypeVar

from anyio import BrokenWorkerProcess, to_process
from pydantic import BaseModel, ValidationError

from sandbox.api import (
    MAX_ID,
    Batch,
    BatchProgram,
    CommandResult,
    CompileReport,
    JudgeRequest,
    JudgeResponse,
    RunCodeRequest,
    RunCodeResponse,
)
from sandbox.box import Limits
from sandbox.errors import BadRequestError, TranslatorLostError
from sandbox.jobs import (
    COMPILE_LIMITS,
    MAX_CODE_BYTES,
    Answer,
    Compiled,
    Failed,
    JudgeVerdict,
    Ran,
    RunJob,
    Source,
    Stored,
    StoredRun,
    TestCase,
    Work,
)
from sandbox.languages import LANGUAGES, language_of

Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)

SMALL_BYTES = 64 << 10
"""Up to here a request or an answer is translated where it is, in milliseconds at worst."""
MEMORY_BYTES, MEMORY_FACTOR = 1 << 30, 12
"""The address space of a process that translates n bytes is at most MEMORY_BYTES + MEMORY_FACTOR * n."""
SHOWN_ERRORS = 10
MAX_NAME_BYTES = 255
"""The longest name that a file or a folder can have (Linux, NAME_MAX)."""
DEFAULT_MEMORY_MB = 1024
"""The limit for SandboxFusion's -1, which stands for "no limit"."""
CLIENT_SPARE_S = 9.0
"""veRL's client waits for compile_timeout + run_timeout + 10 s, then gives up for good; a 504 in time it retries."""


@dataclass
class Asked:
    """A request's results so far."""

    language: str
    toolchain: str = ""
    compiled: Answer | None = None
    cached: bool = False
    ran: Answer | None = None
    queue_s: float = 0.0

    @property
    def size_bytes(self) -> int:
        """About how large the answer will be."""
        size = len(self.compiled.stdout) + len(self.compiled.stderr) if isinstance(self.compiled, Compiled) else 0
        if isinstance(self.ran, Ran):
            size += sum(300 + len(test.stdout) + len(test.stderr) + len(test.message) for test in self.ran.tests)
            size += sum(map(len, self.ran.files.values()))
        return size


class Report(NamedTuple):
    """An answer, and what the log and the metrics want of it."""

    body: bytes | Path
    """The answer, or the file that holds it."""
    verdict: str
    message: str
    passed: int
    first_failed: int | None


async def aside(size_bytes: int, function: Callable[..., Result], *arguments: object) -> Result:
    """What ``function`` returns for the arguments, which are about ``size_bytes`` large, called in another process.
    Raises what the function raises, BadRequestError where its bounded memory is not enough, and TranslatorLostError
    where the process is lost, and the next one too."""
    for attempt in (1, 2):
        try:
            return await to_process.run_sync(_bounded, size_bytes, function, arguments, cancellable=True)
        except MemoryError as error:
            raise BadRequestError("the request takes too much memory to read") from error
        except BrokenWorkerProcess as error:
            if attempt == 2:
                raise TranslatorLostError("the process that translates what is large was lost twice") from error
    raise AssertionError("unreachable")


def _bounded(size_bytes: int, function: Callable[..., Result], arguments: tuple[object, ...]) -> Result:
    limit = MEMORY_BYTES + MEMORY_FACTOR * size_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    return function(*arguments)


def read_stored(read: Callable[[bytes], Work], body: Path, store: Path) -> Work:
    """What ``read`` returns for the body in a file, with the run left in ``store``. Raises what ``read`` raises."""
    return _stored(read(body.read_bytes()), store)


def _stored(work: Work, store: Path) -> Work:
    """``work``, with its run in ``store``."""
    assert isinstance(work.run, RunJob)
    # Of a source that is too large it is enough to know that.
    return replace(work, code=work.code[: MAX_CODE_BYTES + 1], run=StoredRun.of(work.run, store))


def report_stored(report: Callable[[Asked, int], Report], asked: Asked, total: int, store: Path) -> Report:
    """What ``report`` returns for the results, with the answer left in ``store``."""
    told = report(asked, total)
    assert isinstance(told.body, bytes)
    store.write_bytes(told.body)
    return told._replace(body=store)


# ---- requests


@dataclass(frozen=True)
class Item:
    """A program of a batch."""

    index: int
    id: str
    work: Stored | None
    """The Work that it asks for. None: it is at fault."""
    problem: str = ""


def read_batch(body: bytes | Path, store: Path) -> list[Item]:
    """The programs of a body of ``POST /judge/batch``, whose works are left in ``store``. Raises BadRequestError when
    it is no batch."""
    batch = _valid(Batch[Any], _parsed(body if isinstance(body, bytes) else body.read_bytes()))
    return [_item(index, program, store) for index, program in enumerate(batch.programs)]


def _item(index: int, program: object, store: Path) -> Item:
    try:
        request = _valid(BatchProgram, program)
        return Item(index, request.id, Stored.of(_stored(_work(request), store), store))
    except BadRequestError as error:
        said = program.get("id") if isinstance(program, dict) else None
        return Item(index, said[:MAX_ID] if isinstance(said, str) else "", None, str(error))


def read_judge(body: bytes) -> Work:
    """The work that a body of ``POST /judge`` asks for. Raises BadRequestError."""
    return _work(_valid(JudgeRequest, _parsed(body)))


def _work(request: JudgeRequest) -> Work:
    run = RunJob(
        language=_language(request.language),
        tests=[TestCase(_bytes(test.input), _bytes(test.output)) for test in request.tests],
        limits=Limits.of(request.time_limit_s, request.memory_limit_mb),
        stop_on_first_failure=request.stop_on_first_failure,
        stop_on_timeout=request.stop_on_timeout,
        **request.checker.model_dump(include={"mode", "abs_tol", "rel_tol", "ignore_case"}),
    )
    checker = None
    if request.checker.mode == "program":
        checker = Source(_language(request.checker.language), _bytes(request.checker.code))
    return Work(_bytes(request.code), COMPILE_LIMITS, run, checker=checker)


def read_run_code(body: bytes) -> Work:
    """The work that a body of ``POST /run_code`` asks for. Raises BadRequestError, also for its files."""
    request = _valid(RunCodeRequest, _parsed(body))
    files = {_inside(path): _decoded(path, content) for path, content in request.files.items() if content is not None}
    paths = sorted(path.split("/") for path in files)
    for folder, path in pairwise(paths):  # what is in a folder comes right behind it
        if path[: len(folder)] == folder:
            raise BadRequestError(f"file {'/'.join(path)[:200]!a}: its folder is a file too")
    for name in request.fetch_files:
        _inside(name)
    run = RunJob(
        language=_language(request.language),
        tests=[TestCase(_bytes(request.stdin or ""), b"")],
        limits=Limits.of(
            request.run_timeout, request.memory_limit_MB if request.memory_limit_MB > 0 else DEFAULT_MEMORY_MB
        ),
        keep_output=True,
        files=files,
        fetch=list(dict.fromkeys(request.fetch_files)),
    )
    limits = Limits.of(min(request.compile_timeout, COMPILE_LIMITS.cpu_s), COMPILE_LIMITS.memory_mb)
    return Work(_bytes(request.code), limits, run, request.compile_timeout + request.run_timeout + CLIENT_SPARE_S)


def _parsed(body: bytes) -> object:
    try:
        # json and not pydantic's own parser, which takes no half of a surrogate pair: a program may hold one.
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is no JSON: {str(error)[:200]}") from None


def _valid(model: type[Model], value: object) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, one['loc']))[:100]}: {one['msg'][:200]}" for one in found[:SHOWN_ERRORS]]
        raise BadRequestError("; ".join(told)) from None
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body cannot be read: {str(error)[:200]}") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _language(name: str) -> str:
    language = language_of(name)
    if language is None:
        raise BadRequestError(f"unknown language {name[:100]!a}: use one of {sorted(LANGUAGES)}")
    return language


# ---- answers


def judge_report(asked: Asked, total: int) -> Report:
    """The answer of ``POST /judge`` on ``total`` tests."""
    response = _judge_response(asked, total)
    body = response.model_dump_json().encode()
    return Report(body, response.verdict, response.message, response.passed, response.first_failed)


def run_code_report(asked: Asked, _: int) -> Report:
    """The answer of ``POST /run_code``."""
    response = _run_code_response(asked)
    if response.status == "SandboxError":
        verdict = "IE"
    else:
        verdict = asked.ran.tests[0].verdict if isinstance(asked.ran, Ran) else "CE"
    passed, first_failed = (1, None) if verdict == "AC" else (0, 0)
    return Report(response.model_dump_json().encode(), verdict, response.message, passed, first_failed)


def _judge_response(asked: Asked, total: int) -> JudgeResponse:
    compiled, ran = asked.compiled, asked.ran
    if not isinstance(compiled, Compiled) or isinstance(ran, Failed):
        return JudgeResponse(
            verdict=JudgeVerdict.IE, passed=0, total=total, first_failed=None, compile=None, tests=[],
            toolchain=asked.toolchain, message=_problem(asked),
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
        toolchain=asked.toolchain,
        message="" if failed is None else tests[failed].message,
        points=sum(points) / total if (points := [test.points for test in tests if test.points is not None]) else None,
        tried_exec=any(test.tried_exec for test in tests),
    )


def _problem(asked: Asked) -> str:
    """The reason why nothing is known about the program."""
    return next((part.message for part in (asked.compiled, asked.ran) if isinstance(part, Failed)), "not compiled")


TRIED_EXEC = "the program tried to start another program, which is refused"


def _run_code_response(asked: Asked) -> RunCodeResponse:
    compiled, ran = asked.compiled, asked.ran
    if not isinstance(compiled, Compiled) or isinstance(ran, Failed):
        return RunCodeResponse(status="SandboxError", message=_problem(asked))
    interpreted = LANGUAGES[asked.language].interpreted
    compilation = CommandResult(
        status="TimeLimitExceeded" if compiled.status == "time_limit" else "Finished",
        execution_time=compiled.wall_s,
        return_code=compiled.exit_code if compiled.exit_code is not None else 1,
        stdout=_text(compiled.stdout),
        stderr=_text(compiled.stderr),
    )
    if compiled.entry is None:
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
        compile_result=None if interpreted else compilation,
        run_result=run,
        files={path: base64.b64encode(content).decode() for path, content in ran.files.items()},
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _inside(path: str) -> str:
    """The path, normalised. Raises BadRequestError when it leaves the working directory, or no file can have it."""
    parts = PurePosixPath(path)
    try:
        length, longest = len(path.encode()), max((len(part.encode()) for part in parts.parts), default=0)
    except UnicodeEncodeError:  # half a surrogate pair
        length = longest = sys.maxsize
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or length > 1000 or "\0" in path:
        raise BadRequestError(f"file {path[:200]!a}: use a relative path inside the working directory")
    if longest > MAX_NAME_BYTES:
        raise BadRequestError(f"file {path[:200]!a}: a name in its path is longer than {MAX_NAME_BYTES} bytes")
    return str(parts)


def _decoded(path: str, content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except ValueError as error:
        raise BadRequestError(f"file {path[:200]!a} is not base64: {error}") from error
