"""A classifier or a verifier on a file of responses: ``madrl classify`` and ``madrl verify``.

The functions that training calls, looked up in the same way, one line at a time. The output grows in a hidden file
beside the destination whose name says which input and which function it belongs to; the same call after a kill goes
on where that file ends, and the destination appears when it is complete.
"""

import asyncio
import functools
import hashlib
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from madrl import __version__
from madrl.classifiers import load_classifier
from madrl.errors import MadrlError
from madrl.files import locked
from madrl.judge import PluginError, classify_response, verify_response
from madrl.records import line_of, read, writable
from madrl.rollout import Rollout
from madrl.verifiers import check_ready, load_verifier

CHUNK = 256
"""Responses verified at a time; also what a kill can cost."""

Annotate = Callable[[Rollout], Awaitable[dict[str, Any]]]
"""From one response to the keys that its line gains."""


class Judged(NamedTuple):
    """What became of a file."""

    counts: Counter[str | None]
    """Category, or verdict, -> responses, over the whole file."""
    resumed: int
    """Lines that an earlier call had already done."""


def classify_file(in_path: str | Path, out_path: str | Path, spec: str) -> Judged:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``category`` (null when off-support) and
    ``category_reason``.

    A line is one response, an object with at least ``response``; a classifier that looks at more finds it in
    ``ground_truth``, ``extra_info`` and ``data_source``. Other keys are kept, blank lines dropped.

    Args:
        spec: a key of CLASSIFIERS, or ``pkg.module:name``.

    Raises MadrlError for a classifier that does not exist or that raises, for the first bad line, before anything is
    written, and for an ``out_path`` that cannot be written; OSError for an ``in_path`` that cannot be read.
    """
    classifier = load_classifier(spec)

    async def annotate(rollout: Rollout) -> dict[str, Any]:
        category, reason = classify_response(classifier, spec, rollout)
        return {"category": category, "category_reason": reason}

    return _judge(Path(in_path), Path(out_path), f"classify {spec}", annotate, "category", ("response",))


def verify_file(in_path: str | Path, out_path: str | Path, spec: str) -> Judged:
    """Write the lines of ``in_path`` to ``out_path``, each with its ``correct`` (a number in [0, 1], or null for
    unjudged), the same in a word as ``verdict``, the ``answer`` that was taken from it, the ``reason``, and what else
    the verifier found as ``verifier_extra``.

    A line has at least ``response`` and ``ground_truth``; a ground truth that is not a string is taken as its JSON
    text. The rest is as in ``classify_file``; a verifier that raises leaves that line unjudged, as in training. Raises
    MadrlError also when the verifier waits for a service that is not there.
    """
    verifier = load_verifier(spec)
    check_ready(spec, ())

    async def annotate(rollout: Rollout) -> dict[str, Any]:
        found = await verify_response(verifier, spec, rollout)
        return {
            "verdict": str(found.verdict),
            "answer": found.answer,
            "reason": found.reason,
            "correct": found.correctness,
            "verifier_extra": found.extra or None,
        }

    return _judge(Path(in_path), Path(out_path), f"verify {spec}", annotate, "verdict", ("response", "ground_truth"))


def _judge(source: Path, out_path: Path, what: str, annotate: Annotate, counted: str, needs: Sequence[str]) -> Judged:
    destination = writable(out_path)
    total = sum(1 for _ in read(source, needs, ("extra_info",)))
    with source.open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()
    key = hashlib.sha256(f"{key} {what} {__version__}".encode()).hexdigest()[:12]
    partial = destination.with_name(f".{destination.name}.{key}.partial")
    with locked(partial.with_suffix(".lock"), f"{destination}: another madrl is writing it"):
        counts, done = _resume(partial, counted)
        rows = islice(read(source, needs, ("extra_info",)), done, None)
        with partial.open("ab") as unfinished, _progress() as progress:
            task = progress.add_task(what, total=total, completed=done)
            advance = functools.partial(progress.advance, task)
            asyncio.run(_append(rows, unfinished, annotate, counted, counts, advance))
            os.fsync(unfinished.fileno())
        partial.replace(destination)
        partial.with_suffix(".lock").unlink()
    return Judged(counts, done)


async def _append(
    rows: Iterator[dict[str, Any]],
    file: BinaryIO,
    annotate: Annotate,
    counted: str,
    counts: Counter[str | None],
    advance: Callable[[float], None],
) -> None:
    while chunk := list(islice(rows, CHUNK)):
        try:
            gained = await asyncio.gather(*(annotate(_rollout(row)) for row in chunk))
        except PluginError as error:
            raise MadrlError(str(error)) from error
        file.writelines(line_of(row | more) for row, more in zip(chunk, gained, strict=True))
        file.flush()
        counts.update(more[counted] for more in gained)
        advance(len(chunk))


def _resume(partial: Path, counted: str) -> tuple[Counter[str | None], int]:
    """The counts of what an earlier call left, and its number of lines; the line that it was killed in is cut off."""
    counts: Counter[str | None] = Counter()
    if not partial.exists():
        return counts, 0
    with partial.open("r+b") as file:
        whole = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            counts[json.loads(line)[counted]] += 1
        file.truncate(whole)
    return counts, counts.total()


def _rollout(row: dict[str, Any]) -> Rollout:
    truth = row.get("ground_truth")
    return Rollout(
        response=row["response"],
        ground_truth=truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False),
        extra_info=row.get("extra_info") or {},
        data_source=str(row.get("data_source") or ""),
    )


def _progress() -> Progress:
    """A bar on stderr, where stderr is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)
