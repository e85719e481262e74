"""Compiling and judging one program in sandboxes. Everything here blocks; a worker process does one job at a time.

Starting a sandbox costs more than most programs, so that one is kept for each language, and takes the next program. It
has then been emptied as between two tests of one program. It is given up when a run in it has not ended well, or when
it has taken KEPT_PROGRAMS.

A job whose sandbox is lost is tried once more in a new one. When that is lost too, the language's canary program
decides. If the canary works, the program is to blame (RE, or MLE when it ran out of memory). If it fails, we are (IE).
A program can therefore not choose IE for itself.
"""

import errno
import os
import shutil
import tempfile
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from sandbox.box import Box, Limits, RunOutcome, Slot
from sandbox.checker_program import CHECKER_LIMITS, PATHS, Checked, checked
from sandbox.checkers import compare
from sandbox.errors import BoxLostError, CheckerError, SandboxError
from sandbox.jobs import (
    Answer,
    Canary,
    Compiled,
    CompileJob,
    CompileStatus,
    Failed,
    Job,
    JudgeVerdict,
    Program,
    Ran,
    RunJob,
    StoredRun,
    TestCase,
    TestResult,
)
from sandbox.languages import CANARY_INPUT, CANARY_OUTPUT, OUTPUT, SOURCES, Toolchain, filled_in

ARTIFACT_BYTES = 64 << 20
"""The size of a compiled program, and of all files that a request fetches."""
COMPILER_OUTPUT_BYTES = 64 << 10
MESSAGE_BYTES = 2000
CANARY_LIMIT_S = 20.0
CHECKED_TOGETHER = 16
"""Outputs that are kept, of at most 16 MiB each, until the program's sandbox has made way for its checker's."""
COMPILER, CHECKER = "compiler", "checker"
"""The kinds of sandboxes besides the languages' (Slot.groups)."""
KEPT_PROGRAMS = 100
LOOP_TESTS = 2
"""The fewest tests for which a resident process is started: with one there is no start to save."""


class Judge:
    """Does a worker's jobs, with its slot and the toolchains."""

    def __init__(self, slot: Slot, toolchains: dict[str, Toolchain]) -> None:
        self.slot = slot
        self.toolchains = toolchains
        self._kept: dict[str, Box] = {}
        """Language -> the sandbox that its next program gets."""
        self._marks: dict[str, tuple[int, int]] = {}
        """Kind of sandbox -> how many of its processes the kernel had killed for memory, and a mark of that moment."""

    def do(self, job: Job) -> Answer:
        """The answer to one job. It is Failed when something is our fault."""
        try:
            if isinstance(job, Canary):
                self.canary(job.language)
                return Ran([])
            if isinstance(job, CompileJob):
                return self.compile(job)
            return self.run(job.loaded() if isinstance(job, StoredRun) else job)
        except SandboxError as error:
            return Failed(str(error), by_request=isinstance(error, CheckerError))
        except Exception as error:  # a mistake of ours: the traceback says more than a dead worker would
            return Failed("".join(traceback.format_exception(error))[-2000:])

    # ---- compiling

    def compile(self, job: CompileJob) -> Compiled:
        """Compile, and fill the artifact folder when it succeeds. Raises SandboxError for what is our fault."""
        for attempt in (1, 2):
            try:
                return self._compile_once(job)
            except BoxLostError as error:
                if attempt == 2:
                    self._blame(job.language, error)
                    return Compiled(
                        "memory_limit", None, None, b"", f"the compiler's sandbox ended: {error}".encode(), 0, 0
                    )
        raise AssertionError("unreachable")

    def _compile_once(self, job: CompileJob) -> Compiled:
        toolchain = self.toolchains[job.language]
        name = toolchain.language.source_name(job.code.decode("utf-8", "surrogatepass"))
        command = [part.replace("{source}", name) for part in toolchain.compile_command]
        limits = replace(job.limits, output_bytes=4 << 20)
        script = ["/bin/sh", "-c", f'mkdir -p {OUTPUT} && cd {SOURCES} && exec "$@"', "sh", *command]
        self._mark(COMPILER)
        with Box(self.slot, COMPILER, toolchain.compile_view, limits, sealed=False) as box:
            box.load(None, script, limits)
            box.put(f"{SOURCES}/{name}", job.code)
            outcome = next(box.run([b""]))
            files = box.get(OUTPUT, ARTIFACT_BYTES) if _failure(outcome) is None else None
        stderr = (outcome.stderr + outcome.stdout)[:COMPILER_OUTPUT_BYTES]

        def report(status: CompileStatus, entry: str | None, message: str = "", size: int = 0) -> Compiled:
            said = stderr + (b"\n" if stderr and message else b"") + message.encode()
            return Compiled(status, entry, outcome.exit_code, b"", said, outcome.cpu_s, outcome.wall_s, size)

        self._check_ours(COMPILER, outcome)
        if outcome.over_memory or outcome.over_files:
            return report("memory_limit", None, "the compiler ran out of memory")
        if outcome.over_cpu or outcome.over_wall:
            return report("time_limit", None, "the compiler ran out of time")
        if _failure(outcome) is not None:
            return report("error", None, "the compiler printed too much" if outcome.over_output else "")
        if files is None:
            return report("error", None, f"the compiled program is larger than {ARTIFACT_BYTES >> 20} MiB")
        files = {name.removeprefix(OUTPUT + "/"): content for name, content in files.items()}
        try:
            entry = toolchain.language.entry(files)
        except (KeyError, StopIteration) as error:
            return report("error", None, str(error.args[0]) if error.args else "the compiler left no program")
        try:
            _write_artifact(Path(job.folder), files)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise SandboxError(f"cannot keep the compiled program: {error}") from error
            return report("error", None, "the names of the compiled files are too long")
        return report("ok", entry, size=sum(map(len, files.values())))

    # ---- running

    def run(self, job: RunJob) -> Ran:
        """Run every test, or the tests up to the one that ends the run. Raises SandboxError for what is our fault."""
        if job.checker is not None:
            return Ran(list(self._checked(job, job.checker)))
        results = self._confirmed_in_loop(job)
        files: dict[str, bytes] = {}
        self._run_the_rest(job, results, files)
        return Ran(results, files)

    def _checked(self, job: RunJob, checker: Program) -> Iterator[TestResult]:
        """The results of a job whose outputs a checker program judges. Raises SandboxError, CheckerError.

        A slot holds one sandbox at a time, so the program's and the checker's take turns. The first test is done alone,
        as most wrong programs fail it."""
        for first, end in pairwise([0, *range(1, len(job.tests), CHECKED_TOGETHER), len(job.tests)]):
            tests = job.tests[first:end]
            ran: list[TestResult] = []
            outage: SandboxError | None = None
            try:
                self._run_the_rest(replace(job, tests=tests, checker=None, keep_output=True), ran, {})
            except SandboxError as error:  # a test before it may have failed, which decides
                outage = error
            ended_well = [(test, one.stdout) for test, one in zip(tests, ran, strict=False) if one.verdict == "AC"]
            with closing(self._asked(checker, ended_well)) as found:
                for one in ran:
                    judged = replace(one, points=0.0, stdout=b"", stderr=b"")
                    if one.verdict == "AC":
                        said = next(found)
                        judged = replace(judged, verdict=said.verdict, points=said.points, message=said.message)
                    yield judged
                    if job.ends_with(judged.verdict):
                        return
            if outage:
                raise outage

    def _asked(self, checker: Program, cases: Sequence[tuple[TestCase, bytes]]) -> Generator[Checked, None, None]:
        """The checker's word on each output, asked for when it is wanted. One at which its sandbox is lost twice is
        wrong, unless that happens at the expected output too: CheckerError. Raises SandboxError for what is our
        fault."""
        toolchain = self.toolchains[checker.language]
        start = filled_in(toolchain.run_command, checker.entry, CHECKER_LIMITS.memory_mb)
        command = [*(start or ("/usr/bin/python3", "/box/main.py")), *PATHS]
        asked, lost_before = 0, False
        while asked < len(cases):
            try:
                for said in self._words(checker, command, cases[asked:]):
                    asked, lost_before = asked + 1, False
                    yield said
            except BoxLostError as error:
                if not lost_before:
                    lost_before = True
                    continue
                self._check_itself(checker, command, cases[asked][0])
                asked, lost_before = asked + 1, False
                yield Checked(JudgeVerdict.WA, 0.0, f"the checker took its sandbox down with it: {error}")

    def _words(
        self, checker: Program, command: list[str], cases: Sequence[tuple[TestCase, bytes]]
    ) -> Iterator[Checked]:
        """The checker's word on each output, in one sandbox. Raises BoxLostError, SandboxError, CheckerError."""
        self._mark(CHECKER)
        try:
            with self._box(checker, CHECKER_LIMITS, command, CHECKER) as box:
                yield from checked(box, cases, partial(self._check_ours, CHECKER))
        except BoxLostError:
            self._killed_for_memory(CHECKER)
            raise

    def _check_itself(self, checker: Program, command: list[str], test: TestCase) -> None:
        """Raises CheckerError when the checker does not accept what the test expects, SandboxError when that is our
        fault."""
        try:
            [own] = self._words(checker, command, [(test, test.expected)])
        except BoxLostError as error:
            self._blame(checker.language, error)
            raise CheckerError(f"the checker takes its sandbox down with it: {error}") from error
        if own.points < 1:
            raise CheckerError(f"the checker does not accept the expected output: {own.message}")

    def _run_the_rest(self, job: RunJob, results: list[TestResult], files: dict[str, bytes]) -> None:
        """Add the results and files that are missing. Raises SandboxError."""
        lost_before = False
        while len(results) < len(job.tests):
            try:
                for result in self._run_from(job, len(results), files):
                    results.append(result)
                    lost_before = False
                    if job.ends_with(result.verdict):
                        return
            except BoxLostError as error:
                out_of_memory = self._killed_for_memory(job.language)
                if not (lost_before or out_of_memory):
                    lost_before = True
                    continue
                if not out_of_memory:
                    self._blame(job.program.language, error)
                lost_before = False
                verdict = JudgeVerdict.MLE if out_of_memory else JudgeVerdict.RE
                results.append(TestResult(verdict, 0.0, 0.0, 0, None, 9, "the program took its sandbox down with it"))
                if job.ends_with(verdict):
                    break

    def _confirmed_in_loop(self, job: RunJob) -> list[TestResult]:
        """The results of the first tests, as far as one resident process takes them and all are AC.

        The list is empty where there is no such process. A resident process can only confirm: at the first test that is
        not AC in every respect, whoever's fault that is, the list ends. That test and all after it are left to
        processes of their own.
        """
        toolchain = self.toolchains[job.program.language]
        command = filled_in(toolchain.loop_command, job.program.entry, job.limits.memory_mb)
        results: list[TestResult] = []
        if command is None or len(job.tests) < LOOP_TESTS or job.keep_output or job.files or job.fetch:
            return results
        inputs = [test.stdin for test in job.tests]
        with suppress(SandboxError), self._box(job.program, job.limits, command) as box:
            for test, outcome in zip(job.tests, box.run(inputs, resident=True), strict=True):
                result = self._judge(job, toolchain, test, outcome)
                if outcome.failed or result.verdict != "AC":
                    break
                results.append(result)
        return results

    def _run_from(self, job: RunJob, first: int, files: dict[str, bytes]) -> Iterator[TestResult]:
        """Run the tests from ``first`` on in one sandbox and yield their results; in a memory group up to one that runs
        out of it: those behind have begun already, and whose fault it is when that happens again can be told from a new
        mark only. Raises BoxLostError, SandboxError."""
        toolchain = self.toolchains[job.program.language]
        self._mark(job.language)
        tests = job.tests[first:]
        command = filled_in(toolchain.run_command, job.program.entry, job.limits.memory_mb)
        with self._box(job.program, job.limits, command) as box:
            for path, content in job.files.items():
                box.put(path, content)
            outcomes = zip(tests, box.run([test.stdin for test in tests]), strict=True)
            for number, (test, outcome) in enumerate(outcomes, 1):
                self._check_ours(job.language, outcome)
                if number == len(tests):  # however it has ended
                    files |= _fetched(box, job.fetch)
                yield self._judge(job, toolchain, test, outcome)
                if outcome.over_memory and job.language in self.slot.groups:
                    return

    @contextmanager
    def _box(
        self, program: Program, limits: Limits, command: list[str] | None, kind: str | None = None
    ) -> Iterator[Box]:
        """A sandbox with a program in it: the one that is kept for the language, or a new one. Of another ``kind`` than
        its language it is always new. Raises BoxLostError, SandboxError."""
        toolchain = self.toolchains[program.language]
        memory_mb = limits.memory_mb + toolchain.language.memory_overhead_mb
        limits = replace(limits, memory_mb=memory_mb, bounded_address_space=toolchain.language.bounded_address_space)
        zygote = _modules(program) if command is None else None
        with ExitStack() as stack:
            box = None if kind else self._kept.pop(program.language, None)
            if box and box.zygote != zygote:
                box.__exit__()
                box = None
            if box is None:
                box = Box(self.slot, kind or program.language, toolchain.run_view, limits, zygote).__enter__()
            stack.push(box)
            box.load(program.folder, command or [], limits)
            try:
                yield box
            finally:
                if kind is None and box.sound and box.programs < KEPT_PROGRAMS and self.slot.backend == "bubblewrap":
                    with suppress(BoxLostError):
                        box.unload()
                        self._kept[program.language] = box
                        stack.pop_all()

    def _mark(self, kind: str) -> None:
        """Begin to look for kills for memory in the slot's group."""
        if group := self.slot.groups.get(kind):
            self._marks[kind] = group.oom_kills(), group.mark()

    def _killed_for_memory(self, kind: str) -> bool:
        """Whether the kernel has killed for memory since the mark, which is made anew then. Raises SandboxError when
        the program was within its own limit."""
        group = self.slot.groups.get(kind)
        if group is None:
            return False
        kills, mark = self._marks[kind]
        if group.oom_kills() == kills:
            return False
        if not group.hit_limit_since(mark):
            raise SandboxError("the machine ran out of memory and the kernel killed the program")
        self._mark(kind)
        return True

    def _judge(self, job: RunJob, toolchain: Toolchain, test: TestCase, outcome: RunOutcome) -> TestResult:
        failure = _failure(outcome)
        message = ""
        if failure is None and not job.keep_output:
            difference = compare(job.mode, outcome.stdout, test.expected, job.abs_tol, job.rel_tol, job.ignore_case)
            failure, message = (None, "") if difference is None else ("WA", difference)
        elif failure is not None:
            said = toolchain.language.out_of_memory.encode()
            if failure == "RE" and said and said in outcome.stderr:
                failure = "MLE"
            message = outcome.stderr[-MESSAGE_BYTES:].decode(errors="replace")
        return TestResult(
            verdict=JudgeVerdict(failure or "AC"),
            cpu_s=outcome.cpu_s,
            wall_s=outcome.wall_s,
            rss_kb=outcome.rss_kb,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            message=message,
            tried_exec=outcome.exec_attempts > 0,
            stdout=outcome.stdout if job.keep_output else b"",
            stderr=outcome.stderr if job.keep_output else b"",
        )

    # ---- whose fault

    def _check_ours(self, kind: str, outcome: RunOutcome) -> None:
        """Raises BoxLostError when a run could not be started, SandboxError when the machine had no memory or no core
        for it."""
        if outcome.failed:
            raise BoxLostError("the runner could not start the program")
        if outcome.over_memory:
            self._killed_for_memory(kind)
        if kind in self.slot.groups or kind in (COMPILER, CHECKER):
            # Without a group the CPU time of children that the kernel reaps by itself is not counted, so that a
            # program could make it look as if it had waited. No compiler or checker is out for that.
            _check_fed(outcome)

    def _blame(self, language: str, error: BoxLostError) -> None:
        """Return when the program must be to blame. Raises SandboxError when the canary fails as well."""
        try:
            self.canary(language)
        except SandboxError as canary:
            raise SandboxError(f"{error}; and the canary fails too: {canary}") from error

    def canary(self, language: str) -> None:
        """Compile and run the language's canary in new sandboxes. Raises SandboxError that says what it did, unless it
        is AC."""
        if kept := self._kept.pop(language, None):
            kept.__exit__()
        with tempfile.TemporaryDirectory(prefix="canary-", dir=self.slot.scratch) as scratch:
            Path(scratch).chmod(0o755)
            source = self.toolchains[language].language.canary
            folder = f"{scratch}/box"
            limits = Limits.of(CANARY_LIMIT_S, 1024)
            compiled = self._compile_once(CompileJob(language, source.encode(), folder, limits))
            if compiled.entry is None:
                raise SandboxError(f"cannot compile: {compiled.stderr.decode(errors='replace').strip()[-300:]}")
            tests = [TestCase(CANARY_INPUT.encode(), CANARY_OUTPUT.encode())] * LOOP_TESTS
            job = RunJob(language, tests, replace(limits, memory_mb=256), folder, compiled.entry)
            result = next(self._run_from(job, 0, {}))
            if result.verdict != "AC":
                raise SandboxError(f"{result.verdict} instead of AC: {result.message.strip()[-300:]}")
            if self.toolchains[language].loop_command and len(self._confirmed_in_loop(job)) < len(tests):
                raise SandboxError("right, but not in a resident process: start without --java-loop")


def _fetched(box: Box, names: Sequence[str]) -> dict[str, bytes]:
    """Those of the files that are there and fit into ARTIFACT_BYTES together. A sandbox that is lost over one of them
    is not the program's fault, which has ended."""
    files: dict[str, bytes] = {}
    left = ARTIFACT_BYTES
    try:
        for name in names:
            if (content := box.get_file(name, left)) is not None:
                files[name] = content
                left -= len(content)
    except BoxLostError:
        box.sound = False
    return files


def _modules(program: Program) -> str:
    """The modules that a zygote imports for this program only. They take time and memory that others do without."""
    return "numpy" if b"numpy" in Path(program.folder, "main.py").read_bytes() else ""


def _failure(outcome: RunOutcome) -> str | None:
    """The verdict of a run that did not end well; None when it did."""
    return _excess(outcome) or (None if outcome.exit_code == 0 else "RE")


def _excess(outcome: RunOutcome) -> str | None:
    """The verdict of a run that met one of its limits; None when it did not."""
    if outcome.over_memory or outcome.over_files:
        return "MLE"
    if outcome.over_output:
        return "OLE"
    if outcome.over_cpu or outcome.over_wall or outcome.starved:
        return "TLE"
    return None


def _check_fed(outcome: RunOutcome) -> None:
    """Raises SandboxError when the program did nothing wrong but got no core to run on."""
    if outcome.starved and _excess(outcome._replace(starved=False)) is None:
        raise SandboxError(
            f"the machine is overloaded: in {outcome.wall_s:.0f} s the program got {outcome.cpu_s:.2f} s of CPU time"
        )


def _write_artifact(folder: Path, files: dict[str, bytes]) -> None:
    """Write the folder under a temporary name, then rename it. Every sandbox can read it, and none can write to it."""
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        for name, content in files.items():
            file = making / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o555)
        for directory, _, _ in os.walk(making):
            os.chmod(directory, 0o755)  # noqa: PTH101
        shutil.rmtree(folder, ignore_errors=True)  # a worker may have died before it could tell
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)
