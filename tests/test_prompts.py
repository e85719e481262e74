import string

import pytest

from madrl.errors import MadrlError
from madrl.prompts import CHOICE_QUESTIONS, choice_prompt

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
