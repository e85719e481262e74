import json

import pytest

from madrl.grading.choice import verify_listed_option
from madrl.rollout import Rollout, Verification

SAUCES = json.dumps(["béchamel", "espagnole", "hollandaise", "tomato", "velouté"])


@pytest.mark.parametrize("option", json.loads(SAUCES))
async def test_every_listed_option_is_correct(option: str) -> None:
    assert await verify_listed_option(Rollout(f"**{option}**", SAUCES)) == Verification(1.0, option)


async def test_the_answer_is_spelled_as_in_the_data() -> None:
    assert (await verify_listed_option(Rollout("Bechamel sauce.", SAUCES))).answer == "béchamel"


@pytest.mark.parametrize(
    ("response", "reason"),
    [("mayonnaise", "no listed option"), ("tomato or velouté", "names 2 options"), (" ", "empty")],
)
async def test_anything_else_is_incorrect_for_the_classifiers_reason(response: str, reason: str) -> None:
    assert await verify_listed_option(Rollout(response, SAUCES)) == Verification(0.0, None, reason)


async def test_a_broken_ground_truth_is_ungraded_and_never_wrong() -> None:
    found = await verify_listed_option(Rollout("tomato", "tomato"))
    assert (found.correctness, found.answer) == (None, None)
    assert "not a JSON list of 5 strings" in found.reason
