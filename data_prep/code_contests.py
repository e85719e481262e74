r"""CodeContests (Li et al. 2022) as veRL parquet.

    python -m data_prep.code_contests --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--seed 42]
                                      [--no_reference_check] [--testlib testlib.h]

Source: deepmind/code_contests, or files of its rows, or of rows ``{content, id, labels, test}`` with ``labels`` a JSON
object and ``test`` a JSON list of ``{"input": {"stdin"}, "output": {"stdout"}}``. A row of either may have a
``checker``, C++ in testlib's convention as CodeContests+ has it, where several outputs are right (docs/sandbox.md).
Writes train.parquet (the training pool), selection.parquet (200 problems to choose a warm-start checkpoint on),
validation.parquet (60), holdout.parquet (200), tests/ and manifest.json; splits.py says which problem goes where.

A problem's tests (public, private and generated, one of each) lie in ``tests/SHA256.json`` as ``{"tests": [{"input",
"output"}, ...], "checker"}``, one copy for all its rollouts. The ground truth is ``{"tests_file": its absolute path,
"time_limit_s", "memory_limit_mb"}``: move the folder, and prepare it again. The limits are the original judge's for
every language, not scaled for slower ones, and left to the sandbox's defaults where the source has none (CodeChef,
HackerEarth): what a slow language costs is part of what the reward measures.

Dropped, each with its reason in the manifest: problems that read or write files, that are interactive, whose text names
one of our languages, that have no text or no tests, whose tests contradict each other (one input, two outputs) or
exceed what the sandbox takes, and those of whose reference solutions in C++, Python and Java none passes
(program_references.py). A problem that accepts several outputs cannot be told from its tests: without a checker right
programs fail. Where one of its own solutions does, the manifest names it (``may_need_a_checker``).
"""

import argparse
import hashlib
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from data_prep.benchmark import RowAccount, write_benchmark
from data_prep.command_line import benchmark_parser, run
from data_prep.program_references import Candidate, Solution, checked_references, to_try
from data_prep.save_folder import filling
from data_prep.sources import TEST, TRAIN, VALIDATION, Record, open_parts
from data_prep.splits import DroppedRow, SourceProblem, Splits, split_problems
from madrl.errors import MadrlError
from madrl.tasks import TASKS
from sandbox.api import Checker, JudgeRequest
from sandbox.checkers import compare
from sandbox.jobs import MAX_CODE_BYTES
from sandbox.settings import ServiceSettings

NAME = "code_contests"
HUB = "deepmind/code_contests"
PUBLISHED_ROWS = {TRAIN: 13328, VALIDATION: 117, TEST: 165}
TESTS = "tests"
VERDICTS = "reference_verdicts.jsonl"

SOURCES = ("UNKNOWN", "CODECHEF", "CODEFORCES", "HACKEREARTH", "CODEJAM", "ATCODER", "AIZU")
"""The sources, in the order of the hub's numbers."""
LANGUAGES = {2: "cpp", 3: "python", 4: "java"}
"""The hub's number -> one of our languages. Its 0 is unknown, its 1 is Python 2."""

TEST_FIELDS = ("public_tests", "private_tests", "generated_tests")
COLUMNS = (
    *("name", "description", *TEST_FIELDS, "source", "solutions", "input_file", "output_file"),
    *("time_limit", "memory_limit_bytes", "content", "id", "labels", "test", "checker"),
)
"""What is read of either schema; the hub's wrong solutions alone are half of its bytes."""

CHECKER = Checker(ignore_case=True)
"""How outputs are compared where a problem has no checker of its own. The case of letters does not count, as in the
benchmark's own tester (OutputsMatch in execution/tester_sandboxer.cc of google-deepmind/code_contests)."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*|[.!?\n]")
_STREAM_ADVICE = re.compile(r"%lld|%I64d|\bcin\b|\bcout\b")
"""Codeforces' old advice on 64-bit integers, "Please, do not use the %lld specifier in C++": it names a language."""
_INTERACTIVE = re.compile(
    r"\binteractive (?:problem|task)|\bflush(?:ing)? (?:the |your )?(?:output|stdout|buffer)|\bfflush\b"
    r"|\bstdout\.flush\b|^[- \t]*interaction[- \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_TESTLIB = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]testlib\.h[>\"][^\n]*$", re.MULTILINE)
_LANGUAGE = re.compile(r"(?<!\w)(?:python|pypy|[cс]\+\+|java|javascript|golang|node\.?js)(?!\w)", re.IGNORECASE)


class ProgramTest(NamedTuple):
    """One test, as the sandbox takes it."""

    input: str
    output: str


class ContestProblem(NamedTuple):
    """What either schema says of a problem."""

    name: str
    source: str
    text: str
    tests: list[ProgramTest]
    limits: dict[str, float]
    """time_limit_s and memory_limit_mb, where the source has them."""
    solutions: list[Solution]
    files: str
    """The files that it reads and writes in place of the standard streams; empty for almost all."""
    checker: str
    """The program that says whether an output is right; empty where the expected one alone is."""


def published(record: Record) -> ContestProblem:
    """The row's content. Raises MadrlError, naming the row, when it is in neither schema."""
    return _from_hub(record) if "description" in record.fields else _from_fusion(record)


def _from_hub(record: Record) -> ContestProblem:
    tests = []
    for name in TEST_FIELDS:
        columns = _fields(record, name, ("input", "output"))
        tests += _tests(record, name, [*columns["input"]], [*columns["output"]])
    source = record.value("source")
    return ContestProblem(
        record.text("name"),
        SOURCES[source] if isinstance(source, int) and 0 <= source < len(SOURCES) else SOURCES[0],
        record.text("description"),
        tests,
        _limits(record),
        _solutions(record),
        f"{record.value('input_file') or ''} {record.value('output_file') or ''}".strip(),
        _checker(record),
    )


def _from_fusion(record: Record) -> ContestProblem:
    text, labels, tests = record.text("content"), _json(record, "labels"), _json(record, "test")
    try:
        inputs = [test["input"]["stdin"] for test in tests]
        outputs = [test["output"]["stdout"] for test in tests]
        name, source = labels.get("name") or str(record.value("id")), str(labels.get("source") or SOURCES[0])
    except (AttributeError, KeyError, TypeError) as error:
        raise MadrlError(
            f"{record.where}: 'labels' and 'test' are not {{name, source}} and a list of "
            f"{{input: {{stdin}}, output: {{stdout}}}} ({type(error).__name__} {error})"
        ) from None
    return ContestProblem(name, source, text, _tests(record, "test", inputs, outputs), {}, [], "", _checker(record))


def _checker(record: Record) -> str:
    checker = record.fields.get("checker") or ""
    if not isinstance(checker, str):
        raise MadrlError(f"{record.where}: field 'checker' is no text: it holds the checker's C++ source")
    return checker


def _json(record: Record, name: str) -> Any:
    text = record.text(name)
    try:
        return json.loads(text)
    except ValueError as error:
        raise MadrlError(f"{record.where}: field {name!r} is not JSON ({error}): is the file complete?") from None


def _fields(record: Record, name: str, fields: Sequence[str]) -> dict[str, list[Any]]:
    """The field ``name``, a struct whose ``fields`` are lists of equal length."""
    value = record.value(name)
    if not isinstance(value, dict) or not all(isinstance(value.get(f), list) for f in fields):
        raise MadrlError(f"{record.where}: field {name!r} is not a struct of the lists {list(fields)}")
    if len({len(value[f]) for f in fields}) > 1:
        raise MadrlError(f"{record.where}: field {name!r} has lists of different lengths: is the file complete?")
    return value


def _tests(record: Record, name: str, inputs: Sequence[object], outputs: Sequence[object]) -> list[ProgramTest]:
    tests = []
    for i, (given, expected) in enumerate(zip(inputs, outputs, strict=True)):
        if not isinstance(given, str) or not isinstance(expected, str):
            raise MadrlError(f"{record.where}: field {name!r}, test {i}: input and output must be text")
        tests.append(ProgramTest(given, expected))
    return tests


def _limits(record: Record) -> dict[str, float]:
    limits: dict[str, float] = {}
    time_limit, memory_bytes = record.value("time_limit"), record.value("memory_limit_bytes")
    try:
        if time_limit and (seconds := (time_limit["seconds"] or 0) + (time_limit["nanos"] or 0) / 1e9):
            limits["time_limit_s"] = seconds
        if memory_bytes:
            # 256000000 and 268435456 both mean 256.
            mebibytes, rest = divmod(memory_bytes, 1 << 20)
            limits["memory_limit_mb"] = math.ceil(memory_bytes / 1e6) if rest else mebibytes
    except (KeyError, TypeError) as error:
        raise MadrlError(
            f"{record.where}: time_limit {time_limit!r} or memory_limit_bytes {memory_bytes!r} is not "
            f"{{seconds, nanos}} and a number ({type(error).__name__} {error})"
        ) from None
    return limits


def _solutions(record: Record) -> list[Solution]:
    columns = _fields(record, "solutions", ("language", "solution"))
    pairs = zip(columns["language"], columns["solution"], strict=True)
    return [Solution(LANGUAGES[number], code) for number, code in pairs if number in LANGUAGES]


@dataclass
class Intake:
    """Turns rows into problems, and writes each one's tests as it comes, so that they are never all in memory."""

    staged: Path
    """Where the tests are written."""
    final: Path
    """Where they will be."""
    testlib: str | None = None
    """The text of testlib.h, which checkers that include it get in its place."""
    checks_references: bool = True
    """Whether solutions are kept, those to try: all of the published problems' would take gigabytes."""
    candidates: dict[str, Candidate] = field(default_factory=dict)
    """Origin -> the problem with its solutions."""

    def parse(self, record: Record) -> SourceProblem | DroppedRow:
        """The row's problem, its tests written. Raises MadrlError for a row in neither schema."""
        row = published(record)
        text = _without_stream_advice(row.text)
        tests = list(dict.fromkeys(row.tests))
        named = _LANGUAGE.search(text)

        def dropped(reason: str, detail: str) -> DroppedRow:
            return DroppedRow(record.where, record.split, reason, f"{row.name}: {detail}")

        if row.files:
            return dropped("not_stdio", f"it reads or writes {row.files}")
        if not text:
            return dropped("no_problem", "its text is blank")
        if _INTERACTIVE.search(text):
            return dropped("interactive", "its input depends on what the program asks")
        if named:
            return dropped("names_a_language", f"its text has {named[0]!r}")
        if not tests:
            return dropped("no_tests", "it has none")
        if not row.checker and (contradiction := _contradiction(tests)):
            return dropped("contradictory_tests", contradiction)
        if _TESTLIB.search(row.checker) and self.testlib is None:
            return dropped("no_testlib", "its checker includes testlib.h: pass --testlib PATH")
        judged: dict[str, Any] = {"tests": [test._asdict() for test in tests]}
        if row.checker:
            code = _TESTLIB.sub(lambda _: self.testlib or "", row.checker)
            judged["checker"] = {"mode": "program", "language": "cpp", "code": code}
        else:
            judged["checker"] = CHECKER.model_dump(exclude_defaults=True)
        content = json.dumps(judged, ensure_ascii=False)
        try:
            encoded = content.encode()
        except UnicodeEncodeError as error:
            return dropped("not_unicode", f"its tests: {error.reason}")
        if excess := _excess(judged, row.limits, len(encoded)):
            return dropped("over_sandbox_limits", excess)
        file = f"{hashlib.sha256(encoded).hexdigest()}.json"
        (self.staged / file).write_bytes(encoded)
        self.candidates[record.where] = Candidate(
            record.where,
            record.split,
            row.name,
            _ground_truth(self.staged / file, row.limits),
            json.dumps([file, row.limits]),
            to_try(row.solutions) if self.checks_references else [],
            has_checker=bool(row.checker),
        )
        extra = {"problem_id": row.name, "source": row.source, "n_tests": len(tests), "tests_file": file}
        return SourceProblem(record.where, record.split, text, _ground_truth(self.final / file, row.limits), extra)


def _without_stream_advice(text: str) -> str:
    return "".join(part for part in _SENTENCE.findall(text) if not _STREAM_ADVICE.search(part)).strip()


def _ground_truth(tests_file: Path, limits: dict[str, float]) -> str:
    return json.dumps({"tests_file": str(tests_file), **limits})


def _contradiction(tests: Sequence[ProgramTest]) -> str:
    """Which input is expected to give two outputs; empty when none is."""
    first: dict[str, str] = {}
    for test in tests:
        seen = first.setdefault(test.input, test.output)
        one, other = test.output.encode(errors="replace"), seen.encode(errors="replace")
        if difference := compare(CHECKER.mode, one, other, CHECKER.abs_tol, CHECKER.rel_tol, CHECKER.ignore_case):
            return f"input {test.input[:60]!r} has two outputs: {difference}"
    return ""


def _excess(judged: dict[str, Any], limits: dict[str, float], size_bytes: int) -> str:
    """What the sandbox would refuse, in its own words; empty when nothing."""
    room = (ServiceSettings().max_body_mb << 20) - MAX_CODE_BYTES
    if size_bytes > room:
        return f"its tests have {size_bytes} bytes, the sandbox takes {room}"
    try:
        JudgeRequest(language="python", code="", **judged, **limits)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


def prepare(args: argparse.Namespace) -> list[str]:
    """Read, check, split and write. Returns what to tell the user."""
    account = RowAccount(HUB, open_parts(args.local_dataset_path, HUB, (), COLUMNS), PUBLISHED_ROWS)
    save_dir = args.local_save_dir.resolve()
    with filling(save_dir) as folder:
        staged = folder / TESTS
        staged.mkdir()
        testlib = args.testlib.read_text("utf-8") if args.testlib else None
        intake = Intake(staged, save_dir / TESTS, testlib, not args.no_reference_check)
        problems = account.problems(intake.parse)
        candidates = [intake.candidates[problem.origin] for problem in problems]
        unchecked = len([candidate for candidate in candidates if not candidate.solutions])
        disputed: list[str] = []
        if not args.no_reference_check:
            check = checked_references(candidates, save_dir / VERDICTS)
            problems, disputed = account.keep(problems, check.dropped), check.disputed
        splits = split_problems(problems, args.seed)
        facts = {
            "reference_check": not args.no_reference_check,
            "problems_without_a_checked_reference": unchecked,
            "may_need_a_checker": disputed,
            "tests": _keep_used_tests(staged, splits),
        }
        lines = write_benchmark(folder, NAME, "code", TASKS[NAME].prompt, splits, account, args, **facts)
        if disputed:
            lines.append(f"{len(disputed)} problems may need a checker: right solutions fail (see manifest.json)")
        return lines


def _keep_used_tests(staged: Path, splits: Splits) -> dict[str, float]:
    """Remove the tests of problems in no split. Returns what the manifest says of the others."""
    used = {p.extra["tests_file"]: p.extra["n_tests"] for chosen in splits.problems.values() for p in chosen}
    for file in staged.iterdir():
        if file.name not in used:
            file.unlink()
    count = sum(used.values())
    size_bytes = sum(file.stat().st_size for file in staged.iterdir())
    return {"files": len(used), "bytes": size_bytes, "tests": count, "mean_per_problem": round(count / len(used), 1)}


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = benchmark_parser("code_contests", "Write CodeContests as veRL parquet files.", HUB)
    parser.add_argument(
        "--no_reference_check",
        action="store_true",
        help="keep problems without running their reference solutions, which needs the sandbox (python -m sandbox)",
    )
    parser.add_argument(
        "--testlib",
        type=Path,
        metavar="testlib.h",
        help="the header that checkers include; rows that need it are dropped",
    )
    return run(parser, prepare, argv)


if __name__ == "__main__":
    sys.exit(main())
