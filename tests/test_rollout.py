import math

import pytest

from madrl.rollout import Grade, Verdict, Verification, is_correctness


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
