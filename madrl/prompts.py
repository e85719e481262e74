"""The prompts of SYNTHETIC, and how a prompt asks for a category by name (a naming)."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from madrl.errors import MadrlError
from madrl.grading.choice import CHOICE_CATEGORIES, choice_key
from madrl.grading.plugins import load_plugin
from madrl.tasks import LANGUAGE_NAMES, PROGRAMMING_LANGUAGE_NAMES

if TYPE_CHECKING:
    from madrl.schema import Message

CHOICE_QUESTIONS = (
    "Name one of the five {topic}.",
    "Which of the five {topic} comes to mind?",
    "Pick one of the five {topic}.",
    "Tell me one of the five {topic}.",
    "What is one of the five {topic}?",
    "Choose any one of the five {topic}.",
    "If you had to pick one of the five {topic}, which would it be?",
    "There are five {topic}. Which one do you choose?",
    "Think of the five {topic} and select one of them.",
    "I am thinking of one of the five {topic}. Guess which one.",
)
"""SYNTHETIC's ten templates. The paper quotes the first two; the rest are ours. ``topic`` is a plural noun phrase."""

CHOICE_OPTIONS_CLAUSE = " The options are: {options}."
"""What the closed form says and the open form leaves out."""

CHOICE_INSTRUCTION = " Answer with the name only."
"""Ends every SYNTHETIC prompt: a chat model would otherwise explain its choice, and name other options in doing so."""


def choice_prompt(topic: str, template: int, options: Sequence[str] | None) -> str:
    """One SYNTHETIC prompt (paper section "Tasks and Datasets").

    ``options`` gives the closed form, listed in that order; None gives the open form, which is the same text without
    the options clause. ``template`` indexes CHOICE_QUESTIONS. Raises MadrlError for a template that does not exist
    and for an empty list of options.
    """
    if not 0 <= template < len(CHOICE_QUESTIONS):
        raise MadrlError(f"choice template {template} does not exist: use 0 to {len(CHOICE_QUESTIONS) - 1}")
    if options is not None and not options:
        raise MadrlError(f"no options for topic {topic!r}: list them, or pass None for the open form")
    clause = "" if options is None else CHOICE_OPTIONS_CLAUSE.format(options=", ".join(options))
    return CHOICE_QUESTIONS[template].format(topic=topic) + clause + CHOICE_INSTRUCTION


def naming_the_option(prompt: str, category: str, ground_truth: str) -> str:
    """A SYNTHETIC ``prompt``, asked to be answered with the option of the rank ``category``, by that option's name.

    Raises MadrlError for a category that is no rank and for a row that is not SYNTHETIC's.
    """
    options = dict(zip(CHOICE_CATEGORIES, choice_key(ground_truth).options, strict=True))
    if category not in options:
        raise MadrlError(f"category {category!r} is no rank of an option: there are {', '.join(options)}")
    return f"{prompt} Answer: {options[category]}."


def in_language(prompt: str, category: str) -> str:
    """``prompt``, asked to be answered in the natural language ``category``, a key of LANGUAGE_NAMES.

    The language is named in English, the prompts' own language. Raises MadrlError for a category without a name.
    """
    return _solve_in(prompt, category, LANGUAGE_NAMES, "language", "solution")


def in_programming_language(prompt: str, category: str) -> str:
    """``prompt``, asked to be answered with a program in ``category``, a key of PROGRAMMING_LANGUAGE_NAMES.

    Raises MadrlError for a category without a name.
    """
    return _solve_in(prompt, category, PROGRAMMING_LANGUAGE_NAMES, "programming language", "program")


def _solve_in(prompt: str, category: str, names: Mapping[str, str], kind: str, what: str) -> str:
    if category not in names:
        raise MadrlError(f"category {category!r} is no {kind} with a name in a prompt: there are {', '.join(names)}")
    return f"{prompt}\n\nSolve it in {names[category]}: write the whole {what} in {names[category]}."


Naming = Callable[[str, str, str], str]
"""From a prompt, a category and the row's ground truth to the same prompt, asked to be answered in that category. One
that has no use for the ground truth takes two arguments (``load_naming``)."""

NAMINGS: dict[str, Callable[..., str]] = {
    "language": in_language,
    "programming_language": in_programming_language,
    "option": naming_the_option,
}
"""The namings that a task, and the key ``madrl.naming`` of a config, can choose from."""


def asking_for(category: str, prompt: Sequence["Message"], ground_truth: str, naming: Naming) -> list["Message"]:
    """The turns of ``prompt``, the last one asking for ``category``; ``ground_truth`` is the row's.

    Raises MadrlError when the naming does not return text.
    """
    turns: list[Message] = [{"role": turn["role"], "content": turn["content"]} for turn in prompt]
    last = turns[-1]
    named: object = naming(last["content"], category, ground_truth)
    if not isinstance(named, str):
        raise MadrlError(f"the naming returned {named!r} for category {category!r}: return the prompt as a str")
    return [*turns[:-1], {"role": last["role"], "content": named}]


def load_naming(spec: str) -> Naming:
    """The naming that ``spec`` names: a key of NAMINGS, or ``pkg.module:name``.

    Raises MadrlError when there is none, and when what it names cannot be called.
    """
    found: Callable[..., str] = load_plugin(spec, NAMINGS, "naming")
    return found if names_by_row(spec) else lambda prompt, category, ground_truth: found(prompt, category)


def names_by_row(spec: str) -> bool:
    """Whether the naming that ``spec`` names takes the row's ground truth. Raises as ``load_naming``."""
    try:
        inspect.signature(load_plugin(spec, NAMINGS, "naming")).bind("prompt", "category", "ground truth")
    except TypeError:
        return False
    return True
