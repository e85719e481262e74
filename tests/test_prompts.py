import re
import string
from collections.abc import Callable

import pytest

from madrl.errors import MadrlError
from madrl.grading.choice import choice_ground_truth
from madrl.prompts import (
    CHOICE_QUESTIONS,
    NAMINGS,
    choice_prompt,
    in_language,
    in_programming_language,
    naming_the_option,
)
from madrl.tasks import LANGUAGE_NAMES, PROGRAMMING_LANGUAGE_NAMES, TASKS

OCEANS = ["Pacific", "Atlantic", "Indian", "Southern", "Arctic"]
TEMPLATES = range(len(CHOICE_QUESTIONS))


def test_closed_prompt_lists_the_options_in_the_given_order() -> None:
    assert choice_prompt("oceans", 0, OCEANS) == (
        "Name one of the five oceans. The options are: Pacific, Atlantic, Indian, Southern, Arctic. "
        "Answer with the name only."
    )


def test_open_prompt_lists_none() -> None:
    assert choice_prompt("oceans", 1, None) == "Which of the five oceans comes to mind? Answer with the name only."


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_two_forms_differ_only_in_the_options_clause(template: int) -> None:
    clause = " The options are: Pacific, Atlantic, Indian, Southern, Arctic."
    closed = choice_prompt("oceans", template, OCEANS)
    assert closed.count(clause) == 1
    assert closed.replace(clause, "") == choice_prompt("oceans", template, None)


def test_there_are_ten_distinct_questions_with_the_papers_two_among_them() -> None:
    assert len(set(CHOICE_QUESTIONS)) == 10
    assert {"Name one of the five {topic}.", "Which of the five {topic} comes to mind?"} < set(CHOICE_QUESTIONS)


@pytest.mark.parametrize("question", CHOICE_QUESTIONS)
def test_a_question_takes_the_topic_once_and_nothing_else(question: str) -> None:
    assert [field for _, field, _, _ in string.Formatter().parse(question) if field is not None] == ["topic"]
    assert question[-1] in ".?"


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_prompt_ends_by_asking_for_the_name_alone(template: int) -> None:
    for options in (OCEANS, None):
        assert choice_prompt("oceans", template, options).endswith(" Answer with the name only.")


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_prompt_stays_short(template: int) -> None:
    assert len(choice_prompt("oceans", template, OCEANS)) < 160


@pytest.mark.parametrize("template", [-1, 10])
def test_a_template_that_does_not_exist_is_refused(template: int) -> None:
    with pytest.raises(MadrlError, match=f"choice template {template} does not exist: use 0 to 9"):
        choice_prompt("oceans", template, None)


def test_an_empty_list_of_options_is_refused() -> None:
    with pytest.raises(MadrlError, match="no options for topic 'oceans': list them, or pass None for the open form"):
        choice_prompt("oceans", 0, [])


# The real tasks.

CATEGORIES = (
    r"english|chinese|mandarin|spanish|hindi|french|python|c\+\+|cpp|java|javascript|golang|\bgo\b|\bjs\b|\bnode\b"
)


@pytest.mark.parametrize("prompt", [TASKS["math"].prompt, TASKS["code_contests"].prompt])
def test_a_prompt_is_the_problem_and_an_instruction_that_names_no_category(prompt: Callable[[str], str]) -> None:
    problem = "Add $1$ and $1$. {braces} stay."
    text = prompt(f"\n{problem} \n")
    assert text.startswith(f"{problem}\n\n")
    assert not re.search(CATEGORIES, text, re.IGNORECASE)


def test_a_math_prompt_asks_for_steps_and_a_boxed_answer() -> None:
    assert TASKS["gsm8k"].prompt("1 + 1?") == "1 + 1?\n\nThink step by step, and put the final answer in \\boxed{}."


def test_a_code_prompt_asks_for_one_block_that_reads_stdin_and_writes_stdout() -> None:
    assert TASKS["code_contests"].prompt("Add.") == (
        "Add.\n\n"
        "Think step by step, and write a complete program that reads its input from standard input and writes its "
        "answer to standard output. Give the whole program in a single fenced code block that is tagged with its "
        "language."
    )


# The warm start's prompts, which name the category to answer in.


@pytest.mark.parametrize(
    ("category", "name"),
    [("en", "English"), ("zh", "Chinese"), ("es", "Spanish"), ("hi", "Hindi"), ("fr", "French")],
)
def test_a_prompt_in_a_language_is_the_prompt_and_that_language_s_name(category: str, name: str) -> None:
    prompt = TASKS["gsm8k"].prompt("1 + 1?")
    asked = in_language(prompt, category)
    assert asked == f"{prompt}\n\nSolve it in {name}: write the whole solution in {name}."
    assert set(re.findall(CATEGORIES, asked, re.IGNORECASE)) == {name}


@pytest.mark.parametrize(
    ("category", "name"),
    [("python", "Python"), ("cpp", "C++"), ("java", "Java"), ("go", "Go"), ("javascript", "JavaScript")],
)
def test_a_prompt_in_a_programming_language_is_the_prompt_and_its_name(category: str, name: str) -> None:
    prompt = TASKS["code_contests"].prompt("Add.")
    asked = in_programming_language(prompt, category)
    assert asked == f"{prompt}\n\nSolve it in {name}: write the whole program in {name}."


def test_every_category_of_the_classifiers_has_a_name_of_its_own() -> None:
    for names in (LANGUAGE_NAMES, PROGRAMMING_LANGUAGE_NAMES):
        assert len(set(names.values())) == len(names)
    assert set(NAMINGS) == {"language", "programming_language", "option"}


def test_an_option_is_asked_for_by_its_name_whether_the_prompt_lists_it_or_not() -> None:
    row = choice_ground_truth(["Indian", "Arctic", "Pacific", "Southern", "Atlantic"])
    for options in (None, ["Pacific", "Arctic", "Indian", "Atlantic", "Southern"]):
        prompt = choice_prompt("oceans", 0, options)
        assert naming_the_option(prompt, "rank_1", row) == f"{prompt} Answer: Arctic."
        assert naming_the_option(prompt, "rank_5", row) == f"{prompt} Answer: Southern."
    with pytest.raises(MadrlError, match="category 'rank_6' is no rank of an option: there are rank_1, "):
        naming_the_option("Name one.", "rank_6", row)
    with pytest.raises(MadrlError, match="is not a JSON list of 5 strings"):
        naming_the_option("Name one.", "rank_1", "42")


@pytest.mark.parametrize(("naming", "kind"), [(in_language, "language"), (in_programming_language, "programming")])
def test_a_category_without_a_name_is_refused(naming: Callable[[str, str], str], kind: str) -> None:
    with pytest.raises(MadrlError, match=f"category 'klingon' is no {kind}.* with a name in a prompt: there are "):
        naming("Add.", "klingon")
