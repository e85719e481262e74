"""The jobs that the service hands to a worker and the answers. They are plain records, so that a worker imports no web
framework."""

import pickle
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sandbox.box import Limits

CompileStatus = Literal["ok", "error", "time_limit", "memory_limit"]

MAX_CODE_BYTES = 1 << 20
"""A longer source is a compile error."""
COMPILE_LIMITS = Limits.of(cpu_s=10.0, memory_mb=2048)


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


class TestCase(NamedTuple):
    """One test. ``expected`` never enters the sandbox."""

    stdin: bytes
    expected: bytes


@dataclass(frozen=True)
class CompileJob:
    """Compile one program into an artifact folder."""

    language: str
    code: bytes
    folder: str
    """The artifact folder, which appears under this name when the compilation succeeds."""
    limits: Limits


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


class Source(NamedTuple):
    """A program as it was sent."""

    language: str
    code: bytes


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    language: str
    folder: str
    entry: str


@dataclass(frozen=True)
class RunJob:
    """Run one compiled program on every test."""

    language: str
    tests: list[TestCase]
    limits: Limits
    folder: str = ""
    """The artifact folder, and below what to run of it: filled in when the program is compiled."""
    entry: str = ""
    checker: Program | None = None
    """What judges the outputs (checker_program.py). None: they are compared, by ``mode``."""
    mode: str = "tokens"
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    ignore_case: bool = False
    stop_on_first_failure: bool = True
    stop_on_timeout: bool = False
    """Whether a test that runs out of time is the last one, also when other failures are not."""
    keep_output: bool = False
    """Whether to give back what the program printed in place of comparing it. /run_code does."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files to put into the working directory first."""
    fetch: list[str] = field(default_factory=list)
    """Paths of files to read from the working directory at the end."""

    @property
    def count(self) -> int:
        """How many tests it has."""
        return len(self.tests)

    def ends_with(self, verdict: str) -> bool:
        """Whether a test with this verdict is the last one."""
        return verdict != "AC" and (self.stop_on_first_failure or (self.stop_on_timeout and verdict == "TLE"))

    @property
    def program(self) -> Program:
        """What is run."""
        return Program(self.language, self.folder, self.entry)


class Stored(NamedTuple):
    """A value in a part of a file, as a pickle."""

    file: Path
    start: int
    size_bytes: int

    @classmethod
    def of(cls, value: object, file: Path) -> "Stored":
        """The value, added to the end of ``file``."""
        content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        with file.open("ab") as stream:
            start = stream.tell()
            stream.write(content)
        return cls(file, start, len(content))

    def loaded(self) -> Any:
        """The value. Raises OSError when the file is gone, as it is once the client is."""
        with self.file.open("rb") as stream:
            stream.seek(self.start)
            return pickle.loads(stream.read(self.size_bytes))


@dataclass(frozen=True)
class StoredRun:
    """A RunJob in a file: one that is too large to go through the front process. Limits, artifact and checker are those
    here."""

    stored: Stored
    language: str
    limits: Limits
    count: int
    """How many tests it has."""
    folder: str = ""
    entry: str = ""
    checker: Program | None = None

    @classmethod
    def of(cls, run: RunJob, file: Path) -> "StoredRun":
        """``run``, added to the end of ``file``."""
        return cls(Stored.of(run, file), run.language, run.limits, run.count)

    def loaded(self) -> RunJob:
        """The job. Raises OSError as Stored does."""
        run: RunJob = self.stored.loaded()
        return replace(run, limits=self.limits, folder=self.folder, entry=self.entry, checker=self.checker)


@dataclass(frozen=True)
class TestReport:
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
    tried_exec: bool = False
    """Whether the program tried to start another one, which is refused. False where the kernel cannot tell."""
    points: float | None = None
    """In [0, 1], what a checker program gives for the output. None where none was asked."""


@dataclass(frozen=True)
class TestResult(TestReport):
    """The result of one test, with what the program printed where ``keep_output`` asks for it."""

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
    by_request: bool = False
    """Whether the request is at fault, so that repeating it changes nothing."""


@dataclass(frozen=True)
class Canary:
    """Compile and run the language's canary program. The answer is Ran when it works, else Failed."""

    language: str


@dataclass(frozen=True)
class Work:
    """A request in the service's own terms: what to compile, and the run that follows."""

    code: bytes
    compile_limits: Limits
    run: RunJob | StoredRun
    """Without the artifact."""
    answer_within_s: float | None = None
    """How long the client waits for its answer, if that is known."""
    checker: Source | None = None
    """The program that is to judge the outputs, if one is."""


Job = CompileJob | RunJob | StoredRun | Canary
Answer = Compiled | Ran | Failed
