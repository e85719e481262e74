"""How good and how fast a classifier is: ``python -m madrl.grading.classifier_bench SPEC LABELLED.jsonl``.

SPEC is a key of CLASSIFIERS or ``pkg.module:name``. A line of the file holds ``response`` and ``category`` (null where
the response must be off-support), and may hold ``group`` (what kind of case it is) and ``ground_truth``. Printed are
the accuracy of each group and category, the leak rate, every confusion with its first line, and the speed.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.classifiers import CLASSIFIERS, Classifier, load_classifier
from madrl.grading.grader import PluginError, classify_response
from madrl.rollout import Classification, Rollout

WARM_UP = 50
"""Responses that are classified before the clock starts, so that loading models and grammars is not timed."""


class Labelled(NamedTuple):
    """One line of the labelled file."""

    rollout: Rollout
    category: str | None
    group: str
    line: int


class Result(NamedTuple):
    """What a classifier made of a labelled file."""

    labelled: Sequence[Labelled]
    classifications: Sequence[Classification]
    """As many, in the same order."""
    distinct: int
    """How many different responses were classified, each one once: a classifier's cache never answers."""
    cpu_s: float
    """Processor time of this process for those."""

    @property
    def accuracy(self) -> float:
        """Share of responses with the category that their line names; null counts as one."""
        return sum(hits := [_hit(*pair) for pair in self._pairs()]) / len(hits)

    @property
    def leak(self) -> float | None:
        """Share of the responses labelled null that got a category; None when no line is labelled null."""
        leaked = [got.category is not None for of, got in self._pairs() if of.category is None]
        return sum(leaked) / len(leaked) if leaked else None

    @property
    def docs_per_s(self) -> float:
        """Responses per second on one core."""
        return self.distinct / self.cpu_s

    def by_kind(self) -> dict[tuple[str, str | None], tuple[int, int]]:
        """(group, category) -> (lines, hits), in order of appearance."""
        kinds: dict[tuple[str, str | None], tuple[int, int]] = {}
        for of, got in self._pairs():
            lines, hits = kinds.get((of.group, of.category), (0, 0))
            kinds[of.group, of.category] = lines + 1, hits + _hit(of, got)
        return kinds

    def confusions(self) -> list[tuple[str | None, Classification, int, int]]:
        """(wanted, got, how often, the first line of it), the most frequent first."""
        counts: Counter[tuple[str | None, Classification]] = Counter()
        first: dict[tuple[str | None, Classification], int] = {}
        for of, got in self._pairs():
            if not _hit(of, got):
                counts[of.category, got] += 1
                first.setdefault((of.category, got), of.line)
        return [(*kind, count, first[kind]) for kind, count in counts.most_common()]

    def _pairs(self) -> list[tuple[Labelled, Classification]]:
        return list(zip(self.labelled, self.classifications, strict=True))


def load_labelled(path: Path) -> list[Labelled]:
    """The file's lines. Raises MadrlError naming the first one that is no labelled response, or when there is none."""
    labelled = []
    for number, record in enumerate(read_jsonl(path), start=1):
        response, category = record.get("response"), record.get("category", "")
        if not isinstance(response, str) or category == "" or not isinstance(category, str | None):
            raise MadrlError(
                f"{path}, line {number}: needs a text 'response' and a 'category', a name or null for off-support"
            )
        rollout = Rollout(response, str(record.get("ground_truth", "")))
        labelled.append(Labelled(rollout, category, str(record.get("group", "")), number))
    if not labelled:
        raise MadrlError(f"{path} has no lines: nothing to measure")
    return labelled


def measure(classifier: Classifier, labelled: Sequence[Labelled]) -> Result:
    """Classify every line, and time it on responses that the classifier has not seen before."""
    for row in labelled[:WARM_UP]:
        classifier(Rollout(f"{row.rollout.response}\n\n", row.rollout.ground_truth))
    rollouts = {(row.rollout.response, row.rollout.ground_truth): row.rollout for row in labelled}
    start = time.process_time()
    found = {key: classifier(rollout) for key, rollout in rollouts.items()}
    cpu_s = time.process_time() - start
    classifications = [found[row.rollout.response, row.rollout.ground_truth] for row in labelled]
    return Result(labelled, classifications, len(rollouts), cpu_s)


def accuracy_table(result: Result, title: str) -> Table:
    """One row per group and category."""
    table = Table("group", "category", title=title, box=SIMPLE_HEAD)
    for column in ("n", "accuracy"):
        table.add_column(column, justify="right")
    for (group, category), (lines, hits) in result.by_kind().items():
        table.add_row(group, _name(category), f"{lines:,}", f"{hits / lines:.2%}")
    return table


def confusion_table(result: Result) -> Table:
    """One row per wanted category and wrong classification."""
    table = Table("wanted", "got", "reason", title="confusions", box=SIMPLE_HEAD)
    for column in ("n", "first line"):
        table.add_column(column, justify="right")
    for wanted, got, count, line in result.confusions():
        table.add_row(_name(wanted), _name(got.category), got.reason, f"{count:,}", str(line))
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure one classifier on one file; exit code 2, and one line on stderr, for a mistake in the call."""
    parser = argparse.ArgumentParser(prog="madrl.grading.classifier_bench", description="Measure a classifier.")
    parser.add_argument("spec", metavar="SPEC", help=f"{', '.join(CLASSIFIERS)} or pkg.module:name")
    parser.add_argument("labelled", metavar="LABELLED.jsonl", type=Path, help="lines with response, category, group")
    args = parser.parse_args(argv)
    try:
        classifier = load_classifier(args.spec)
        result = measure(
            lambda rollout: classify_response(classifier, args.spec, rollout), load_labelled(args.labelled)
        )
    except (MadrlError, PluginError, OSError) as error:
        reason = f"{args.labelled}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"{parser.prog}: error: {reason}", file=sys.stderr)
        return 2
    console = Console()
    console.print(accuracy_table(result, f"{args.spec} on {args.labelled.name}"))
    leak = "no line is labelled null" if result.leak is None else f"{result.leak:.2%}"
    console.print(f"accuracy {result.accuracy:.2%}   leak {leak}")
    console.print(f"{result.docs_per_s:,.0f} docs/s on one core, over {result.distinct:,} different responses")
    if result.accuracy < 1:
        console.print(confusion_table(result))
    return 0


def _hit(of: Labelled, got: Classification) -> bool:
    return of.category == got.category


def _name(category: str | None) -> str:
    return "off-support" if category is None else category


if __name__ == "__main__":
    sys.exit(main())
