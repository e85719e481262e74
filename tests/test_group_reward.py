"""GroupReward, the library: what it returns, what it takes, and what it refuses."""

import asyncio
import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

from madrl import Classification, GroupReward, MadrlError, PluginError, Rollout, Verification
from madrl.grading import threads as grading_threads

HINDI = "पहले हम दी गई बातें लिखते हैं और फिर गणना करते हैं। इसलिए उत्तर 4 है।"
SPANISH = "Primero anotamos los datos y luego calculamos paso a paso. La respuesta es 4."
ENGLISH = "First we write down what is given, then we compute. So the answer is 5."
GERMAN = "Zuerst schreiben wir auf, was gegeben ist, und rechnen dann. Die Antwort fehlt noch."


def by_first_letter(rollout: Rollout) -> str | None:
    return {"a": "left", "b": "right"}.get(rollout.response[:1])


def says_so(rollout: Rollout) -> Verification:
    if rollout.response.endswith("?"):
        raise ConnectionError("nobody knows")
    return Verification(float(rollout.response.endswith(rollout.ground_truth)))


def reward_of(**changed: Any) -> GroupReward:
    own: dict[str, Any] = {"categories": ["left", "right"], "classifier": by_first_letter, "verifier": says_so}
    return GroupReward(**{**own, "divergence": "l2", "alpha": 0.6, **changed})


def rollouts(*responses: str) -> list[Rollout]:
    return [Rollout(response, "!") for response in responses]


def test_built_in_functions_score_a_group_as_worked_by_hand() -> None:
    reward = GroupReward(
        categories=["en", "hi", "es"],
        target={"hi": 1, "es": 1},
        classifier="language",
        verifier="math",
        divergence="l2",
        alpha=0.7,
    )
    score = reward.score([Rollout(text, "4") for text in (HINDI, SPANISH, ENGLISH, GERMAN)])
    assert [grade.category for grade in score.grades] == ["hi", "es", "en", None]
    assert [grade.verdict for grade in score.grades] == ["correct", "correct", "incorrect", "incorrect"]
    # p* = (0, 1/2, 1/2), q = (1/4, 1/4, 1/4): r_div = 1/4, 1/4, -1/4 and -1 off-support.
    # 0.7 + 0.3 / 4 = 0.775 twice, 0.3 (-1/4) = -0.075, 0.3 (-1) = -0.3
    np.testing.assert_allclose(score.reward, [0.775, 0.775, -0.075, -0.3])
    np.testing.assert_allclose(score.frequency, [0.25, 0.25, 0.25])


async def test_awaited_and_not_awaited_it_says_the_same_also_inside_a_running_loop() -> None:
    reward, group = reward_of(), rollouts("a!", "b!", "a", "c")
    awaited = await reward(group)
    assert reward.score(group).reward.tolist() == awaited.reward.tolist()
    # q = (1/2, 1/4): r_div 0, 1/4, 0, -1; correct 1, 1, 0, 0.  0.6, 0.6 + 0.1, 0, -0.4
    np.testing.assert_allclose(awaited.reward, [0.6, 0.7, 0.0, -0.4], atol=1e-15)


async def test_responses_that_are_graded_one_by_one_earn_what_they_earn_together() -> None:
    reward, group = reward_of(), rollouts("a!", "b", "b!")
    grades = [await reward.grade(rollout) for rollout in group]
    assert (await reward.of_grades(grades)).reward.tolist() == (await reward(group)).reward.tolist()
    assert (await reward.of_grades(grades)).grades == tuple(grades)


def test_calls_from_several_threads_share_one_event_loop() -> None:
    grading_threads._loop.cache_clear()
    loops = set()

    async def verify(rollout: Rollout) -> bool:
        loops.add(asyncio.get_running_loop())
        return True

    reward = reward_of(verifier=verify)
    threads = [threading.Thread(target=reward.score, args=(rollouts("a", "b"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 1


def test_a_response_whose_verifier_raised_takes_the_mean_of_its_siblings() -> None:
    score = reward_of().score(rollouts("a!", "a", "b?"))
    assert [grade.correctness for grade in score.grades] == [1.0, 0.0, None]
    assert score.grades[2].reason == "verifier raised ConnectionError: nobody knows"
    assert score.correctness.tolist() == [1.0, 0.0, 0.5]


def test_a_mistake_of_a_plug_in_is_raised_with_its_name() -> None:
    reward = reward_of(classifier=lambda rollout: Classification("up"))
    with pytest.raises(PluginError, match=r"classifier .*<lambda>: category 'up' is not declared: the categories are"):
        reward.score(rollouts("a", "b"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpa": 0.7}, r"unknown argument alpa=0.7: the reward takes \['divergence', 'form', 'alpha'"),
        ({"alpha": 2}, r"alpha=2 is not a number in \[0, 1\]"),
        ({"target": {"up": 1}}, "unknown category 'up'"),
        ({"categories": ["left", "left"]}, "'left'"),
        ({"form": "gapo", "target": {"left": 1, "right": 2}}, "GAPO has no other target than uniform"),
        ({"classifier": "no_such"}, "unknown classifier 'no_such': use one of"),
        ({"verifier": 3}, "verifier 3 is a int: name a function"),
        ({"verifier": "compute_score"}, "name your own as pkg.module:name"),
    ],
)
def test_a_value_that_makes_no_sense_is_one_clear_error(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message) as error:
        reward_of(**changed)
    assert "\n" not in str(error.value)


def test_a_reward_function_as_verl_takes_it_is_a_verifier() -> None:
    def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any]) -> float:
        return 0.25 * solution_str.count(ground_truth)

    score = reward_of(verifier="compute_score", compute_score=compute_score).score(rollouts("a!", "b!!"))
    assert [grade.correctness for grade in score.grades] == [0.25, 0.5]


def test_an_empty_group_is_one_clear_error() -> None:
    with pytest.raises(MadrlError, match="an empty group has no frequencies"):
        reward_of().score([])


def leaves(rollout: Rollout) -> bool:
    sys.exit(3)


async def leaves_async(rollout: Rollout) -> bool:
    sys.exit(3)


def test_a_function_that_leaves_the_process_does_not_keep_the_caller_waiting() -> None:
    with pytest.raises(PluginError, match="leaves raised SystemExit: 3"):
        reward_of(classifier=leaves).score(rollouts("a!"))
    for verifier in (leaves, leaves_async):
        (grade,) = reward_of(verifier=verifier).score(rollouts("a!")).grades
        assert grade.correctness is None
        assert "SystemExit: 3" in grade.reason


def test_a_forked_child_scores_as_its_parent_does() -> None:
    reward = reward_of(verifier=lambda rollout: True)
    parents = reward.score(rollouts("a!", "b!")).reward.tolist()
    child = os.fork()
    if child == 0:
        os._exit(reward.score(rollouts("a!", "b!")).reward.tolist() != parents)
    assert os.waitpid(child, 0)[1] == 0


def test_a_function_that_scores_a_group_itself_is_told_to_await_it() -> None:
    async def asks_again(rollout: Rollout) -> bool:
        return bool(reward_of().score([rollout]).reward[0])

    (grade,) = reward_of(verifier=asks_again).score(rollouts("a!")).grades
    assert "write `await reward(rollouts)` there" in grade.reason


def test_a_response_whose_category_was_asked_for_earns_and_is_not_counted() -> None:
    score = reward_of().score(rollouts("a!", "a!", "b!"), hinted=[False, False, True])
    np.testing.assert_allclose(score.frequency, [1.0, 0.0])
    # alpha 0.6, l2: 0.6 + 0.4 (1/2 - 1) = 0.4 twice; at q = 1/2, as a lone one of two would, 0.6
    np.testing.assert_allclose(score.reward, [0.4, 0.4, 0.6])
