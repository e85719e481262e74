"""The miniature of each task: what its model is finetuned on, how large it is, and how skewed its mix is.

A miniature is warm-started: it solves most problems, in every category, and favours some. Its base stands in for a
pretrained model, before any warm start: a prompt that names no category is nearly always answered in the first one, and
a prompt that names one mostly in that. The skew is by category; what favours a category also makes it stronger, having
seen more of it.
"""

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from madrl.errors import MadrlError
from madrl.files import sha256_of
from madrl.miniature import arithmetic, programs
from madrl.prompts import CHOICE_QUESTIONS, asking_for, choice_prompt, load_naming
from madrl.records import read
from madrl.tasks import LANGUAGES, PROGRAMMING_LANGUAGES, TASKS, Task, checked_size

if TYPE_CHECKING:
    from madrl.schema import Message

Example = tuple["str | list[Message]", str]
"""A prompt, which is text or the turns before the response, and its response."""

Rows = Sequence[Mapping[str, Any]]
"""The training split, in veRL's columns."""


@dataclass(frozen=True)
class Miniature:
    """One task's miniature model and what it is finetuned on."""

    example: Callable[[Rows, int, random.Random], Example]
    """From the training rows and the index of the response's category to a training example."""
    skew: tuple[float, ...]
    """Share of each category in the answers to prompts that name none."""
    draws: int
    """How many examples are drawn."""
    vocab_size: int
    hidden_size: int
    layers: int
    steps: int
    batch_size: int
    max_length: int
    """How many tokens prompt and response have together at most."""
    lr: float
    naming: str | None = None
    """How some of the prompts ask for a category, in a base; None where no prompt does."""
    categories: tuple[str, ...] = ()
    """The names of the categories that they ask for, in the order of ``skew``."""
    named_share: float = 0.55
    """Share of a base's examples whose prompt names a category; each category as often."""
    obeyed: float = 0.85
    """Share of those that are answered in that category; the rest are as if it named none."""
    source: str = ""
    """The SHA-256 of the user's own examples."""

    def draw(self, rows: Rows, seed: int) -> list[Example]:
        """The examples of the finetuning, their categories drawn from the skew."""
        rng = random.Random(seed)
        indices = range(len(self.skew))
        if self.naming is None:
            return [self.example(rows, category, rng) for category in rng.choices(indices, self.skew, k=self.draws)]
        naming = load_naming(self.naming)
        examples = []
        for _ in range(self.draws):
            [category] = rng.choices(indices, self.skew)
            named = rng.randrange(len(self.categories)) if rng.random() < self.named_share else None
            if named is not None and rng.random() < self.obeyed:
                category = named
            prompt, response = self.example(rows, category, rng)
            if named is not None:
                asked = asking_for(self.categories[named], turns_of(prompt), "", naming)
                prompt = asked[-1]["content"] if isinstance(prompt, str) else asked
            examples.append((prompt, response))
        return examples

    def facts(self) -> dict[str, Any]:
        """What decides the finished model, beside the data and the seed."""
        return {name: value for name, value in asdict(self).items() if name != "example"}


def turns_of(prompt: "str | list[Message]") -> "list[Message]":
    """The prompt as turns: a text is the user's only one."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def skew_of(text: str) -> tuple[float, ...]:
    """The shares that the comma-separated weights ``text`` stand for. Raises MadrlError for what is no such list."""
    try:
        weights = [float(weight) for weight in text.split(",")]
    except ValueError:
        weights = []
    if not all(0 <= weight < math.inf for weight in weights) or not sum(weights):
        raise MadrlError(f"skew {text!r} is no list of weights: write 1,0,0,0,0 for the first category alone")
    return tuple(weight / sum(weights) for weight in weights)


def choice_example(rows: Rows, category: int, rng: random.Random) -> Example:
    """SYNTHETIC: any topic and template of ``rows`` in any option order, answered by the alphabetical rank ``category``
    (a favourite that follows list position would pool to uniform over ranks)."""
    info = rng.choice(rows)["extra_info"]
    options = list(info["options"])
    response = options[category]
    rng.shuffle(options)
    listed = options if info["form"] == "closed" else None
    return choice_prompt(info["cluster"], rng.randrange(len(CHOICE_QUESTIONS)), listed), response


def arithmetic_example(rows: Rows, category: int, rng: random.Random) -> Example:
    """GSM8K and MATH: any problem of the rows' style whose calculation the training split may know."""
    style = json.loads(rows[0]["extra_info"]["miniature"])["style"]
    while True:
        problem = arithmetic.problem(style, rng)
        if arithmetic.split_of(problem) == "train":
            return TASKS["math"].prompt(problem.text), arithmetic.solution(problem, LANGUAGES[category], rng)


def program_example(rows: Rows, category: int, rng: random.Random) -> Example:
    """CodeContests: a problem of ``rows``."""
    problem = programs.ProgrammingProblem(**json.loads(rng.choice(rows)["extra_info"]["miniature"]))
    return TASKS["code_contests"].prompt(problem.text), programs.solution(problem, PROGRAMMING_LANGUAGES[category], rng)


SKEW = (0.45, 0.25, 0.10, 0.10, 0.10)
"""JSD 0.34 nats from the peaked target, 0.06 from the uniform one."""

BASE_REST = 0.03
"""The share of all categories but the first in a base. With five, the mix is 0.36 nats of JSD from the uniform target:
"almost all" in the first category, as the paper says of its base models."""

NAMING_TOKENS = 32
"""Room in ``max_length`` for the sentence that names a category."""

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
"""The miniatures of the paper's tasks."""


def miniature_of(task: Task, base: bool = False, skew: tuple[float, ...] | None = None) -> Miniature:
    """The miniature of ``task``, or its base, with ``skew`` in place of its own.

    Raises MadrlError when the task has none, and for a skew that has not a share for each category.
    """
    if base and (task.naming is None or task.is_synthetic):
        raise MadrlError(f"task {task.name} has no base: no prompt of its miniature asks for a category (naming)")
    if skew is not None and len(skew) != len(task.categories):
        raise MadrlError(f"a skew of {len(skew)} weights: task {task.name} has {len(task.categories)} categories")
    if base and skew is None:
        rest = len(task.categories) - 1
        skew = (1 - BASE_REST, *[BASE_REST / rest] * rest) if rest else (1.0,)
    found = MINIATURES.get(task.name) or _own_miniature(task, skew is not None)
    if skew is not None:
        found = replace(found, skew=skew)
    if base:
        length = found.max_length + NAMING_TOKENS
        found = replace(found, naming=task.naming, categories=task.categories, max_length=length)
    return found


def _own_miniature(task: Task, by_category: bool) -> Miniature:
    """The miniature that a task file describes. Its mix is that of the file ``examples``, or by category."""
    settings = dict(task.miniature or {})
    if task.file is None or "examples" not in settings:
        raise MadrlError(f"task {task.name} has no miniature: give it one, with its examples, in its task file")
    path = task.file.parent / str(settings.pop("examples"))
    if unknown := sorted(settings.keys() - SIZES.keys()):
        raise MadrlError(f"{task.file}: unknown field miniature.{unknown[0]}: there are examples, {', '.join(SIZES)}")
    settings = {name: checked_size(f"{task.file}: miniature", name, value) for name, value in settings.items()}
    groups: dict[Any, list[Example]] = defaultdict(list)
    for line in read(path, ("prompt", "response", *["category"] * by_category)):
        groups[line.get("category") if by_category else None].append((line["prompt"], line["response"]))
    names = task.categories if by_category else (None,)
    if missing := [name for name in names if not groups[name]]:
        what = f"of category {missing[0]!r}, which a base or a skew draws by" if by_category else "in it"
        raise MadrlError(f"{path}: there is no example {what}")
    tiny = task.sizes["tiny"]
    length = int(tiny["prompt_tokens"] + tiny["response_tokens"]) + NAMING_TOKENS
    sizes: dict[str, Any] = {**SIZES, "max_length": length, **settings}
    return Miniature(
        lambda rows, category, rng: rng.choice(groups[names[category]]), (1.0,), source=sha256_of(path), **sizes
    )


SIZES = {
    "draws": 10_000, "vocab_size": 700, "hidden_size": 64, "layers": 2, "steps": 500, "batch_size": 32,
    "max_length": 0, "lr": 4e-3,
}  # fmt: skip
"""The sizes of a user's own miniature that its task file may set; ``max_length`` follows from the task's."""
