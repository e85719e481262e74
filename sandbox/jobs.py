"""The jobs that the service hands to a worker and the answers. They are plain records, so that a worker imports no web
framework."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

CompileStatus = Literal["ok", "error", "time_limit", "memory_limit"]

COMPILE_CPU_S = 10.0
COMPILE_MEMORY_MB = 2048

PATIENCE = 5.0
"""How many times its wall limit a program may take when it waits for a core most of the time."""


def wall_limit_s(cpu_s: float) -> float:
    """The wall limit that goes with a CPU limit. A program that sleeps meets it."""
    return 3 * cpu_s + 2


class TestCase(NamedTuple):
    """One test. ``expected`` never enters the sandbox."""

    stdin: bytes
    expected: bytes


@dataclass(frozen=True)
class CompileJob:
    """Compile one program into an artifact folder."""

    language: str
    code: bytes
    source_name: str
    folder: str
    """The artifact folder, which appears under this name when the compilation succeeds."""
    cpu_s: float
    memory_mb: int


@dataclass(frozen=True)
class Compiled:
    """How a compilation ended. ``entry`` is what to run, and None when it failed."""

    status: CompileStatus
    entry: str | None
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    cpu_s: float
    wall_s: float
    size_bytes: int = 0


@dataclass(frozen=True)
class RunJob:
    """Run one compiled program on every test."""

    language: str
    folder: str
    entry: str
    tests: list[TestCase]
    cpu_s: float
    wall_s: float
    """Wall limit. box.Limits explains it, and ``patience_s``."""
    patience_s: float
    memory_mb: int
    mode: str = "tokens"
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    stop_on_first_failure: bool = True
    keep_output: bool = False
    """Whether to give back what the program printed in place of comparing it. /run_code does."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files to put into the working directory first."""
    fetch: list[str] = field(default_factory=list)
    """Paths of files to read from the working directory at the end."""


@dataclass(frozen=True)
class TestResult:
    """How one test ended; ``verdict`` is one of api.JudgeVerdict."""

    verdict: str
    cpu_s: float
    wall_s: float
    rss_kb: int
    exit_code: int | None
    signal: int | None
    message: str = ""
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True)
class Ran:
    """Results of the tests that were run, in order, and the files asked for."""

    tests: list[TestResult]
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The job could not be done, by no fault of the program."""

    message: str


@dataclass(frozen=True)
class Canary:
    """Compile and run the language's canary program. The answer is Ran when it works, else Failed."""

    language: str


Job = CompileJob | RunJob | Canary
Answer = Compiled | Ran | Failed
