"""A classifier or a verifier on a file of responses: ``madrl classify`` and ``madrl verify``.

Every line goes through the Grader that training has. The output grows in a hidden file beside the destination, whose
name says which input, which function and which version of its code it belongs to. The same call after a kill or a
failure goes on where that file ends; one with another input, function or code starts afresh and removes it, so that no
output mixes two. The destination appears when it is complete.
"""

import asyncio
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from madrl import __version__
from madrl.errors import MadrlError
from madrl.files import appending, whole_lines
from madrl.grading.grader import Grader, GraderSpec
from madrl.progress import progress
from madrl.records import CLASSIFIED, Record, cannot_write, destination_of, line_of, read, source_of
from madrl.rollout import Grade, Rollout, Verdict
from madrl.source import digest, plugin_modules

CHUNK = 256
"""Responses graded at a time; also what a kill can cost."""

KEY_DIGITS = 12


class Graded(NamedTuple):
    """How the responses of a file were graded."""

    counts: Counter[str | None]
    """Category or verdict -> its responses in the whole file; ``ungraded`` where the category is."""
    resumed: int
    """Lines that an earlier call had already done."""


class FileGrader(NamedTuple):
    """A command's grader, as a file meets it."""

    name: str
    """The command, and what the user calls the function."""
    grader: Grader
    gained: Callable[[Grade], dict[str, Any]]
    """From a response's grade to the keys that its line gains."""
    counted: Callable[[Mapping[str, Any]], str | None]
    """From a line, with the keys that it gained, to what the summary counts it as."""
    needs: tuple[str, ...]
    """Keys that a line must have."""


def classify_file(
    in_path: str | Path,
    out_path: str | Path,
    spec: str,
    arguments: Mapping[str, Any] = MappingProxyType({}),
    categories: tuple[str, ...] = (),
) -> Graded:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``category`` (null when off-support) and
    ``category_reason``, whether it was ``classified`` at all, and ``unusual``, how it came about where that is no
    ordinary way. ``-`` is standard input, and standard output.

    A line is one response, an object with at least ``response``; a classifier that looks at more finds it in
    ``ground_truth``, ``extra_info`` and ``data_source``. Other keys are kept, blank lines dropped.

    Args:
        spec: a key of CLASSIFIERS, or ``pkg.module:name``.
        arguments: the classifier's keyword arguments.
        categories: the declared categories, outside which it may name none; empty where nobody has declared any.

    A classifier that raises leaves that line unclassified, as in training. One that raises on more than MAX_UNGRADED of
    a full chunk, or of a file that is smaller, is broken, or what it needs is down: MadrlError, and the chunk is not
    kept. MadrlError also for a classifier that does not exist, is not ready, or returns what it must not, for the first
    bad line, before anything is written, and for an ``out_path`` that cannot be written; OSError for an ``in_path``
    that cannot be read.
    """

    def gained(grade: Grade) -> dict[str, Any]:
        return {
            "category": grade.category,
            CLASSIFIED: grade.classified,
            "category_reason": grade.reason,
            "unusual": grade.unusual or None,
        }

    def counted(line: Mapping[str, Any]) -> str | None:
        return line["category"] if line[CLASSIFIED] else str(Verdict.UNGRADED)

    grader = Grader(GraderSpec(spec, None, categories, classifier_args=arguments))
    command = FileGrader(f"classify {spec}", grader, gained, counted, ("response",))
    return _grade_file(in_path, out_path, command)


def verify_file(
    in_path: str | Path, out_path: str | Path, spec: str, arguments: Mapping[str, Any] = MappingProxyType({})
) -> Graded:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``correct`` (a number in [0, 1], or null for
    ungraded), the same in a word as ``verdict``, the ``answer`` that was taken from it, the ``reason``, and what else
    the verifier found as ``verifier_extra``.

    A line has at least ``response`` and ``ground_truth``; a ground truth that is not a string is taken as its JSON
    text. The rest, errors included, is as in ``classify_file``.
    """

    def gained(grade: Grade) -> dict[str, Any]:
        return {
            "verdict": str(grade.verdict),
            "answer": grade.answer,
            "reason": grade.reason,
            "unusual": grade.unusual or None,
            "correct": grade.correctness,
            "verifier_extra": grade.extra or None,
        }

    grader = Grader(GraderSpec(None, spec, (), verifier_args=arguments))
    command = FileGrader(f"verify {spec}", grader, gained, lambda line: line["verdict"], ("response", "ground_truth"))
    return _grade_file(in_path, out_path, command)


def _grade_file(in_path: str | Path, out_path: str | Path, grader: FileGrader) -> Graded:
    grader.grader.check_ready()
    source, destination = source_of(in_path), destination_of(out_path)
    total = sum(1 for _ in read(source, grader.needs, ("extra_info",)))
    counts: Counter[str | None] = Counter()
    with source.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()

    async def grade_into(unfinished: BinaryIO) -> None:
        records = islice(read(source, grader.needs, ("extra_info",)), counts.total(), None)
        with progress(grader.name, total, counts.total()) as advance:
            while chunk := list(islice(records, CHUNK)):
                enough = len(chunk) == CHUNK or not counts.total()  # a full chunk, or the whole file
                grades = await grader.grader.grade_all(map(_rollout, chunk), enough, raised_alone=True)
                gained = list(map(grader.gained, grades))
                unfinished.writelines(line_of(record | more) for record, more in zip(chunk, gained, strict=True))
                unfinished.flush()
                counts.update(map(grader.counted, gained))
                advance(len(chunk))

    if destination is None:
        with tempfile.TemporaryFile() as whole:
            asyncio.run(grade_into(whole))
            whole.seek(0)
            shutil.copyfileobj(whole, sys.stdout.buffer)
        return Graded(counts, 0)
    with _partial(destination, content, grader) as (partial, unfinished):
        counts.update(grader.counted(json.loads(line)) for line in whole_lines(unfinished))
        resumed = counts.total()
        try:
            asyncio.run(grade_into(unfinished))
            os.fsync(unfinished.fileno())
            partial.replace(destination)
        except (MadrlError, OSError) as error:
            reason = cannot_write(partial, error) if isinstance(error, OSError) else error
            done = _whole_lines(partial)
            kept = f"; {done} of {total} responses are graded in {partial}, where the same call goes on"
            raise MadrlError(f"{reason}{kept if done else ''}") from error
    return Graded(counts, resumed)


@contextmanager
def _partial(destination: Path, content: str, grader: FileGrader) -> Iterator[tuple[Path, BinaryIO]]:
    """The hidden file of this call, for it alone, open to be appended to; it stays if it holds a line. Those of other
    calls for the same destination are removed. Raises MadrlError when another process is writing the destination."""
    busy = f"{destination}: another madrl is writing it"
    identity = json.dumps({**grader.grader.identity(), "own_code": None}, sort_keys=True)
    call = hashlib.sha256(f"{content} {grader.name} {identity} {__version__}".encode()).hexdigest()[:KEY_DIGITS]
    code = digest(plugin_modules("madrl.grading.grader")) + (grader.grader.own_code() or "")
    code = hashlib.sha256(code.encode()).hexdigest()[:KEY_DIGITS]
    partial = destination.with_name(f".{destination.name}.{call}-{code}.partial")
    with appending(partial, busy) as unfinished:
        try:
            others = re.compile(rf"\.{re.escape(destination.name)}\.([0-9a-f]+)-[0-9a-f]+\.partial")
            for path in partial.parent.iterdir():
                match = others.fullmatch(path.name)
                if match is None or path == partial:
                    continue
                with appending(path, busy):
                    path.unlink()
                changed = f"the code of {grader.name.split()[-1]}" if match[1] == call else "the input or the command"
                print(f"madrl: {changed} changed since {destination} was begun: starting afresh", file=sys.stderr)
            yield partial, unfinished
        finally:
            if partial.exists() and not _whole_lines(partial):
                partial.unlink()


def _whole_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


def _rollout(record: Record) -> Rollout:
    truth = record.get("ground_truth")
    return Rollout(
        response=record["response"],
        ground_truth=truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False),
        extra_info=record.get("extra_info") or {},
        data_source=str(record.get("data_source") or ""),
    )
