import math
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.rollout import Grade, Rollout, Verdict, Verification, is_correctness


@pytest.mark.parametrize(
    ("correctness", "verdict"),
    [
        (None, "ungraded"),
        (0.0, "incorrect"),
        (False, "incorrect"),
        (0.25, "partial"),
        (1.0, "correct"),
        (True, "correct"),
    ],
)
def test_a_verdict_is_the_correctness_in_a_word(correctness: float | None, verdict: str) -> None:
    assert Verdict.of(correctness) == verdict
    assert Verification(correctness).verdict == Grade("en", correctness).verdict == verdict


@pytest.mark.parametrize("value", [None, True, False, 0, 1, 0.5])
def test_correctness_is_a_number_in_0_to_1_or_none(value: object) -> None:
    assert is_correctness(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, 2, math.nan, math.inf, "1", [1], {}])
def test_anything_else_is_no_correctness(value: object) -> None:
    assert not is_correctness(value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((None, "7"), "response None of a rollout is no text: give what the model wrote"),
        (
            ([{"role": "assistant", "content": "7"}], "7"),
            r"response \[\{.*\}\] of a rollout is no text: .*last message",
        ),
        (("7", 7), r"ground_truth 7 of a rollout is no text: store it as text, such as str\(7\)"),
        (("7", "7", None), "extra_info None of a rollout is no mapping: leave it out"),
        (("7", "7", {}, 3), "data_source 3 of a rollout is no text: name the dataset and split, or leave it out"),
    ],
)
def test_a_rollout_of_anything_but_text_is_one_clear_error(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        Rollout(*values)
