"""A classifier or a verifier on a file of responses: ``madrl classify`` and ``madrl verify``.

The functions that training calls, looked up in the same way, one line at a time. The output grows in a hidden file
beside the destination whose name says which input, which function and which version of its code it belongs to. The same
call after a kill or a failure goes on where that file ends; one with another input, function or code starts afresh and
removes it, so that no output mixes two. The destination appears when it is complete.
"""

import asyncio
import functools
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from madrl import __version__
from madrl.errors import MadrlError
from madrl.files import appending
from madrl.grading.classifiers import CLASSIFIERS, load_classifier
from madrl.grading.grader import PluginError, classify_response, verify_response
from madrl.grading.verifiers import VERIFIERS, check_ready, load_verifier
from madrl.records import Record, cannot_write, destination_of, line_of, read, source_of
from madrl.rollout import Rollout
from madrl.sampling.grading import MAX_UNGRADED
from madrl.source import digest, plugin_modules

CHUNK = 256
"""Responses graded at a time; also what a kill can cost."""

KEY_DIGITS = 12


class Graded(NamedTuple):
    """What became of a file."""

    counts: Counter[str | None]
    """Category, or verdict, -> responses, over the whole file."""
    resumed: int
    """Lines that an earlier call had already done."""


class FileGrader(NamedTuple):
    """One classifier or verifier, as a file meets it."""

    name: str
    """What the user calls it, with the command."""
    module: str
    """The module that it was imported from."""
    grade: Callable[[Sequence[Rollout], bool], Awaitable[list[dict[str, Any]]]]
    """From some responses to the keys that their lines gain. Raises MadrlError when they are not to be kept; the second
    argument says whether they are enough to tell a function that is broken from one that fails on a few."""
    counted: str
    """The key that the summary counts."""
    needs: tuple[str, ...]
    """Keys that a line must have."""


def classify_file(in_path: str | Path, out_path: str | Path, spec: str) -> Graded:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``category`` (null when off-support) and
    ``category_reason``. ``-`` is standard input, and standard output.

    A line is one response, an object with at least ``response``; a classifier that looks at more finds it in
    ``ground_truth``, ``extra_info`` and ``data_source``. Other keys are kept, blank lines dropped.

    Args:
        spec: a key of CLASSIFIERS, or ``pkg.module:name``.

    Raises MadrlError for a classifier that does not exist or that raises, for the first bad line, before anything is
    written, and for an ``out_path`` that cannot be written; OSError for an ``in_path`` that cannot be read.
    """
    classifier = load_classifier(spec)

    async def classify(rollouts: Sequence[Rollout], enough: bool) -> list[dict[str, Any]]:
        try:
            found = [classify_response(classifier, spec, rollout) for rollout in rollouts]
        except PluginError as error:
            raise MadrlError(str(error)) from error
        return [{"category": category, "category_reason": reason} for category, reason in found]

    module = _module_of(spec, CLASSIFIERS)
    return _grade_file(in_path, out_path, FileGrader(f"classify {spec}", module, classify, "category", ("response",)))


def verify_file(in_path: str | Path, out_path: str | Path, spec: str) -> Graded:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``correct`` (a number in [0, 1], or null for
    ungraded), the same in a word as ``verdict``, the ``answer`` that was taken from it, the ``reason``, and what else
    the verifier found as ``verifier_extra``.

    A line has at least ``response`` and ``ground_truth``; a ground truth that is not a string is taken as its JSON
    text. The rest is as in ``classify_file``. A verifier that raises leaves that line ungraded, as in training; one
    that raises on more than MAX_UNGRADED of a full chunk, or of a file that is smaller, is broken, or what it needs is
    down: MadrlError, and the chunk is not kept. MadrlError also for one that returns what it must not, and when the
    service that it waits for is not there.
    """
    verifier = load_verifier(spec)
    check_ready(spec, ())

    async def verify(rollouts: Sequence[Rollout], enough: bool) -> list[dict[str, Any]]:
        raised: Counter[str] = Counter()

        async def counting(rollout: Rollout) -> Any:
            try:
                return await verifier(rollout)
            except Exception as error:
                raised[f"{type(error).__name__}: {error}"] += 1
                raise

        try:
            found = await asyncio.gather(*(verify_response(counting, spec, rollout) for rollout in rollouts))
        except PluginError as error:
            raise MadrlError(str(error)) from error
        if enough and raised.total() > MAX_UNGRADED * len(rollouts):
            reason, count = raised.most_common(1)[0]
            raise MadrlError(
                f"verifier {spec} raised on {raised.total()} of {len(rollouts)} responses ({count} x {reason}): mend "
                "that and start the same call again"
            )
        return [
            {
                "verdict": str(one.verdict),
                "answer": one.answer,
                "reason": one.reason,
                "correct": one.correctness,
                "verifier_extra": one.extra or None,
            }
            for one in found
        ]

    module = _module_of(spec, VERIFIERS)
    needs = ("response", "ground_truth")
    return _grade_file(in_path, out_path, FileGrader(f"verify {spec}", module, verify, "verdict", needs))


def _module_of(spec: str, builtin: Mapping[str, Any]) -> str:
    return str(builtin[spec].__module__) if spec in builtin else spec.partition(":")[0]


def _grade_file(in_path: str | Path, out_path: str | Path, grader: FileGrader) -> Graded:
    source, destination = source_of(in_path), destination_of(out_path)
    total = sum(1 for _ in read(source, grader.needs, ("extra_info",)))
    counts: Counter[str | None] = Counter()
    with source.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()

    def grade_into(unfinished: BinaryIO) -> None:
        done = counts.total()
        records = islice(read(source, grader.needs, ("extra_info",)), done, None)
        with _progress() as progress:
            task = progress.add_task(grader.name, total=total, completed=done)
            asyncio.run(_append(records, unfinished, grader, counts, functools.partial(progress.advance, task)))

    if destination is None:
        with tempfile.TemporaryFile() as whole:
            grade_into(whole)
            whole.seek(0)
            shutil.copyfileobj(whole, sys.stdout.buffer)
        return Graded(counts, 0)
    with _partial(destination, content, grader) as (partial, unfinished):
        counts += _resumed(unfinished, grader.counted)
        resumed = counts.total()
        try:
            grade_into(unfinished)
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
    call = hashlib.sha256(f"{content} {grader.name} {__version__}".encode()).hexdigest()[:KEY_DIGITS]
    code = digest(plugin_modules(grader.module) | plugin_modules("madrl.grading.grader"))[:KEY_DIGITS]
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


async def _append(
    records: Iterator[Record],
    file: BinaryIO,
    grader: FileGrader,
    counts: Counter[str | None],
    advance: Callable[[float], None],
) -> None:
    while chunk := list(islice(records, CHUNK)):
        enough = len(chunk) == CHUNK or not counts.total()  # a full chunk, or the whole file
        gained = await grader.grade([_rollout(record) for record in chunk], enough)
        file.writelines(line_of(record | more) for record, more in zip(chunk, gained, strict=True))
        file.flush()
        counts.update(more[grader.counted] for more in gained)
        advance(len(chunk))


def _resumed(file: BinaryIO, counted: str) -> Counter[str | None]:
    """The counts of what an earlier call left; the line that it was stopped in is cut off."""
    counts: Counter[str | None] = Counter()
    whole = 0
    file.seek(0)
    for line in file:
        if not line.endswith(b"\n"):
            break
        whole += len(line)
        counts[json.loads(line)[counted]] += 1
    file.truncate(whole)
    return counts


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


def _progress() -> Progress:
    """A bar on stderr, where stderr is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)
