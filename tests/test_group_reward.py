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


def test_a_response_whose_classifier_raised_is_counted_nowhere_and_earns_what_its_siblings_do() -> None:
    def classify(rollout: Rollout) -> str | None:
        if rollout.response == "lost!":
            raise TimeoutError
        return by_first_letter(rollout)

    score = reward_of(classifier=classify).score(rollouts("a!", "a!", "b!", "lost!"))
    np.testing.assert_allclose(score.frequency, [2 / 3, 1 / 3])  # of the three
    # alpha 0.6, l2: r_div 1/2 - 2/3 = -1/6 twice, 1/6, and their mean, -1/18
    np.testing.assert_allclose(score.divergence_reward, [-1 / 6, -1 / 6, 1 / 6, -1 / 18])
    np.testing.assert_allclose(score.reward, 0.6 + 0.4 * score.divergence_reward)
    assert [grade.classified for grade in score.grades] == [True, True, True, False]


def test_plug_ins_get_their_arguments_and_the_declared_categories() -> None:
    def first(rollout: Rollout, categories: tuple[str, ...], offset: int = 0) -> str:
        return categories[offset]

    reward = reward_of(
        classifier=first,
        classifier_args={"offset": 1},
        verifier=lambda rollout, part: part,
        verifier_args={"part": 0.25},
    )
    (grade,) = reward.score(rollouts("a!")).grades
    assert (grade.category, grade.correctness) == ("right", 0.25)


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
        ({"verifier_args": {"part": 1}}, r":says_so has no argument 'part': it takes none \(verifier_args\)"),
        ({"verifier": "compute_score"}, "name your own as pkg.module:name"),
        (
            {"compute_score": by_first_letter},
            r"compute_score=\S+:by_first_letter would not be called with verifier=\S+:says_so: set verifier=",
        ),
        ({"classifier": None}, r"classifier None names no category: use one of \['choice', 'field'"),
        (
            {"attributes": {"length": {"classifier": "length", "categories": ["short", "long"]}}},
            r"attribute length: classifier length needs the argument 'unit': set classifier_args=\{unit: ...\}",
        ),
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


@pytest.mark.parametrize("group", [["a!"], [None], [("a!", "!")]])
def test_what_is_no_rollout_is_one_clear_error(group: Any) -> None:
    with pytest.raises(MadrlError, match=r"is no rollout: write madrl.Rollout\(response, ground_truth\)"):
        reward_of().score(group)


def test_an_empty_group_is_one_clear_error() -> None:
    with pytest.raises(MadrlError, match="an empty group has no frequencies"):
        reward_of().score([])


def leaves(rollout: Rollout) -> bool:
    sys.exit(3)


async def leaves_async(rollout: Rollout) -> bool:
    sys.exit(3)


async def interrupts_async(rollout: Rollout) -> bool:
    raise KeyboardInterrupt


def test_a_function_that_leaves_the_process_does_not_keep_the_caller_waiting() -> None:
    for classifier in (leaves, leaves_async, interrupts_async):
        (grade,) = reward_of(classifier=classifier).score(rollouts("a!")).grades
        assert not grade.classified
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

    def asks_again_in_a_thread(rollout: Rollout) -> bool:
        return bool(reward_of().score([rollout]).reward[0])

    for verifier in (asks_again, asks_again_in_a_thread):
        with pytest.raises(PluginError, match=r"make that async, and write `await reward\(rollouts\)` there"):
            reward_of(verifier=verifier).score(rollouts("a!"))


def test_a_response_whose_category_was_asked_for_earns_and_is_not_counted() -> None:
    score = reward_of().score(rollouts("a!", "a!", "b!"), hinted=[False, False, True])
    np.testing.assert_allclose(score.frequency, [1.0, 0.0])
    # alpha 0.6, l2: 0.6 + 0.4 (1/2 - 1) = 0.4 twice; at q = 1/2, as a lone one of two would, 0.6
    np.testing.assert_allclose(score.reward, [0.4, 0.4, 0.6])


def of_prompt(*responses: str, **extra_info: str) -> list[Rollout]:
    return [Rollout(response, "!", extra_info) for response in responses]


def test_a_prompt_with_a_target_of_its_own_is_scored_by_it() -> None:
    score = reward_of().score(of_prompt("a!", "a!", "b!", "b!", target='{"left": 3, "right": 1}'))
    # p* = (3/4, 1/4), q = (1/2, 1/2): 0.6 + 0.4 x 1/4 = 0.7 twice, 0.6 - 0.1 = 0.5 twice
    np.testing.assert_allclose(score.reward, [0.7, 0.7, 0.5, 0.5])


async def test_grades_are_scored_by_the_prompt_s_own_target_where_they_are_given_it() -> None:
    reward, group = reward_of(), of_prompt("a!", "b!", "b!", target='{"left": 3, "right": 1}')
    grades = [await reward.grade(rollout) for rollout in group]
    own = await reward.of_grades(grades, target=reward.target_of(rollout.extra_info for rollout in group))
    assert own.reward.tolist() == (await reward(group)).reward.tolist()
    for target in ({"left": 3, "right": 1}, np.array([0.75, 0.25]), "uniform"):
        with pytest.raises(MadrlError, match=r"target .* is not what reward.target_of\(...\) finds: give it"):
            await reward.of_grades(grades, target=target)  # type: ignore[arg-type]


@pytest.mark.parametrize("divergence", ["l2", "rkl"])
@pytest.mark.parametrize("calibrate", [False, True])
def test_a_target_that_is_the_run_s_own_scores_as_the_run_s_does(divergence: str, calibrate: bool) -> None:
    responses = ("a!", "a", "a", "b!", "c", "a")
    options = {"divergence": divergence, "calibrate": calibrate}
    of_run = reward_of(target={"left": 0.8, "right": 0.2}, **options).score(rollouts(*responses))
    of_row = reward_of(**options).score(of_prompt(*responses, target='{"left": 0.8, "right": 0.2}'))
    assert of_row.reward.tolist() == of_run.reward.tolist()
    assert of_row.frequency.tolist() == of_run.frequency.tolist()


def test_a_category_that_is_not_the_prompt_s_is_off_support_there_and_its_name_is_kept() -> None:
    reward = reward_of(
        categories=["left", "up", "right"],
        classifier=lambda rollout: {"a": "left", "b": "right", "u": "up"}.get(rollout.response[:1]),
        divergence="rkl",
    )
    responses = ("a!", "a!", "b!", "u!")
    own = reward.score(of_prompt(*responses, target="uniform", categories='["left", "right"]'))
    assert [grade.category for grade in own.grades] == ["left", "left", "right", None]
    assert own.grades[3].reason == "category 'up' is none of this prompt's"
    assert own.grades[3].correctness == 1.0
    np.testing.assert_allclose(own.frequency, [0.5, 0.0, 0.25])
    # For the reward there are two categories and no third, so that it is what a run over the two would give.
    of_two = reward_of(divergence="rkl").score(rollouts("a!", "a!", "b!", "c!"))
    assert own.reward.tolist() == of_two.reward.tolist()
    # Elsewhere it is a category like any other.
    assert [grade.category for grade in reward.score(rollouts(*responses)).grades][3] == "up"


def test_siblings_that_name_different_targets_are_one_clear_error() -> None:
    group = [*of_prompt("a!", target="uniform"), *rollouts("b!")]
    with pytest.raises(MadrlError, match="responses of one group name different targets"):
        reward_of().score(group)


def test_a_row_s_target_that_makes_no_sense_or_that_the_form_does_not_have_is_one_clear_error() -> None:
    with pytest.raises(MadrlError, match="target names unknown category 'up'"):
        reward_of().score(of_prompt("a!", target='{"up": 1}'))
    with pytest.raises(MadrlError, match="GAPO has no other target than uniform"):
        reward_of(form="gapo").score(of_prompt("a!", target='{"left": 1}'))
