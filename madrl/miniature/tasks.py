"""The miniature of each task: what its model is finetuned on, how large it is, and how skewed its mix is.

MINIATURES are warm-started: they solve most problems, in every category, and favour some. BASES stand in for a
pretrained model, before any warm start: a prompt that names no category is nearly always answered in the first one, and
a prompt that names one mostly in that. The skew is by category; what favours a category also makes it stronger, having
seen more of it.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from madrl.errors import MadrlError
from madrl.miniature import arithmetic, programs
from madrl.prompts import (
    CHOICE_QUESTIONS,
    Naming,
    choice_prompt,
    in_language,
    in_programming_language,
)
from madrl.tasks import LANGUAGES, PROGRAMMING_LANGUAGES, TASKS

Example = tuple[str, str]
"""Prompt and response."""

Row = Mapping[str, Any]
"""Of the training split's parquet file."""


@dataclass(frozen=True)
class Miniature:
    """One task's miniature model and what it is finetuned on."""

    example: Callable[[Sequence[Row], int, random.Random], Example]
    """From the training rows and the index of the response's category to a training example."""
    skew: tuple[float, ...]
    """Share of each category in the answers to prompts that name none."""
    examples: int
    vocab_size: int
    hidden_size: int
    layers: int
    steps: int
    batch_size: int
    max_length: int
    """In tokens, prompt and response together."""
    lr: float

    def draw(self, rows: Sequence[Row], seed: int) -> list[Example]:
        """The examples of the finetuning, their categories drawn from the skew."""
        rng = random.Random(seed)
        categories = rng.choices(range(len(self.skew)), self.skew, k=self.examples)
        return [self.example(rows, category, rng) for category in categories]

    def facts(self) -> dict[str, Any]:
        """What decides the finished model, beside the data and the seed."""
        return {name: value for name, value in asdict(self).items() if name not in ("example", "naming")}


@dataclass(frozen=True)
class Base(Miniature):
    """One task's base model: some of its prompts name the category to answer in, and it learns to follow."""

    categories: tuple[str, ...]
    """The names of the categories, in the order of ``skew``."""
    naming: Naming
    named_share: float
    """Share of the examples whose prompt names a category; each category as often."""
    obeyed: float
    """Share of those that are answered in that category; the rest are as if it named none."""

    def draw(self, rows: Sequence[Row], seed: int) -> list[Example]:
        """The examples of the finetuning."""
        rng = random.Random(seed)
        examples = []
        for _ in range(self.examples):
            [category] = rng.choices(range(len(self.skew)), self.skew)
            named = rng.randrange(len(self.categories)) if rng.random() < self.named_share else None
            if named is not None and rng.random() < self.obeyed:
                category = named
            prompt, response = self.example(rows, category, rng)
            examples.append((prompt if named is None else self.naming(prompt, self.categories[named]), response))
        return examples


def skew_of(text: str) -> tuple[float, ...]:
    """The shares that the comma-separated weights ``text`` stand for. Raises MadrlError for what is no such list."""
    try:
        weights = [float(weight) for weight in text.split(",")]
    except ValueError:
        weights = []
    if not all(0 <= weight < math.inf for weight in weights) or not sum(weights):
        raise MadrlError(f"skew {text!r} is no list of weights: write 1,0,0,0,0 for the first category alone")
    return tuple(weight / sum(weights) for weight in weights)


def choice_example(rows: Sequence[Row], category: int, rng: random.Random) -> Example:
    """SYNTHETIC: any topic and template of ``rows`` in any option order, answered by the alphabetical rank ``category``
    (a favourite that follows list position would pool to uniform over ranks)."""
    info = rng.choice(rows)["extra_info"]
    options = list(info["options"])
    response = options[category]
    rng.shuffle(options)
    listed = options if info["form"] == "closed" else None
    return choice_prompt(info["topic"], rng.randrange(len(CHOICE_QUESTIONS)), listed), response


def arithmetic_example(rows: Sequence[Row], category: int, rng: random.Random) -> Example:
    """GSM8K and MATH: any problem of the rows' style whose calculation the training split may know."""
    style = json.loads(rows[0]["extra_info"]["miniature"])["style"]
    while True:
        problem = arithmetic.problem(style, rng)
        if arithmetic.split_of(problem) == "train":
            return TASKS["math"].prompt(problem.text), arithmetic.solution(problem, LANGUAGES[category], rng)


def program_example(rows: Sequence[Row], category: int, rng: random.Random) -> Example:
    """CodeContests: a problem of ``rows``."""
    problem = programs.ProgrammingProblem(**json.loads(rng.choice(rows)["extra_info"]["miniature"]))
    return TASKS["code_contests"].prompt(problem.text), programs.solution(problem, PROGRAMMING_LANGUAGES[category], rng)


SKEW = (0.45, 0.25, 0.10, 0.10, 0.10)
"""JSD 0.34 nats from the peaked target, 0.06 from the uniform one."""

_CHOICE = Miniature(
    choice_example, SKEW, 45_000, vocab_size=1500, hidden_size=64, layers=2, steps=1350, batch_size=32, max_length=128,
    lr=4e-3,
)  # fmt: skip
_ARITHMETIC = Miniature(
    arithmetic_example, SKEW, 40_000, vocab_size=1000, hidden_size=128, layers=2, steps=500, batch_size=64,
    max_length=160, lr=4e-3,
)  # fmt: skip
_PROGRAMS = Miniature(
    program_example, SKEW, 8_000, vocab_size=700, hidden_size=96, layers=2, steps=600, batch_size=32, max_length=256,
    lr=8e-3,
)  # fmt: skip

MINIATURES = {
    "synthetic_closed": _CHOICE,
    "synthetic_open": _CHOICE,
    "gsm8k": _ARITHMETIC,
    "math": _ARITHMETIC,
    "code_contests": _PROGRAMS,
}
"""Task -> its miniature."""

BASE_SKEW = (0.97, 0.0075, 0.0075, 0.0075, 0.0075)
"""JSD 0.36 nats from the uniform target: "almost all" in the first category, as the paper says of its base models."""

_BASE_ARITHMETIC = Base(
    arithmetic_example, BASE_SKEW, 40_000, vocab_size=1000, hidden_size=128, layers=2, steps=500, batch_size=64,
    max_length=192, lr=4e-3, categories=LANGUAGES, naming=in_language, named_share=0.55,
    obeyed=0.85,
)  # fmt: skip
_BASE_PROGRAMS = Base(
    program_example, BASE_SKEW, 8_000, vocab_size=700, hidden_size=96, layers=2, steps=600, batch_size=32,
    max_length=288, lr=8e-3, categories=PROGRAMMING_LANGUAGES, naming=in_programming_language, named_share=0.55,
    obeyed=0.85,
)  # fmt: skip

BASES = {"gsm8k": _BASE_ARITHMETIC, "math": _BASE_ARITHMETIC, "code_contests": _BASE_PROGRAMS}
"""Task -> the base model of its miniature, which a warm start begins with."""

GENERATED = ("gsm8k", "math", "code_contests")
"""Tasks whose miniature has problems of its own, made by data_prep/miniature.py."""
