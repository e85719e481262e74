"""The requests and answers of the service over HTTP: the native route ``/judge`` and SandboxFusion's ``/run_code``."""

import os
from typing import Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sandbox.jobs import CompileStatus, JudgeVerdict, TestReport
from sandbox.languages import LANGUAGES

MAX_TESTS_CPU_S = 36_000.0
"""The CPU seconds that all tests of one request may ask for together."""
MAX_ID = 200


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Checker(_Request):
    """How an output is judged: compared with the expected one (checkers.py), or by a program (checker_program.py)."""

    mode: Literal["tokens", "exact", "lines", "program"] = "tokens"
    abs_tol: float = Field(1e-6, ge=0, le=1)
    rel_tol: float = Field(1e-6, ge=0, le=1)
    ignore_case: bool = Field(False, description="whether yes is YES, with mode=tokens only")
    language: str = Field("", description="of the program, with mode=program only")
    code: str = Field("", description="the program, with mode=program only")

    @model_validator(mode="after")
    def _has_a_program_or_none(self) -> Self:
        if (self.mode == "program") != bool(self.language and self.code) or bool(self.language) != bool(self.code):
            raise ValueError("a checker has language and code with mode=program, and neither with any other")
        return self


class Test(_Request):
    """One test: what the program reads, and what it should print."""

    input: str = ""
    output: str = ""


class JudgeRequest(_Request):
    """A program and its tests."""

    language: str = Field(description=f"one of {', '.join(LANGUAGES)}, or of their aliases (GET /languages)")
    code: str
    tests: list[Test] = Field(min_length=1, max_length=10_000)
    time_limit_s: float = Field(2.0, gt=0, le=60, description="CPU seconds for each test; asleep: 3 times that + 2 s")
    memory_limit_mb: int = Field(256, ge=16, le=8192)
    checker: Checker = Checker()
    stop_on_first_failure: bool = True
    stop_on_timeout: bool = Field(
        False, description="whether a test that runs out of time is the last one, with stop_on_first_failure=false"
    )

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len(self.tests) * self.time_limit_s > MAX_TESTS_CPU_S:
            raise ValueError(f"tests times time_limit_s is above {MAX_TESTS_CPU_S:.0f} s")
        return self


class BatchProgram(JudgeRequest):
    """A program of a batch, and its tests."""

    id: str = Field("", max_length=MAX_ID, description="comes back with the verdict")


Programs = TypeVar("Programs")


class Batch(_Request, Generic[Programs]):
    """Many programs, of which each is judged as ``/judge`` would."""

    programs: list[Programs] = Field(min_length=1, max_length=1000)


class BatchRequest(Batch[BatchProgram]):
    """Many programs, each with its tests."""


class CompileReport(BaseModel):
    """The result of the compilation."""

    status: CompileStatus
    exit_code: int | None
    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    cached: bool
    """True when the result comes from the compile cache. The times are those of the compilation that filled it."""


class JudgeResponse(BaseModel):
    """The verdict on a program: AC, or that of the first test that it fails."""

    verdict: JudgeVerdict
    passed: int
    total: int
    first_failed: int | None
    """Index of the first failed test."""
    compile: CompileReport | None
    """None only with IE."""
    tests: list[TestReport]
    """The results in the order of the request. There are fewer when stop_on_first_failure or stop_on_timeout ended the
    run."""
    toolchain: str
    message: str = ""
    points: float | None = None
    """The mean of the tests' points, in [0, 1]; a test that was not run counts 0. None when no checker program was
    asked."""
    tried_exec: bool = False
    """Whether the program tried to start another one, in any test that was run. That is refused, whatever it is, and
    changes no verdict by itself. False where the kernel cannot tell."""


class BatchLine(BaseModel):
    """A line of the answer to a batch: what ``/judge`` would say of one of its programs. Lines come in no order."""

    index: int
    """The program's place in the request, from 0."""
    id: str
    """The program's own, if it has one."""
    status: int
    """The HTTP status that ``/judge`` would answer with: 200, or 422 (the program's fields are at fault), 501 (its
    language is not served here), 500 or 503 (the service is in trouble). A full queue is waited for."""
    result: JudgeResponse | None = None
    """With status 200."""
    detail: str | None = None
    """What is wrong, with any other status."""


class RunCodeRequest(BaseModel):
    """SandboxFusion's request. Unknown fields are ignored, as SandboxFusion does."""

    code: str
    language: str
    stdin: str | None = ""
    compile_timeout: float = Field(10, gt=0, le=300)
    run_timeout: float = Field(10, gt=0, le=300)
    memory_limit_MB: int = Field(-1, ge=-1, le=8192)  # noqa: N815 (SandboxFusion's spelling)
    files: dict[str, str | None] = Field({}, max_length=1000)
    """Path in the working directory -> content in base64."""
    fetch_files: list[str] = Field([], max_length=1000)


class CommandResult(BaseModel):
    """SandboxFusion's CommandRunResult."""

    status: Literal["Finished", "Error", "TimeLimitExceeded"]
    execution_time: float | None = None
    return_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class RunCodeResponse(BaseModel):
    """SandboxFusion's response."""

    status: Literal["Success", "Failed", "SandboxError"]
    message: str = ""
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = Field(default_factory=lambda: os.environ.get("MY_POD_NAME"))
    files: dict[str, str] = {}
