"""How right and how fast a classifier or the math verifier is, on labelled responses.

    python -m madrl.grading.bench classifier SPEC LABELLED.jsonl
    python -m madrl.grading.bench verifier PAIRS.jsonl [--scorer pkg.module:name]

SPEC is a key of CLASSIFIERS or ``pkg.module:name``. A line of LABELLED holds ``response`` and ``category`` (null where
the response must be off-support), and may hold ``group`` (what kind of case it is) and ``ground_truth``. A line of
PAIRS holds ``gold`` (the reference), ``pred`` (the response) and ``expected`` (true or false), and may hold ``group``
or ``source``. Beside the verifier ``math`` the pairs are scored by math-verify alone (its defaults, one process) and by
any ``--scorer``: a function of response and reference, in this order, that returns a number, a truth value or a dict
with ``acc``; above one half is correct. So ``--scorer verl.utils.reward_score.gsm8k:compute_score`` compares with
veRL's.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.classifiers import CLASSIFIERS
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import load_plugin
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


Label = Callable[[Rollout], Awaitable[Classification]]
"""What is measured: from a response to its category, or to its verdict in the place of one."""


class Result(NamedTuple):
    """What became of a labelled file."""

    labelled: Sequence[Labelled]
    found: Sequence[Classification]
    """As many, in the same order."""
    distinct: int
    """How many different responses were labelled, each one once: a cache never answers."""
    elapsed_s: float
    """The time for those."""

    @property
    def accuracy(self) -> float:
        """Share of responses with the label that their line names; null counts as one."""
        return sum(hits := [_hit(*pair) for pair in self._pairs()]) / len(hits)

    @property
    def leak(self) -> float | None:
        """Share of the responses labelled null that got a category; None when no line is labelled null."""
        leaked = [got.category is not None for line, got in self._pairs() if line.label is None]
        return sum(leaked) / len(leaked) if leaked else None

    @property
    def responses_per_s(self) -> float:
        """Responses per second."""
        return self.distinct / self.elapsed_s

    def by_kind(self) -> dict[tuple[str, str | None], tuple[int, int]]:
        """(group, label) -> (lines, hits), in order of appearance."""
        kinds: dict[tuple[str, str | None], tuple[int, int]] = {}
        for line, got in self._pairs():
            lines, hits = kinds.get((line.group, line.label), (0, 0))
            kinds[line.group, line.label] = lines + 1, hits + _hit(line, got)
        return kinds

    def confusions(self) -> list[tuple[str | None, Classification, int, int]]:
        """(wanted, got, how often, the first line of it), the most frequent first."""
        counts: Counter[tuple[str | None, Classification]] = Counter()
        first: dict[tuple[str | None, Classification], int] = {}
        for line, got in self._pairs():
            if not _hit(line, got):
                counts[line.label, got] += 1
                first.setdefault((line.label, got), line.line)
        return [(*kind, count, first[kind]) for kind, count in counts.most_common()]

    def _pairs(self) -> list[tuple[Labelled, Classification]]:
        return list(zip(self.labelled, self.found, strict=True))


def load_labelled(path: Path) -> list[Labelled]:
    """The lines of LABELLED. Raises MadrlError naming the first bad one, or when there is none."""

    def labelled(record: dict[str, Any], line: int) -> Labelled | None:
        response, category = record.get("response"), record.get("category", "")
        if not isinstance(response, str) or category == "" or not isinstance(category, str | None):
            return None
        rollout = Rollout(response, str(record.get("ground_truth", "")))
        return Labelled(rollout, category, str(record.get("group", "")), line)

    return _load(path, labelled, "a text 'response' and a 'category', a name or null for off-support")


def load_pairs(path: Path) -> list[Labelled]:
    """The lines of PAIRS. Raises MadrlError naming the first bad one, or when there is none."""

    def labelled(record: dict[str, Any], line: int) -> Labelled | None:
        if not {"gold", "pred", "expected"} <= record.keys():
            return None
        group = str(record.get("group", record.get("source", "")))
        return Labelled(Rollout(record["pred"], record["gold"]), Verdict.of(bool(record["expected"])), group, line)

    return _load(path, labelled, "gold, pred and expected")


def _load(path: Path, labelled: Callable[[dict[str, Any], int], Labelled | None], needs: str) -> list[Labelled]:
    found = []
    for number, record in enumerate(read_jsonl(path), start=1):
        line = labelled(record, number)
        if line is None:
            raise MadrlError(f"{path}, line {number}: needs {needs}")
        found.append(line)
    if not found:
        raise MadrlError(f"{path} has no lines: nothing to measure")
    return found


def measure(
    label: Label, labelled: Sequence[Labelled], warm_up: Sequence[Rollout], clock: Callable[[], float]
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
    in_order = [found[row.rollout.response, row.rollout.ground_truth] for row in labelled]
    return Result(labelled, in_order, len(rollouts), elapsed_s)


def measure_classifier(spec: str | Callable[[Rollout], Any], labelled: Sequence[Labelled]) -> Result:
    """A classifier's accuracy, and its speed in processor time: on one core."""
    grader = Grader(GraderSpec(spec, None, ()))

    async def label(rollout: Rollout) -> Classification:
        grade = await grader.grade(rollout)
        return Classification(grade.category, grade.reason)

    warm_up = [Rollout(f"{row.rollout.response}\n\n", row.rollout.ground_truth) for row in labelled[:WARM_UP]]
    return measure(label, labelled, warm_up, time.process_time)


def measure_verifier(labelled: Sequence[Labelled]) -> Result:
    """The accuracy of the verifier ``math``, and its speed with all its processes."""
    grader = Grader(GraderSpec(None, "math", ()))

    async def label(rollout: Rollout) -> Classification:
        grade = await grader.grade(rollout)
        return Classification(str(grade.verdict), grade.reason)

    return measure(label, labelled, FORMULAS, time.perf_counter)


def measure_scorer(scorer: Callable[[str, str], Any], labelled: Sequence[Labelled]) -> Result:
    """The same of a scorer, for comparison. One that raises gave no verdict."""

    async def label(rollout: Rollout) -> Classification:
        try:
            score = scorer(rollout.response, rollout.ground_truth)
        except Exception as error:  # a scorer under comparison may fail in any way
            return Classification(str(Verdict.UNGRADED), type(error).__name__)
        return Classification(str(Verdict.of(float(score["acc"] if isinstance(score, dict) else score) > 0.5)))

    return measure(label, labelled, (), time.perf_counter)


def math_verify_alone(response: str, reference: str) -> bool:
    """math-verify as its own documentation uses it."""
    import math_verify  # type: ignore[import-untyped]

    return bool(math_verify.verify(math_verify.parse(f"${reference}$"), math_verify.parse(response)))


def show(result: Result, title: str) -> None:
    """Print the accuracy by group and label, the leak, the speed, and every confusion with its first line."""
    console = Console()
    table = Table("group", "wanted", title=title, box=SIMPLE_HEAD)
    confusions = Table("wanted", "got", "reason", title="confusions", box=SIMPLE_HEAD)
    for column in ("n", "accuracy"):
        table.add_column(column, justify="right")
    for column in ("n", "first line"):
        confusions.add_column(column, justify="right")
    for (group, label), (lines, hits) in result.by_kind().items():
        table.add_row(group, _name(label), f"{lines:,}", f"{hits / lines:.2%}")
    for wanted, got, count, line in result.confusions():
        confusions.add_row(_name(wanted), _name(got.category), got.reason, f"{count:,}", str(line))
    console.print(table)
    leak = "" if result.leak is None else f"   leak {result.leak:.2%}"
    console.print(f"accuracy {result.accuracy:.2%}{leak}")
    console.print(f"{result.responses_per_s:,.0f} responses/s, over {result.distinct:,} different ones")
    if result.accuracy < 1:
        console.print(confusions)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure on one file; exit code 2, and one line on stderr, for a mistake in the call."""
    parser = argparse.ArgumentParser(
        prog="madrl.grading.bench", description="Accuracy and speed on labelled responses."
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    classifier = kinds.add_parser("classifier")
    classifier.add_argument("spec", metavar="SPEC", help=f"{', '.join(CLASSIFIERS)} or pkg.module:name")
    classifier.add_argument("file", metavar="LABELLED.jsonl", type=Path, help="lines with response, category, group")
    verifier = kinds.add_parser("verifier")
    verifier.add_argument("file", metavar="PAIRS.jsonl", type=Path, help="lines with gold, pred, expected")
    verifier.add_argument("--scorer", action="append", default=[], metavar="pkg.module:name")
    args = parser.parse_args(argv)
    try:
        if args.kind == "classifier":
            show(measure_classifier(args.spec, load_labelled(args.file)), f"{args.spec} on {args.file.name}")
            return 0
        pairs = load_pairs(args.file)
        logging.disable(logging.CRITICAL)
        show(measure_verifier(pairs), "the verifier math")
        scorers = {spec: load_plugin(spec, {}, "scorer") for spec in args.scorer}
        for name, scorer in {"math-verify alone": math_verify_alone, **scorers}.items():
            show(measure_scorer(scorer, pairs), name)
    except (MadrlError, OSError) as error:
        reason = f"{args.file}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"{parser.prog}: error: {reason}", file=sys.stderr)
        return 2
    return 0


def _hit(line: Labelled, got: Classification) -> bool:
    return line.label == got.category


def _name(label: str | None) -> str:
    return "off-support" if label is None else label


if __name__ == "__main__":
    sys.exit(main())
