"""Every prompt template, one copy: data preparation, warm start and evaluation all take theirs from here."""

from collections.abc import Callable, Mapping, Sequence

from madrl.errors import MadrlError

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


MATH_INSTRUCTION = "Think step by step, and put the final answer in \\boxed{}."

CODE_INSTRUCTION = (
    "Think step by step, and write a complete program that reads its input from standard input and writes its answer "
    "to standard output. Give the whole program in a single fenced code block that is tagged with its language."
)
"""Asks for the tag and leaves the language open: an untagged block is harder to classify, and to run."""


def math_prompt(problem: str) -> str:
    """One GSM8K or MATH prompt: the problem, then MATH_INSTRUCTION. It names no language to answer in."""
    return f"{problem.strip()}\n\n{MATH_INSTRUCTION}"


def code_prompt(problem: str) -> str:
    """One CodeContests prompt: the problem's statement, then CODE_INSTRUCTION. It names no programming language."""
    return f"{problem.strip()}\n\n{CODE_INSTRUCTION}"


LANGUAGE_NAMES = {"en": "English", "zh": "Chinese", "es": "Spanish", "hi": "Hindi", "fr": "French"}
"""What the categories of the classifier ``language`` are called in a prompt."""

PROGRAMMING_LANGUAGE_NAMES = {
    "python": "Python", "cpp": "C++", "java": "Java", "go": "Go", "javascript": "JavaScript",
}  # fmt: skip
"""What the categories of the classifier ``programming_language`` are called in a prompt."""


def in_language(prompt: str, category: str) -> str:
    """``prompt``, asked to be answered in the natural language ``category``, a key of LANGUAGE_NAMES.

    The language is named in English, the prompts' own language. Raises MadrlError for a category without a name.
    """
    name = _name_of(category, LANGUAGE_NAMES, "language")
    return f"{prompt}\n\nSolve it in {name}: write the whole solution in {name}."


def in_programming_language(prompt: str, category: str) -> str:
    """``prompt``, asked to be answered with a program in ``category``, a key of PROGRAMMING_LANGUAGE_NAMES.

    Raises MadrlError for a category without a name.
    """
    name = _name_of(category, PROGRAMMING_LANGUAGE_NAMES, "programming language")
    return f"{prompt}\n\nSolve it in {name}: write the whole program in {name}."


def _name_of(category: str, names: Mapping[str, str], kind: str) -> str:
    if category not in names:
        raise MadrlError(f"category {category!r} is no {kind} with a name in a prompt: there are {', '.join(names)}")
    return names[category]


Naming = Callable[[str, str], str]
"""From a prompt and a category to the same prompt, asked to be answered in that category."""

NAMINGS: dict[str, Naming] = {"language": in_language, "programming_language": in_programming_language}
"""Classifier -> the prompt that names one of its categories: for the warm start, which has to reach them all."""
