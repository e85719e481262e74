"""The requests and answers of the service over HTTP: the native route ``/judge`` and SandboxFusion's ``/run_code``."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class JudgeVerdict(StrEnum):
    """The verdict on a program, in the two or three letters that are customary among judges."""

    AC = "AC"
    """Accepted: every test's output matches."""
    WA = "WA"
    """Wrong answer."""
    TLE = "TLE"
    """Time limit exceeded: CPU time, or the wall limit of a program that sleeps."""
    MLE = "MLE"
    """Memory limit exceeded: resident memory, or more files than a program needs."""
    RE = "RE"
    """Runtime error: a signal or an exit status other than 0."""
    CE = "CE"
    """Compile error, compiler limits included."""
    OLE = "OLE"
    """Output limit exceeded, on either stream."""
    IE = "IE"
    """Internal error: ours, never the program's. Nothing is known about the program."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Checker(_Request):
    """How an output is compared with the expected one (checkers.py)."""

    mode: Literal["tokens", "exact", "lines"] = "tokens"
    abs_tol: float = Field(1e-6, ge=0, le=1)
    rel_tol: float = Field(1e-6, ge=0, le=1)


class Test(_Request):
    """One test: what the program reads, and what it should print."""

    input: str = ""
    output: str = ""


class JudgeRequest(_Request):
    """A program and its tests."""

    language: str = Field(description="python, cpp, java, go or javascript, or one of their aliases (GET /languages)")
    code: str
    tests: list[Test] = Field(min_length=1, max_length=10_000)
    time_limit_s: float = Field(2.0, gt=0, le=60, description="CPU seconds for each test; asleep: 3 times that + 2 s")
    memory_limit_mb: int = Field(256, ge=16, le=8192)
    checker: Checker = Checker()
    stop_on_first_failure: bool = True


class CompileReport(BaseModel):
    """The result of the compilation."""

    status: Literal["ok", "error", "time_limit", "memory_limit"]
    exit_code: int | None
    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    cached: bool
    """True when the result comes from the compile cache. The times are those of the compilation that filled it."""


class TestReport(BaseModel):
    """The result of one test."""

    verdict: JudgeVerdict
    cpu_s: float
    """CPU time of all the program's processes."""
    wall_s: float
    rss_kb: int
    """Peak resident memory of the main process. Under --java-loop: the shared process's memory when the test ends."""
    exit_code: int | None
    """None when a signal ended the program."""
    signal: int | None
    message: str = ""


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
    """The results in the order of the request. There are fewer when stop_on_first_failure ended the run."""
    toolchain: str
    message: str = ""


class RunCodeRequest(BaseModel):
    """SandboxFusion's request. Unknown fields are ignored, as SandboxFusion does."""

    code: str
    language: str
    stdin: str | None = ""
    compile_timeout: float = Field(10, gt=0, le=300)
    run_timeout: float = Field(10, gt=0, le=300)
    memory_limit_MB: int = -1  # noqa: N815 (SandboxFusion's spelling)
    files: dict[str, str | None] = {}
    """Path in the working directory -> content in base64."""
    fetch_files: list[str] = []


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
    executor_pod_name: str | None = None
    files: dict[str, str] = {}
