"""Who is asked, what is kept, and when it is enough."""

from pathlib import Path
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.grading.grader import GraderSpec
from madrl.sampling.requests import Request
from madrl.targets import uniform
from madrl.warm_start.config import WarmStart
from madrl.warm_start.sampling import Harvest, check_yield, harvests_of, next_round, normalized

CATEGORIES = ("en", "hi")


def settings(**changed: Any) -> WarmStart:
    values: dict[str, Any] = {
        "run": Path("run"),
        "data": Path("data"),
        "model": "model",
        "seed": 1,
        "naming": "language",
        "grader": GraderSpec("language", "math", CATEGORIES),
        "prompt_tokens": 60,
        "response_tokens": 40,
        "temperature": 1.0,
        "chat_template": {},
        "target": uniform(len(CATEGORIES)),
        "per_category": 10,
        "rows_per_round": 100,
        "samples_per_row": 2,
        "min_yield": 0.1,
        "epochs": 1,
        "checkpoints": 2,
        "selection_samples": 2,
        "tensor_model_parallel_size": 1,
        "sft_config": "miniature_sft",
        "sft": {"data.train_batch_size": 4},
    }
    return WarmStart(**values | changed)


def line(asked: str, text: str = "a", **changed: Any) -> dict[str, Any]:
    usable = {"row": 0, "asked": asked, "category": asked, "correct": True, "finish_reason": "stop", "response": text}
    return usable | {"prompt_tokens": 50, "response_tokens": 40} | changed


def test_a_response_is_kept_only_when_it_is_right_on_category_whole_short_and_new() -> None:
    lines = [
        line("hi", "first"),
        line("hi", "second", category="en"),
        line("hi", "third", category=None),
        line("hi", "fourth", correct=False),
        line("hi", "fifth", correct=None),
        line("hi", "nobody could say", category=None, classified=False),
        line("hi", "sixth", finish_reason="length"),
        line("hi", "seventh", prompt_tokens=101),
        line("hi", "  FIRST\n"),
        line("hi", "last", prompt_tokens=100),
        line("hi", "in part", correct=0.75),
        line("en", "first"),  # there already, in the other category
        line("hi", "first", row=1),  # another prompt
    ]
    harvest = harvests_of(lines, CATEGORIES, max_prompt_tokens=100)
    assert [kept["response"] for kept in harvest["hi"].kept] == ["first", "last", "first"]
    # on category: all but three, the lost one among them; correct: of these all but the fourth, the fifth and the last
    assert harvest["hi"].facts() == {
        "asked": 12, "on_category": 9, "correct": 6, "cut_off": 1, "kept": 3, "yield": 3 / 12, "ungraded": 2,
    }  # fmt: skip
    assert harvest["en"].facts()["kept"] == 0


def test_texts_count_as_the_same_whatever_their_white_space_case_and_digits_forms() -> None:
    assert normalized("Die Antwort  ist\n\\boxed{１２}") == normalized("die antwort ist \\boxed{12} ")
    assert normalized("12 + 1") != normalized("12 + 2")


def test_the_first_round_asks_the_same_rows_for_every_category() -> None:
    asked = next_round(harvests_of([], CATEGORIES, 100), rows=[5, 3, 4], settings=settings(rows_per_round=2))
    assert asked == [Request(5, "en", 0), Request(3, "en", 0), Request(5, "hi", 0), Request(3, "hi", 0)]


def test_a_category_that_has_enough_is_asked_no_more_and_the_others_where_they_stopped() -> None:
    lines = [line("en", f"en {i}") for i in range(10)] + [line("hi", f"hi {i}", correct=i < 4) for i in range(10)]
    asked = next_round(harvests_of(lines, CATEGORIES, 100), rows=range(1000), settings=settings())
    assert {request.asked for request in asked} == {"hi"}
    assert asked[0] == Request(10, "hi", 0)
    # 6 are missing, and about 5 of 11 were usable: 1.1 * 6 * 11 / 5 = 14.5; a round has 64 at least
    assert len(asked) == 64
    rare = [line("hi", f"hi {i}", correct=i < 1) for i in range(64)]  # 1.1 * 9 * 65 / 2 = 321.75
    asked = next_round(harvests_of(rare, CATEGORIES, 100), rows=range(1000), settings=settings(rows_per_round=400))
    assert sum(request.asked == "hi" for request in asked) == 322


def test_rows_are_asked_again_up_to_the_limit_and_then_it_ends() -> None:
    wrong = [line("hi", correct=False) for _ in range(3)] + [line("en", f"{i}") for i in range(10)]
    asked = next_round(harvests_of(wrong, CATEGORIES, 100), rows=[5, 3], settings=settings())
    assert asked == [Request(3, "hi", 1)]  # 5 and 3, 5 again; this is the fourth question
    wrong.append(line("hi", correct=False))
    assert next_round(harvests_of(wrong, CATEGORIES, 100), rows=[5, 3], settings=settings()) == []


def test_a_category_below_the_minimum_yield_is_an_error_with_its_numbers_and_remedies() -> None:
    good, bad = Harvest(100), Harvest(100)
    for i in range(40):
        good.add(line("en", f"{i}"), set())
        bad.add(line("hi", f"{i}", category="hi" if i < 20 else "en", correct=i < 3), set())
    check_yield({"en": good, "hi": bad}, settings(min_yield=0.07))  # 3 of 40 are 7.5 %
    with pytest.raises(MadrlError) as error:
        check_yield({"en": good, "hi": bad}, settings(min_yield=0.08))
    assert "category 'hi': of 40 responses asked for in it 20 were, 3 of these correct, 3 usable" in str(error.value)
    assert "a yield of 7.5%, below warm_start.min_yield=8.0%. Use a stronger base model" in str(error.value)


def test_an_error_says_when_right_responses_were_cut_off() -> None:
    harvest = Harvest(100)
    for i in range(40):
        harvest.add(line("hi", f"{i}", finish_reason="length" if i < 39 else "stop"), set())
    with pytest.raises(MadrlError) as error:
        check_yield({"hi": harvest}, settings())
    assert "40 of these correct, 1 usable (39 were cut off): a yield of 2.5%" in str(error.value)
    assert "Allow longer ones (warm_start.response_tokens=40 now), use a stronger base model" in str(error.value)


def test_a_category_without_any_usable_response_is_an_error_even_without_a_minimum() -> None:
    with pytest.raises(MadrlError, match="category 'hi': of 0 responses"):
        check_yield({"hi": Harvest(100)}, settings(min_yield=0.0))


@pytest.mark.parametrize(
    ("epochs", "responses", "checkpoints", "expected"),
    [(2, 5000, 5, (155, 31)), (4, 800, 4, (100, 25)), (1, 4, 5, (5, 1))],
)
def test_the_checkpoints_divide_the_steps(
    epochs: int, responses: int, checkpoints: int, expected: tuple[int, int]
) -> None:
    """2 * 5000 / 64 = 156.25, of which a fifth is 31.25."""
    size = {5000: 64, 800: 32, 4: 4}[responses]
    made = settings(epochs=epochs, checkpoints=checkpoints, sft={"data.train_batch_size": size})
    assert made.steps(responses) == expected
