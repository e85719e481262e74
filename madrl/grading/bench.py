"""How right and how fast a classifier or a verifier is, on labelled responses.

    python -m madrl.grading.bench classifier SPEC LABELLED.jsonl [--args JSON] [--categories A,B]
    python -m madrl.grading.bench verifier SPEC PAIRS.jsonl [--args JSON] [--scorer math_verify] [--scorer SCORER]

SPEC and SCORER are a built-in name or ``pkg.module:name``, JSON the keyword arguments of SPEC. A line of LABELLED holds
``response`` and ``category`` (null where the response must be off-support), and may hold ``group`` (what kind of case
it is) and ``ground_truth``. A line of PAIRS holds ``gold`` (the reference), ``pred`` (the response) and ``expected``
(true or false), and may hold ``group`` or ``source``.

A scorer is measured on the same pairs. It is a function of response and reference, in this order, that returns a
number, a truth value or a dict with ``acc``; above one half is correct. ``math_verify`` is math-verify alone, and
``verl.utils.reward_score.gsm8k:compute_score`` is veRL's.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, arguments_of, load_plugin
from madrl.rollout import Rollout, Verdict
from madrl.targets import check_categories

OFF = "off-support"

WARM_UP = 50
"""Responses that are classified before the clock starts, so that loading models and grammars is not timed."""

FORMULAS = [Rollout(rf"\boxed{{{n} + x}}", f"x+{n}+0") for n in range(8)]
"""The responses that a verifier grades before the clock starts, so that its worker processes load their libraries."""


class Labelled(NamedTuple):
    """One line of the labelled file."""

    rollout: Rollout
    wanted: str
    """The category or OFF, or a verdict."""
    group: str
    line: int


class Found(NamedTuple):
    """What a response was given: a category or OFF, or a verdict."""

    got: str
    reason: str = ""


class Result(NamedTuple):
    """How a grader did on a labelled file."""

    lines: pd.DataFrame
    """One row a line: group, wanted, line, got, reason, and whether it is a hit."""
    responses_per_s: float
    """Different responses graded per second, each one once: a cache never answers."""

    @property
    def accuracy(self) -> float:
        """Share of the lines that got what they want."""
        return float(self.lines.hit.mean())

    @property
    def leak(self) -> float:
        """Share of the responses labelled off-support that got a category; NaN when no line is."""
        return float(1 - self.lines[self.lines.wanted == OFF].hit.mean())

    def by_kind(self) -> pd.DataFrame:
        """The number of lines and the accuracy for each group and label."""
        kinds = self.lines.groupby(["group", "wanted"], sort=False)
        return kinds.agg(n=("hit", "size"), accuracy=("hit", "mean"))

    def confusions(self) -> pd.DataFrame:
        """How often each wrong answer came, and in which line first; the most frequent first."""
        kinds = self.lines[~self.lines.hit].groupby(["wanted", "got", "reason"], sort=False)
        counts = kinds.agg(n=("line", "size"), first_line=("line", "first"))
        return counts.sort_values("n", ascending=False, kind="stable")


def load_labelled(path: Path) -> list[Labelled]:
    """The lines of LABELLED or PAIRS. Raises MadrlError naming the first bad one, or when there is none."""
    labelled = []
    for number, record in enumerate(read_jsonl(path), start=1):
        if {"gold", "pred", "expected"} <= record.keys():
            rollout, wanted = Rollout(record["pred"], record["gold"]), str(Verdict.of(bool(record["expected"])))
        else:
            response, category = record.get("response"), record.get("category", "")
            if not isinstance(response, str) or category == "" or not isinstance(category, str | None):
                raise MadrlError(
                    f"{path}, line {number}: needs a text 'response' and a 'category', a name or null for off-support; "
                    "or gold, pred and expected"
                )
            rollout, wanted = Rollout(response, str(record.get("ground_truth", ""))), category or OFF
        labelled.append(Labelled(rollout, wanted, str(record.get("group", record.get("source", ""))), number))
    if not labelled:
        raise MadrlError(f"{path} has no lines: nothing to measure")
    return labelled


def measure(
    grade: Callable[[Rollout], Awaitable[Found]],
    labelled: Sequence[Labelled],
    warm_up: Sequence[Rollout] = (),
    clock: Callable[[], float] = time.perf_counter,
) -> Result:
    """Grade every line, and time it on responses that ``grade`` has not seen before."""
    rollouts = {(row.rollout.response, row.rollout.ground_truth): row.rollout for row in labelled}

    async def timed() -> tuple[list[Found], float]:
        await asyncio.gather(*map(grade, warm_up))
        start = clock()
        return await asyncio.gather(*map(grade, rollouts.values())), clock() - start

    answers, elapsed_s = asyncio.run(timed())
    found = dict(zip(rollouts, answers, strict=True))
    rows = [row._asdict() | found[row.rollout.response, row.rollout.ground_truth]._asdict() for row in labelled]
    lines = pd.DataFrame(rows).drop(columns="rollout")
    return Result(lines.assign(hit=lines.wanted == lines.got), len(rollouts) / elapsed_s)


def measure_classifier(
    spec: Plugin,
    labelled: Sequence[Labelled],
    arguments: Mapping[str, Any] = MappingProxyType({}),
    categories: tuple[str, ...] = (),
) -> Result:
    """A classifier's accuracy, and its speed: in processor time, on one core, or by the clock where it is async and
    waits for a server or another process."""
    grader = Grader(GraderSpec(spec, None, categories, classifier_args=arguments))

    async def grade(rollout: Rollout) -> Found:
        found = await grader.grade(rollout)
        return Found(found.category or (OFF if found.classified else str(Verdict.UNGRADED)), found.reason)

    warm_up = [Rollout(f"{row.rollout.response}\n\n", row.rollout.ground_truth) for row in labelled[:WARM_UP]]
    return measure(grade, labelled, warm_up, time.perf_counter if grader.classifier_waits else time.process_time)


def measure_verifier(
    spec: Plugin, labelled: Sequence[Labelled], arguments: Mapping[str, Any] = MappingProxyType({})
) -> Result:
    """A verifier's accuracy, and its speed with all its processes."""
    grader = Grader(GraderSpec(None, spec, (), verifier_args=arguments))

    async def grade(rollout: Rollout) -> Found:
        found = await grader.grade(rollout)
        return Found(str(found.verdict), found.reason)

    return measure(grade, labelled, FORMULAS)


def measure_scorer(scorer: Callable[[str, str], Any], labelled: Sequence[Labelled]) -> Result:
    """A scorer's accuracy and speed, for comparison. A scorer that raises gave no verdict."""

    async def grade(rollout: Rollout) -> Found:
        try:
            score = scorer(rollout.response, rollout.ground_truth)
        except Exception as error:  # a scorer under comparison may fail in any way
            return Found(str(Verdict.UNGRADED), type(error).__name__)
        return Found(str(Verdict.of(float(score["acc"] if isinstance(score, dict) else score) > 0.5)))

    return measure(grade, labelled)


def math_verify_alone(response: str, reference: str) -> bool:
    """math-verify as its own documentation uses it."""
    import math_verify  # type: ignore[import-untyped]

    return bool(math_verify.verify(math_verify.parse(f"${reference}$"), math_verify.parse(response)))


def show(result: Result, title: str) -> None:
    """Print the accuracy by group and label, the leak, the speed, and every confusion with its first line."""
    print(
        f"\n{title}: accuracy {result.accuracy:.2%}, leak {result.leak:.2%}, {result.responses_per_s:,.0f} responses/s"
    )
    print(result.by_kind().to_string(float_format="{:.2%}".format))
    if result.accuracy < 1:
        print(result.confusions().to_string())


def main(argv: Sequence[str] | None = None) -> int:
    """Measure on one file; exit code 2, and one line on stderr, for a mistake in the call."""
    parser = argparse.ArgumentParser(prog="madrl.grading.bench", description="Accuracy and speed of grading.")
    parser.add_argument("kind", choices=["classifier", "verifier"])
    parser.add_argument("spec", metavar="SPEC", help="a built-in name or pkg.module:name")
    parser.add_argument("file", metavar="FILE.jsonl", type=Path, help="labelled responses")
    parser.add_argument("--args", metavar="JSON", default="{}", help="its keyword arguments")
    parser.add_argument("--categories", metavar="A,B", help="the declared categories of a classifier (any)")
    parser.add_argument("--scorer", action="append", default=[], metavar="pkg.module:name", help="beside a verifier")
    args = parser.parse_args(argv)
    try:
        labelled = load_labelled(args.file)
        arguments = arguments_of(args.args)
        if args.kind == "classifier":
            categories = check_categories(args.categories.split(",")) if args.categories else ()
            show(measure_classifier(args.spec, labelled, arguments, categories), args.spec)
            return 0
        logging.disable(logging.CRITICAL)  # math-verify's
        show(measure_verifier(args.spec, labelled, arguments), args.spec)
        for spec in args.scorer:
            scorer = load_plugin(spec, {"math_verify": math_verify_alone}, "scorer")
            show(measure_scorer(scorer, labelled), spec)
    except (MadrlError, OSError) as error:
        reason = f"{args.file}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"{parser.prog}: error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
