r"""Which problem goes where: one copy of each, and four disjoint splits.

Validation and holdout come from the benchmark's own held-out splits, so that results compare with others' and the
training pool keeps the problems meant for training; the training pool and the selection split, which chooses a
warm-start checkpoint, come from its training split. Where the held-out splits do not suffice (CodeContests has 282 such
problems before any is dropped; a user's own file may have none), training problems stand in for the rest.

A problem's place in line is a hash of the seed and its normalised text: it depends neither on the order of the files
nor on which other problems are there, so that dropping one moves no other than its successor.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from data_prep.sources import TRAIN
from madrl.errors import MadrlError

HOLDOUT, VALIDATION, SELECTION, POOL = "holdout", "validation", "selection", "train"
SIZES = {HOLDOUT: 200, VALIDATION: 60, SELECTION: 200}
"""The paper's holdout and validation. It gives no size for selection: as large as the holdout, since a share of one in
five is then known to within 2.8 points from one sample a problem, and 1.4 from four."""

_LATEX_SPACING = re.compile(
    r"""
    \\[,;:!>\ ~] | ~ | \\(?:quad|qquad|thinspace|medspace|thickspace|enspace|left|right|displaystyle|limits)(?![a-zA-Z])
    """,
    re.VERBOSE,
)
_FRACTION = re.compile(r"\\[dt]frac(?![a-zA-Z])")
_MEANT = re.compile(r"(?<![\w.])\.\d+|\w'+(?=[\s$]*\()")
"""``.25`` but not ``no.5``, and the primes of ``f''(x)``."""
_COMMAND_BEFORE_POINT = re.compile(r"(\\[a-z]+)(?=\.\d)")
_PUNCTUATION = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[;?$\"'`]|\\[()\[\]]")


@dataclass(frozen=True)
class SourceProblem:
    """A row of the source that has passed its checks so far."""

    origin: str
    """The file and the row, as the manifest names them."""
    source_split: str
    """The benchmark's own split."""
    text: str
    """What the model is asked, without our instruction."""
    ground_truth: str
    extra: dict[str, Any] = field(default_factory=dict)
    """The dataset's own fields, the same in every row."""


class DroppedRow(NamedTuple):
    """A row that goes nowhere, and why."""

    origin: str
    source_split: str
    reason: str
    """A word to count by."""
    detail: str


class Splits(NamedTuple):
    """What each file gets, in the order of the source."""

    problems: dict[str, list[SourceProblem]]
    """POOL, SELECTION, VALIDATION and HOLDOUT -> their problems."""
    unused: int
    """Held-out problems that neither validation nor holdout took."""
    notes: list[str]
    """A sentence for each size that is not that of SIZES, and for problems from another split than usual."""


def normalised(text: str) -> str:
    r"""What two copies of one problem have in common: case, whitespace, LaTeX spacing and the punctuation of sentences
    are gone. Numbers stay whole (``1.5`` and ``1,000`` keep their signs), as does all that has a meaning in a formula
    (``-``, ``/``, ``!``, brackets)."""
    return "".join(_PUNCTUATION.sub(" ", _plain(text)).split())


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFC", text).replace("’", "'").casefold()
    return _FRACTION.sub(r"\\frac", _LATEX_SPACING.sub(" ", text))


def _with_marks(text: str) -> tuple[str, ...]:
    """The text ``normalised``, and what that leaves out and is no spelling. It is not part of it, as that decides which
    problem goes where."""
    # The letters of \cdot.5 are no word, as those of no.5 are.
    return (normalised(text), *_MEANT.findall(_COMMAND_BEFORE_POINT.sub(r"\1 ", _plain(text))))


def without_duplicates(problems: Iterable[SourceProblem]) -> tuple[list[SourceProblem], list[DroppedRow]]:
    """One of each set of problems that are equal when normalised, with marks that mean something: the first held-out
    one, else the first."""
    problems = list(problems)
    kept: dict[tuple[str, ...], SourceProblem] = {}
    for problem in sorted(problems, key=lambda problem: problem.source_split == TRAIN):  # stable
        kept.setdefault(_with_marks(problem.text), problem)
    dropped = [
        DroppedRow(problem.origin, problem.source_split, "duplicate", f"of {first.origin}")
        for problem in problems
        if (first := kept[_with_marks(problem.text)]) is not problem
    ]
    gone = {drop.origin for drop in dropped}
    return [problem for problem in problems if problem.origin not in gone], dropped


def split_problems(problems: Sequence[SourceProblem], seed: int) -> Splits:
    """Disjoint splits of problems without duplicates; ``seed`` decides.

    With few problems the three smaller splits shrink in proportion, to take at most half of the training problems and
    all held-out ones, and have at least one problem each. Raises MadrlError for fewer than one problem each and one to
    train on.
    """
    held_out = _in_line([p for p in problems if p.source_split != TRAIN], seed)
    training = _in_line([p for p in problems if p.source_split == TRAIN], seed)
    sizes = _sizes(len(held_out), len(training))
    evaluation = sizes[HOLDOUT] + sizes[VALIDATION]
    borrowed = max(0, evaluation - len(held_out))
    line = held_out[: evaluation - borrowed] + training[:borrowed]
    selected = training[borrowed : borrowed + sizes[SELECTION]]
    taken = {
        HOLDOUT: line[: sizes[HOLDOUT]],
        VALIDATION: line[sizes[HOLDOUT] :],
        SELECTION: selected,
        POOL: training[borrowed + len(selected) :],
    }
    place = {problem.origin: i for i, problem in enumerate(problems)}
    ordered = {
        split: sorted(taken[split], key=lambda p: place[p.origin]) for split in (POOL, SELECTION, VALIDATION, HOLDOUT)
    }
    return Splits(ordered, len(held_out) - (evaluation - borrowed), _notes(sizes, borrowed, len(held_out)))


def _in_line(problems: Sequence[SourceProblem], seed: int) -> list[SourceProblem]:
    return sorted(problems, key=lambda p: hashlib.sha256(f"{seed}/{normalised(p.text)}".encode()).digest())


def _sizes(held_out: int, training: int) -> dict[str, int]:
    wanted = sum(SIZES.values())
    evaluation = SIZES[HOLDOUT] + SIZES[VALIDATION]
    to_spare = training // 2
    if held_out >= evaluation:
        sizes = {**SIZES, SELECTION: min(SIZES[SELECTION], to_spare)}
    else:
        share = min(1.0, (held_out + to_spare) / wanted)
        sizes = {split: max(1, int(size * share)) for split, size in SIZES.items()}
        borrowed = max(0, sizes[HOLDOUT] + sizes[VALIDATION] - held_out)
        sizes[SELECTION] = min(sizes[SELECTION], max(1, to_spare - borrowed))
    needed = max(0, sizes[HOLDOUT] + sizes[VALIDATION] - held_out) + sizes[SELECTION] + 1
    if sizes[SELECTION] < 1 or needed > training:
        raise MadrlError(
            f"{training} training and {held_out} held-out problems are too few for a training pool, "
            f"{', '.join(SIZES)}: add problems"
        )
    return sizes


def _notes(sizes: dict[str, int], borrowed: int, held_out: int) -> list[str]:
    notes = [
        f"{split} has {sizes[split]} problems, not {size}: there are too few to choose from"
        for split, size in SIZES.items()
        if sizes[split] < size
    ]
    if borrowed:
        notes.append(
            f"the source's held-out splits have {held_out} problems: {borrowed} of its training problems stand in for "
            "the rest of validation and holdout"
        )
    return notes
