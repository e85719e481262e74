"""The launch check on responses as a starting model gives them: what stops a run, and that chance does not."""

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.frequency import OFF_SUPPORT
from madrl.launch_check import MAX_NOTES, launch_problem, notes_before, remedy, start_notes, stops, target_notes
from madrl.settings import Settings

NAMES = ("en", "zh", "es", "hi", "fr")
NONE = np.array([], dtype=np.int64)


def settings(target: Any = "uniform", form: str = "additive", **changes: Any) -> Settings:
    node = {
        "categories": list(NAMES),
        "target": target,
        "classifier": "language",
        "verifier": "math",
        "reward": {"divergence": "rkl", "form": form, "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001},
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "task": "mine",
        "profile": "tiny",
        "naming": None,
    }
    return Settings.from_config(node | changes)


def of(*indices: int) -> NDArray[np.int64]:
    return np.array(indices, dtype=np.int64)


def test_a_model_that_answers_in_english_only_is_told_in_one_line_with_what_was_seen() -> None:
    problem = launch_problem(settings(), [np.zeros(16, dtype=np.int64)] * 8, np.zeros(120, dtype=np.int64))
    assert problem is not None
    assert problem.stops
    assert problem.text == (
        "launch check: the model that this run starts from cannot be steered: 100.0% of the 8 prompts in the first "
        "batch have all their on-support responses in one category (limit 50.0%); none of the 248 responses is zh or "
        "es or hi or fr, which the target wants (first validation and first batch: en 100.0%)."
    )


def test_groups_that_are_each_in_one_category_cannot_be_steered_though_the_pooled_shares_are_right() -> None:
    groups = [np.full(16, i % 5, dtype=np.int64) for i in range(10)]
    problem = launch_problem(settings(), groups, NONE)
    assert problem is not None
    assert "100.0% of the 10 prompts" in problem.text
    assert "none of" not in problem.text


def test_the_one_category_rate_is_held_against_the_limit_of_the_alarm() -> None:
    # Uniform over five, 7 or 8 on-support responses: on target at most 5 * 0.2^7 = 6e-5 of the groups, so the limit is
    # half of them.
    mixed, single = of(0, 1, 2, 3, 4, 0, 1, 2), of(*[2] * 7, OFF_SUPPORT)
    assert launch_problem(settings(), [mixed, single], NONE) is None, "half is not more than half"
    assert launch_problem(settings(), [mixed, single, single], NONE) is not None


def test_groups_of_which_one_response_came_back_have_not_collapsed() -> None:
    # As a trainer that samples ahead sees them: the group that lost a session is replaced before its others arrive.
    lost = [of(3), of(1, OFF_SUPPORT), of(4)]
    assert launch_problem(settings(), [*lost, of(0, 1, 2, 3)], NONE) is None
    # Of two responses each, 0.2 of the groups on target: the limit is 0.6, 5 standard errors away with 25 groups.
    assert launch_problem(settings(), [of(3, 3)] * 24, NONE) is None
    assert launch_problem(settings(), [of(i % 5, i % 5) for i in range(26)], NONE) is not None


def test_a_few_groups_prove_nothing_where_the_target_itself_gives_groups_of_one_category() -> None:
    # 0.95^4 + 0.05^4 = 0.8145 of the groups on target; the limit is 0.9073, and 5 standard errors are
    # 0.8145 * 0.1855 * (5 / 0.0927)^2 = 439.1 groups away.
    target, single = settings({"en": 95, "fr": 5}), np.zeros(4, dtype=np.int64)
    validation = of(*[4] * 5)
    assert launch_problem(target, [single] * 439, validation) is None
    assert launch_problem(target, [single] * 440, validation) is not None


def test_a_wanted_category_is_missed_from_twenty_expected_responses_on_the_first_validation_included() -> None:
    # A fifth of 100 responses is 20.
    four = of(0, 1, 2, 3)
    assert launch_problem(settings(), [four] * 10, of(*[0] * 59)) is None
    problem = launch_problem(settings(), [four] * 10, of(*[0] * 60))
    assert problem is not None
    assert "none of the 100 responses is fr, which" in problem.text
    assert launch_problem(settings(), [four] * 10, of(*[0] * 59, 4)) is None, "the validation has seen it"


def test_what_the_target_excludes_may_be_missing() -> None:
    groups = [of(2, 3, 4, 2)] * 100
    assert launch_problem(settings("peak"), groups, NONE) is None
    assert launch_problem(settings("uniform"), groups, NONE) is not None


def test_a_model_that_is_off_support_throughout_cannot_be_steered_either() -> None:
    problem = launch_problem(settings(), [np.full(16, OFF_SUPPORT)] * 8, NONE)
    assert problem is not None
    assert problem.text.endswith("(first validation and first batch: all off-support).")


@pytest.mark.parametrize(("target", "prompts", "group"), [("peak", 8, 32), ("uniform", 8, 32), ("peak", 4, 4)])
def test_the_skewed_mix_that_the_miniatures_start_from_passes(target: str, prompts: int, group: int) -> None:
    rng = np.random.default_rng(0)
    chances = 0.97 * np.array([0.45, 0.25, 0.1, 0.1, 0.1])
    for _ in range(300):
        drawn = rng.choice([0, 1, 2, 3, 4, OFF_SUPPORT], size=(prompts, group), p=[*chances, 0.03])
        assert launch_problem(settings(target), list(drawn), NONE) is None


def test_a_control_without_distributional_reward_never_stops() -> None:
    assert stops(settings())
    assert stops(settings(form="gated"))
    assert not stops(settings(form="rlvr"))
    assert not stops(settings(launch_check="warn"))


def test_a_launch_check_of_another_name_is_named_with_the_two_there_are() -> None:
    with pytest.raises(MadrlError, match=r"madrl.launch_check='off' is not one of \['stop', 'warn'\]"):
        settings(launch_check="off")


def test_with_hints_a_missing_category_stops_no_run_and_collapsed_groups_still_do() -> None:
    hinted = settings(hints=2, naming="language")
    missing = launch_problem(hinted, [of(0, 1, 2, 3)] * 25, NONE)
    assert missing is not None
    assert not missing.stops
    assert missing.text.startswith(
        "launch check: the model that this run starts from cannot be steered without hints: none of the 100 responses "
        "is fr, which the target wants, and which madrl.hints=2 asks for (first"
    )
    collapsed = launch_problem(hinted, [np.zeros(16, dtype=np.int64)] * 8, NONE)
    assert collapsed is not None
    assert collapsed.stops


SKEWED = {"en": 0.6, "zh": 0.2, "es": 0.1, "hi": 0.05, "fr": 0.05}


def with_reward(target: Any, **reward: Any) -> Settings:
    node = {"divergence": "rkl", "form": "additive", "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001}
    return settings(target, reward=node | reward)


def test_categories_that_a_group_hardly_holds_are_told_with_where_they_come_to_rest_and_what_would_do() -> None:
    hindi, french = target_notes(with_reward(SKEWED), 16)
    assert hindi == (
        "launch check: the target wants 5% hi, 0.8 of 16 responses: the reward alone comes to rest at 0%; with "
        "madrl.reward.calibrate=true at 5%, with rollout.n=30 at 3.1%"
    )
    assert "5% fr" in french


@pytest.mark.parametrize(
    ("target", "size"), [("uniform", 2), ("uniform", 16), ("peak", 4), (SKEWED, 30), ({"en": 3, "fr": 1}, 6)]
)
def test_nothing_is_said_of_equal_targets_and_of_groups_that_are_large_enough(target: Any, size: int) -> None:
    assert target_notes(with_reward(target), size) == []


def test_what_is_told_before_a_run_is_of_every_attribute() -> None:
    ending = {"classifier": "regex", "classifier_args": {"patterns": {"exclaims": "!$", "states": "[.]$"}}}
    ending |= {"categories": ["exclaims", "states"], "target": {"exclaims": 1, "states": 9}}
    of_language, of_ending = notes_before(settings({"en": 95, "es": 5}, attributes={"ending": ending}), 8)
    assert of_language.startswith("launch check: the target wants 5% es, 0.4 of 8 responses: ")
    assert of_ending.startswith("launch check of ending: the target wants 10% exclaims, 0.8 of 8 responses: ")


def test_twenty_categories_wanted_equally_are_no_trouble_though_a_group_holds_less_than_one_of_each() -> None:
    many = settings("uniform", categories=[f"c{i}" for i in range(20)])
    assert target_notes(many, 16) == []


def test_of_a_calibrated_run_it_is_told_where_it_rests_and_where_it_is_slow() -> None:
    hindi, _ = target_notes(with_reward(SKEWED, calibrate=True), 16)
    assert hindi.endswith("comes to rest at 5%; without calibration at 0%")
    (rare,) = target_notes(with_reward({"en": 0.60, "zh": 0.39, "fr": 0.01}, calibrate=True), 16)
    assert "0.16 of 16 responses" in rare
    assert "but slowly with less than rollout.n=20; without calibration at 0%" in rare


def test_a_weight_that_is_rare_by_a_rounding_error_only_is_told_all_the_same() -> None:
    # 147 / 98 is 1.5, and a little less in floating point.
    [note] = target_notes(settings({"a": 1, "b": 97}, categories=["a", "b"], reward={"calibrate": True}), 147)
    assert "the target wants 1% a, 1.5 of 147 responses" in note


def test_where_no_offset_reaches_the_target_it_is_told_how_near_it_comes() -> None:
    # Groups of two categories: the normalised reward is a sign, and b rests where the signs balance.
    (note,) = target_notes(settings({"a": 1, "b": 0.05}, categories=["a", "b"], reward={"calibrate": True}), 16)
    assert "the target wants 4.8% b, 0.76 of 16 responses: the reward alone comes to rest at 6" in note
    assert ", as near as offsets bring it in such a group; with rollout.n=32 nearer; without calibration" in note


@pytest.mark.parametrize("calibrate", [False, True])
def test_many_categories_and_the_smallest_weights_are_told_in_few_lines_and_little_time(calibrate: bool) -> None:
    zipf = {f"c{i}": 1 / i for i in range(1, 101)}
    began = time.process_time()
    notes = target_notes(settings(zipf, categories=list(zipf), reward={"calibrate": calibrate}), 64)
    assert len(notes) == MAX_NOTES + 1
    assert notes[-1].startswith("launch check: so it is for ")
    (rare,) = target_notes(with_reward({"en": 1, "fr": 1e-320}, calibrate=calibrate), 16)
    assert "0% fr" in rare
    assert target_notes(with_reward({"en": 1, "fr": 1e-4}, calibrate=calibrate), 16)
    assert time.process_time() - began < 60.0, "CPU time: it is 4 s, and was minutes"


@pytest.mark.parametrize("form", ["rlvr", "gapo"])
def test_a_form_that_does_not_train_on_the_divergence_has_no_resting_point(form: str) -> None:
    target = SKEWED if form == "rlvr" else "uniform"
    assert target_notes(with_reward(target, form=form), 16) == []


def test_the_first_responses_say_what_is_out_of_reach_and_what_the_mix_costs() -> None:
    # 2,670 English, all correct; 300 Spanish, a third of them; 30 French, wrong.
    indices = of(*[0] * 2670, *[2] * 300, *[4] * 30)
    correct = [1.0] * 2670 + [1.0, 0.0, 0.0] * 100 + [0.0] * 30
    wanted = with_reward({"en": 1, "es": 1, "fr": 1})
    out_of_reach, cost = start_notes(wanted, 16, indices, correct)
    assert out_of_reach == (
        "launch check: 1.00% of the responses are fr, so that 15% of the groups of 16 have any to learn from; the "
        "target wants 33.3%"
    )
    # today (2670 + 100) / 3000; on target (1 + 1/3 + 0) / 3
    assert cost == (
        "launch check: pass@1 of the 3000 responses is 0.923 with today's mix, and would be 0.444 with the target's at "
        "today's accuracy in each category"
    )


def test_what_the_mix_costs_is_not_said_of_few_responses_in_a_wanted_category() -> None:
    wanted = with_reward({"en": 1, "es": 1})
    for spanish, said in ((0, False), (29, False), (30, True)):
        notes = start_notes(wanted, 16, of(*[0] * 50, *[2] * spanish), [0.0, *[1.0] * (49 + spanish)])
        assert any("pass@1" in note for note in notes) is said


def test_a_mix_that_costs_nothing_since_all_is_correct_is_not_spoken_of() -> None:
    assert start_notes(with_reward({"en": 1, "es": 1}), 16, of(*[0] * 50, *[2] * 50), [1.0] * 100) == []


def test_reach_is_of_all_responses_the_off_support_ones_included() -> None:
    # Each category is a fifth of the on-support responses, and 2 % of all: in 1 - 0.98^16 = 28 % of the groups.
    mostly_off = of(*[OFF_SUPPORT] * 900, *[i for i in range(5) for _ in range(20)])
    notes = start_notes(settings(), 16, mostly_off, [None] * 1000)
    assert len(notes) == 5
    assert notes[0].startswith("launch check: 2.00% of the responses are en, so that 28% of the groups of 16")


def test_a_control_that_steers_nowhere_has_no_way_to_go_and_no_response_says_nothing() -> None:
    assert start_notes(settings(form="rlvr"), 16, of(*[0] * 300), [1.0] * 300) == []
    assert start_notes(settings(), 16, NONE, []) == []


def test_hints_are_a_remedy_only_where_they_could_be_switched_on() -> None:
    assert "madrl.hints=2" in remedy(settings(naming="language"))
    assert "hints" not in remedy(settings())
    assert "hints" not in remedy(settings(naming="language", hints=2))
    assert "hints" not in remedy(settings(naming="language", form="gapo"))
