"""How right and how fast a classifier or a verifier is, on labelled responses.

    python -m madrl.grading.bench classifier SPEC LABELLED.jsonl
    python -m madrl.grading.bench verifier SPEC PAIRS.jsonl [--scorer math_verify] [--scorer pkg.module:name]

SPEC is a built-in name or ``pkg.module:name``. A line of LABELLED holds ``response`` and ``category`` (null where the
response must be off-support), and may hold ``group`` (what kind of case it is) and ``ground_truth``. A line of PAIRS
holds ``gold`` (the reference), ``pred`` (the response) and ``expected`` (true or false), and may hold ``group`` or
``source``.

A scorer is measured on the same pairs. It is a function of response and reference, in this order, that returns a
number, a truth value or a dict with ``acc``; above one half is correct. ``math_verify`` is math-verify alone, and
``verl.utils.reward_score.gsm8k:compute_score`` is veRL's.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, load_plugin
from madrl.rollout import Classification, Rollout, Verdict

WARM_UP = 50
"""Responses that are classified before the clock starts, so that loading models and grammars is not timed."""

FORMULAS = [Rollout(rf"\boxed{{{n} + x}}", f"x+{n}+0") for n in range(8)]
"""The same for the verifier, whose worker processes load their libraries."""


class Labelled(NamedTuple):
    """One line of the labelled file."""

    rollout: Rollout
    label: str | None
    """The category, or ``correct`` or ``incorrect``; None is off-support."""
    group: str
    line: int


class Result(NamedTuple):
    """What became of a labelled file."""

    pairs: Sequence[tuple[Labelled, Classification]]
    """Each line, and the category or the verdict that it was given."""
    distinct: int
    """How many different responses were labelled, each one once: a cache never answers."""
    elapsed_s: float
    """The time for those."""

    @property
    def accuracy(self) -> float:
        """Share of responses with the label that their line names; null counts as one."""
        return sum(map(_hit, self.pairs)) / len(self.pairs)

    @property
    def leak(self) -> float | None:
        """Share of the responses labelled null that got a category; None when no line is labelled null."""
        leaked = [got.category is not None for line, got in self.pairs if line.label is None]
        return sum(leaked) / len(leaked) if leaked else None

    @property
    def responses_per_s(self) -> float:
        """Responses per second."""
        return self.distinct / self.elapsed_s

    def by_kind(self) -> dict[tuple[str, str | None], list[bool]]:
        """(group, label) -> whether each of its lines is a hit, in order of appearance."""
        kinds: dict[tuple[str, str | None], list[bool]] = {}
        for pair in self.pairs:
            kinds.setdefault((pair[0].group, pair[0].label), []).append(_hit(pair))
        return kinds

    def confusions(self) -> dict[tuple[str | None, Classification], list[int]]:
        """(wanted, got) -> its lines, the most frequent first."""
        lines: dict[tuple[str | None, Classification], list[int]] = {}
        for line, got in self.pairs:
            if not _hit((line, got)):
                lines.setdefault((line.label, got), []).append(line.line)
        return dict(sorted(lines.items(), key=lambda item: -len(item[1])))


def _hit(pair: tuple[Labelled, Classification]) -> bool:
    return pair[0].label == pair[1].category


def load_labelled(path: Path) -> list[Labelled]:
    """The lines of LABELLED or PAIRS. Raises MadrlError naming the first bad one, or when there is none."""
    labelled = []
    for number, record in enumerate(read_jsonl(path), start=1):
        group = str(record.get("group", record.get("source", "")))
        if {"gold", "pred", "expected"} <= record.keys():
            rollout, label = Rollout(record["pred"], record["gold"]), Verdict.of(bool(record["expected"]))
            labelled.append(Labelled(rollout, label, group, number))
            continue
        response, category = record.get("response"), record.get("category", "")
        if not isinstance(response, str) or category == "" or not isinstance(category, str | None):
            raise MadrlError(
                f"{path}, line {number}: needs a text 'response' and a 'category', a name or null for off-support; or "
                "gold, pred and expected"
            )
        labelled.append(Labelled(Rollout(response, str(record.get("ground_truth", ""))), category, group, number))
    if not labelled:
        raise MadrlError(f"{path} has no lines: nothing to measure")
    return labelled


def measure(
    label: Callable[[Rollout], Awaitable[Classification]],
    labelled: Sequence[Labelled],
    warm_up: Sequence[Rollout] = (),
    clock: Callable[[], float] = time.perf_counter,
) -> Result:
    """Label every line, and time it on responses that ``label`` has not seen before."""
    rollouts = {(row.rollout.response, row.rollout.ground_truth): row.rollout for row in labelled}

    async def timed() -> tuple[list[Classification], float]:
        await asyncio.gather(*map(label, warm_up))
        start = clock()
        found = await asyncio.gather(*map(label, rollouts.values()))
        return found, clock() - start

    answers, elapsed_s = asyncio.run(timed())
    found = dict(zip(rollouts, answers, strict=True))
    pairs = [(row, found[row.rollout.response, row.rollout.ground_truth]) for row in labelled]
    return Result(pairs, len(rollouts), elapsed_s)


def measure_classifier(spec: Plugin, labelled: Sequence[Labelled]) -> Result:
    """A classifier's accuracy, and its speed in processor time: on one core."""
    grader = Grader(GraderSpec(spec, None, ()))

    async def label(rollout: Rollout) -> Classification:
        grade = await grader.grade(rollout)
        return Classification(grade.category, grade.reason)

    warm_up = [Rollout(f"{row.rollout.response}\n\n", row.rollout.ground_truth) for row in labelled[:WARM_UP]]
    return measure(label, labelled, warm_up, time.process_time)


def measure_verifier(spec: Plugin, labelled: Sequence[Labelled]) -> Result:
    """A verifier's accuracy, and its speed with all its processes."""
    grader = Grader(GraderSpec(None, spec, ()))

    async def label(rollout: Rollout) -> Classification:
        grade = await grader.grade(rollout)
        return Classification(grade.verdict, grade.reason)

    return measure(label, labelled, FORMULAS)


def measure_scorer(scorer: Callable[[str, str], Any], labelled: Sequence[Labelled]) -> Result:
    """The same of a scorer, for comparison. One that raises gave no verdict."""

    async def label(rollout: Rollout) -> Classification:
        try:
            score = scorer(rollout.response, rollout.ground_truth)
        except Exception as error:  # a scorer under comparison may fail in any way
            return Classification(Verdict.UNGRADED, type(error).__name__)
        return Classification(Verdict.of(float(score["acc"] if isinstance(score, dict) else score) > 0.5))

    return measure(label, labelled)


def math_verify_alone(response: str, reference: str) -> bool:
    """math-verify as its own documentation uses it."""
    import math_verify  # type: ignore[import-untyped]

    return bool(math_verify.verify(math_verify.parse(f"${reference}$"), math_verify.parse(response)))


SCORERS = {"math_verify": math_verify_alone}
OFF = "off-support"


def show(result: Result, title: str) -> None:
    """Print the accuracy by group and label, the leak, the speed, and every confusion with its first line."""
    console = Console()
    kinds = Table("group", "wanted", "n", "accuracy", title=title, box=SIMPLE_HEAD)
    for (group, label), hits in result.by_kind().items():
        kinds.add_row(group, label or OFF, f"{len(hits):,}", f"{sum(hits) / len(hits):.2%}")
    confusions = Table("wanted", "got", "reason", "n", "first line", title="confusions", box=SIMPLE_HEAD)
    for (wanted, got), lines in result.confusions().items():
        confusions.add_row(wanted or OFF, got.category or OFF, got.reason, f"{len(lines):,}", str(lines[0]))
    for table in (kinds, confusions):
        for column in table.columns[-2:]:
            column.justify = "right"
    console.print(kinds)
    leak = "" if result.leak is None else f"   leak {result.leak:.2%}"
    console.print(f"accuracy {result.accuracy:.2%}{leak}")
    console.print(f"{result.responses_per_s:,.0f} responses/s, over {result.distinct:,} different ones")
    if confusions.row_count:
        console.print(confusions)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure on one file; exit code 2, and one line on stderr, for a mistake in the call."""
    parser = argparse.ArgumentParser(prog="madrl.grading.bench", description="Accuracy and speed of grading.")
    parser.add_argument("kind", choices=["classifier", "verifier"])
    parser.add_argument("spec", metavar="SPEC", help="a built-in name or pkg.module:name")
    parser.add_argument("file", metavar="FILE.jsonl", type=Path, help="labelled responses")
    parser.add_argument("--scorer", action="append", default=[], metavar="pkg.module:name", help="of a verifier")
    args = parser.parse_args(argv)
    try:
        labelled = load_labelled(args.file)
        measured = measure_classifier if args.kind == "classifier" else measure_verifier
        if args.kind == "verifier":
            logging.disable(logging.CRITICAL)
        show(measured(args.spec, labelled), f"{args.spec} on {args.file.name}")
        for spec in args.scorer:
            show(measure_scorer(load_plugin(spec, SCORERS, "scorer"), labelled), spec)
    except (MadrlError, OSError) as error:
        reason = f"{args.file}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"{parser.prog}: error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
