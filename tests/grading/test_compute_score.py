"""veRL's reward functions as verifiers, without veRL; tests/trainer/test_custom_reward.py loads them as veRL does."""

import asyncio
import threading
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import PluginError
from madrl.grading.verifiers import COMPUTE_SCORE, load_verifier
from madrl.rollout import Grade, Rollout

ROLLOUT = Rollout("It is 4.", "4", {"index": 3, "split": "train"}, "sums")


async def graded(function: Any) -> Grade:
    return await Grader(GraderSpec(None, COMPUTE_SCORE, ()), function).grade(ROLLOUT)


def contains(data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any]) -> bool:
    assert (data_source, extra_info["index"]) == ("sums", 3)
    return ground_truth in solution_str


async def contains_async(data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any]) -> float:
    return 0.25 if ground_truth in solution_str else 0.0


def details(**asked: Any) -> dict[str, Any]:
    return {"score": 0.5, "acc": True, "pred": "4"}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (contains, Grade(None, 1.0, queued=1)),
        (contains_async, Grade(None, 0.25, queued=1)),
        (details, Grade(None, 0.5, extra={"acc": True, "pred": "4"}, queued=1)),
    ],
)
async def test_verl_s_function_is_asked_with_verl_s_names_and_may_return_a_bool_a_number_or_a_dict(
    function: Any, expected: Grade
) -> None:
    assert await graded(function) == expected


@pytest.mark.parametrize("found", [{"acc": 1.0}, {"score": None}, {"score": "1"}, {"score": 7}, -1.0, None, "right"])
async def test_a_score_that_is_no_correctness_is_refused_with_the_remedy(found: Any) -> None:
    with pytest.raises(PluginError, match=r"verifier compute_score returned .*: return True or False, .* as 'score'"):
        await graded(lambda **asked: found)


async def test_a_function_that_raises_leaves_the_response_ungraded() -> None:
    found = await graded(lambda **asked: 1 / 0)
    assert (found.correctness, found.reason) == (None, "verifier raised ZeroDivisionError: division by zero")


async def test_a_slow_function_that_is_not_async_does_not_hold_its_siblings_up() -> None:
    everybody = threading.Barrier(16)

    def together(**asked: Any) -> bool:
        everybody.wait(600)  # each call waits for all the others
        return True

    found = await asyncio.gather(*(graded(together) for _ in range(16)))
    assert [one.correctness for one in found] == [1.0] * 16


async def test_what_the_function_does_to_its_extra_info_stays_with_it() -> None:
    def greedy(extra_info: dict[str, Any], **asked: Any) -> bool:
        extra_info.clear()
        return True

    await graded(greedy)
    assert ROLLOUT.extra_info["index"] == 3


def test_without_a_run_s_config_the_remedy_is_a_name() -> None:
    with pytest.raises(MadrlError, match=r"'compute_score' is the reward\.custom_reward_function of a run's.*pkg"):
        load_verifier(COMPUTE_SCORE)
