"""The whole reward of one group: the four forms, off-support and ungraded responses, degenerate groups."""

import dataclasses
from collections.abc import Callable
from math import log
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.frequency import OFF_SUPPORT, UNCLASSIFIED
from madrl.rescore import rescore_file
from madrl.reward import EXACT_REWARD_STEP, FORMS, RewardConfig, score_group
from madrl.targets import peak, smooth, uniform

Group = tuple[NDArray[np.int64], list[float | None]]

every_divergence = pytest.mark.parametrize("divergence", sorted(DIVERGENCES))
every_form = pytest.mark.parametrize("form", FORMS)

K = 5
groups = st.lists(
    st.tuples(st.integers(OFF_SUPPORT, K - 1), st.sampled_from([True, False, 0.25, None])), min_size=1, max_size=64
).map(lambda responses: (np.array([c for c, _ in responses], dtype=np.int64), [verdict for _, verdict in responses]))
targets = st.one_of(
    st.just(uniform(K)),
    st.just(peak(K)),
    st.lists(st.integers(0, 5), min_size=K, max_size=K).filter(any).map(lambda w: np.array(w) / sum(w)),
)
configs = st.builds(
    RewardConfig,
    divergence=st.sampled_from(sorted(DIVERGENCES)),
    form=st.sampled_from(FORMS),
    alpha=st.floats(0, 1),
    lambda_g=st.floats(0, 10),
    epsilon=st.floats(1e-9, 0.5),
)

# Four responses over three categories: a, a, b, and one off-support, so q = (1/2, 1/4, 0).
FOUR = np.array([0, 0, 1, OFF_SUPPORT])
FOUR_CORRECT = [True, False, True, True]
FOUR_TARGET = np.array([0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("divergence", "expected"),
    [
        ("l2", [-0.25, -0.25, 0.25, -1.0]),  # 1/4 - 1/2 and 1/2 - 1/4
        ("fkl", [-0.5, -0.5, 1.0, -1.0]),  # (1/4) / (1/2) - 1 and (1/2) / (1/4) - 1
        # epsilon = 0.3 smooths to 0.7 (1/4) + 0.1 = 0.275 and 0.7 (1/2) + 0.1 = 0.45.
        # 0.275 / 0.5 and 0.45 / 0.25; the last would earn least in the first category, 0.275 / 0.75
        ("rkl", [log(0.55), log(0.55), log(1.8), log(0.275 / 0.75)]),
        ("jsd", [0.5 * log(0.775), 0.5 * log(0.775), 0.5 * log(1.4), -1.0]),  # m/q = (1 + 0.55) / 2 and (1 + 1.8) / 2
    ],
)
def test_the_divergence_reward_is_that_of_the_response_s_own_category(divergence: str, expected: list[float]) -> None:
    score = score_group(FOUR, FOUR_CORRECT, FOUR_TARGET, RewardConfig(divergence=divergence, epsilon=0.3))
    np.testing.assert_array_equal(score.frequency, [0.5, 0.25, 0])
    np.testing.assert_allclose(score.divergence_reward, expected, rtol=1e-12)  # where the lowest is above -1, -1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # r_div = (-1/4, -1/4, 1/4, -1) under L2, correct = (1, 0, 1, 1).
        # 0.6 - 0.4/4, -0.4/4, 0.6 + 0.4/4, 0.6 - 0.4
        (RewardConfig("l2", "additive", alpha=0.6), [0.5, -0.1, 0.7, 0.2]),
        # 1 - 2/4, 0, 1 + 2/4, 1 - 2
        (RewardConfig("l2", "gated", lambda_g=2.0), [0.5, 0.0, 1.5, -1.0]),
        (RewardConfig("l2", "rlvr"), [1.0, 0.0, 1.0, 1.0]),
        # Three valid: v = (2/3, 1/3), so r_gapo = 1 - (2/3 - 1/3) = 2/3 twice and 1 - (1/3 - 1/3) = 1; invalid -1.
        # 0.6 + 0.4 (2/3), 0.4 (2/3), 0.6 + 0.4, 0.6 - 0.4
        (RewardConfig("l2", "gapo", alpha=0.6), [0.6 + 0.8 / 3, 0.8 / 3, 1.0, 0.2]),
    ],
)
def test_each_form_combines_correctness_and_divergence_as_worked_by_hand(
    config: RewardConfig, expected: list[float]
) -> None:
    score = score_group(FOUR, FOUR_CORRECT, FOUR_TARGET, config)
    np.testing.assert_array_equal(score.correctness, [1, 0, 1, 1])
    np.testing.assert_allclose(score.reward, expected, atol=1e-15)


def test_alpha_zero_is_the_divergence_reward_alone_and_alpha_one_correctness_alone() -> None:
    distribution_only = score_group(FOUR, FOUR_CORRECT, FOUR_TARGET, RewardConfig(alpha=0.0))
    np.testing.assert_array_equal(distribution_only.reward, distribution_only.divergence_reward)
    correctness_only = score_group(FOUR, FOUR_CORRECT, FOUR_TARGET, RewardConfig(alpha=1.0))
    np.testing.assert_array_equal(correctness_only.reward, correctness_only.correctness)


@given(st.lists(st.integers(0, K - 1), min_size=1, max_size=64).map(lambda g: np.array(g, dtype=np.int64)))
def test_l2_with_a_uniform_target_is_gapo_s_frequency_reward_up_to_a_constant(indices: NDArray[np.int64]) -> None:
    score = score_group(indices, [True] * indices.size, uniform(K), RewardConfig("l2"))
    gapo = np.array([-np.mean(indices == category) for category in indices])  # a category's share, as a penalty
    np.testing.assert_allclose(score.divergence_reward - gapo, 1 / K, atol=1e-15)


valid_groups = st.lists(st.integers(0, K - 1), min_size=1, max_size=64).map(lambda g: np.array(g, dtype=np.int64))


@given(indices=valid_groups, alpha=st.floats(0, 1), random=st.randoms(use_true_random=False))
def test_gapo_teaches_what_l2_does_when_every_response_is_valid(
    indices: NDArray[np.int64], alpha: float, random: Random
) -> None:
    correct = [random.choice([True, False, 0.25, None]) for _ in indices]
    gapo = score_group(indices, correct, uniform(K), RewardConfig("rkl", "gapo", alpha=alpha))
    l2 = score_group(indices, correct, uniform(K), RewardConfig("l2", "additive", alpha=alpha))
    np.testing.assert_allclose(gapo.divergence_reward, l2.divergence_reward + 1, atol=1e-12)
    np.testing.assert_allclose(gapo.reward - gapo.reward.mean(), l2.reward - l2.reward.mean(), atol=1e-6)


@given(indices=valid_groups, invalid=st.integers(1, 16))
def test_under_gapo_an_invalid_response_costs_itself_and_changes_nothing_for_the_valid_ones(
    indices: NDArray[np.int64], invalid: int
) -> None:
    config = RewardConfig(form="gapo", alpha=0.0)
    alone = score_group(indices, [True] * indices.size, uniform(K), config).divergence_reward
    mixed = score_group(
        np.append(indices, np.full(invalid, OFF_SUPPORT)), [True] * (indices.size + invalid), uniform(K), config
    ).divergence_reward
    np.testing.assert_array_equal(mixed[: indices.size], alone)
    np.testing.assert_array_equal(mixed[indices.size :], -1.0)
    assert mixed[: indices.size].min() >= 1 / K - 1e-12


def test_the_only_valid_response_of_a_gapo_group_earns_one_kth_whatever_its_category() -> None:
    for category in range(K):
        indices = np.array([OFF_SUPPORT, category, OFF_SUPPORT])
        earned = score_group(indices, [True] * 3, uniform(K), RewardConfig(form="gapo")).divergence_reward
        np.testing.assert_allclose(earned, [-1, 1 / K, -1])


@pytest.mark.parametrize("target", [peak(K), np.array([0.2, 0.2, 0.2, 0.2001, 0.1999])])
def test_gapo_refuses_every_target_but_uniform(target: NDArray[np.float64]) -> None:
    with pytest.raises(MadrlError, match=r"GAPO has no other target than uniform; use target=uniform"):
        RewardConfig(form="gapo").check_target(target)
    RewardConfig(form="additive").check_target(target)


def test_equal_weights_are_uniform_to_gapo_whatever_they_sum_to() -> None:
    for n_categories in range(1, 50):
        weights = np.full(n_categories, 0.1)
        RewardConfig(form="gapo").check_target(weights / weights.sum())


def test_rescoring_with_gapo_towards_another_target_is_refused_before_the_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"reward form 'gapo' with target \(0.25, 0.75\)"):
        rescore_file(
            tmp_path / "none.jsonl", tmp_path / "out.jsonl", "ab", np.array([0.25, 0.75]), RewardConfig(form="gapo")
        )


@every_divergence
def test_gated_is_correctness_when_the_group_sits_on_the_target(divergence: str) -> None:
    # Uniform, so that smoothing changes nothing: one response in each category, q = p*.
    correct = [True, False, True, True, False]
    score = score_group(np.arange(K), correct, uniform(K), RewardConfig(divergence, "gated", lambda_g=3.0))
    np.testing.assert_allclose(score.reward, correct, atol=1e-12)


@every_divergence
def test_smoothing_goes_into_the_rewards_that_need_it_and_no_other(divergence: str) -> None:
    indices, epsilon = np.array([0, 2, 3, 4]), 0.2
    score = score_group(indices, [True] * 4, peak(K), RewardConfig(divergence, epsilon=epsilon))
    goal = smooth(peak(K), epsilon) if divergence in ("rkl", "jsd") else peak(K)
    by_category = DIVERGENCES[divergence].reward(goal, score.frequency)
    np.testing.assert_allclose(score.divergence_reward, by_category[indices])


def test_under_reverse_kl_off_support_earns_what_it_would_in_an_excluded_category() -> None:
    # Peak, eps = 0.001: category 0 has p~* = 0.0002 and q = 2/4, log(0.0004) = -7.82 < -1; an off-support response
    # that earned a flat -1 would be better off than an answer in category 0. As a third in it, it would earn
    # log(0.0002 / 0.75) = -8.23.
    score = score_group(np.array([0, 0, 2, OFF_SUPPORT]), [True] * 4, peak(K), RewardConfig("rkl", epsilon=0.001))
    assert score.divergence_reward[0] == pytest.approx(log(0.0004))
    assert score.divergence_reward[3] == pytest.approx(log(0.0002 / 0.75))
    # Nobody is in an excluded category: it would be the first, log(0.0002 / 0.25) = -7.13.
    wanted = score_group(np.array([2, 3, 4, OFF_SUPPORT]), [True] * 4, peak(K), RewardConfig("rkl", epsilon=0.001))
    assert wanted.divergence_reward[3] == pytest.approx(log(0.0008))


def test_off_support_earns_minus_one_when_every_category_in_the_group_earns_more() -> None:
    score = score_group(np.array([0, 1, OFF_SUPPORT]), [True] * 3, uniform(2), RewardConfig("l2"))
    assert score.divergence_reward[2] == -1.0


@every_divergence
def test_a_flat_off_support_reward_is_the_same_in_every_group(divergence: str) -> None:
    # Peak: two of four in an excluded category, which under RKL earns log(0.0004) = -7.82.
    config = RewardConfig(divergence, off_support="flat", off_support_reward=-0.5)
    score = score_group(np.array([0, 0, 2, OFF_SUPPORT]), [True] * 4, peak(K), config)
    assert score.divergence_reward[3] == -0.5
    assert score_group(np.array([OFF_SUPPORT] * 2), [True] * 2, peak(K), config).divergence_reward[0] == -0.5
    # In support nothing changes.
    usual = score_group(np.array([0, 0, 2, OFF_SUPPORT]), [True] * 4, peak(K), RewardConfig(divergence))
    np.testing.assert_array_equal(score.divergence_reward[:3], usual.divergence_reward[:3])


@pytest.mark.parametrize("form", ["additive", "gated"])
def test_a_whole_number_in_a_config_is_as_good_as_a_float(form: str) -> None:
    # `off_support_reward: -1` in a YAML file is an int: the group's other rewards were cut to whole numbers beside it.
    group, target = np.array([0, 0, 0, 1, OFF_SUPPORT]), np.array([0.5, 0.5])
    whole: dict[str, Any] = {"alpha": 0, "lambda_g": 1, "gate_floor": 0 if form == "gated" else None}
    for rule in ("flat", "least_wanted"):
        of_ints = RewardConfig(form=form, off_support=rule, off_support_reward=-1, **whole)
        floats: dict[str, Any] = {name: None if value is None else float(value) for name, value in whole.items()}
        of_floats = RewardConfig(form=form, off_support=rule, off_support_reward=-1.0, **floats)
        rewards = [score_group(group, [1.0] * 5, target, config).reward.tolist() for config in (of_ints, of_floats)]
        assert rewards[0] == rewards[1]
        assert len(set(rewards[0])) == 3


def test_the_off_support_reward_is_the_most_that_off_support_earns_beside_a_lower_category() -> None:
    group = np.array([0, 1, OFF_SUPPORT])  # l2 to uniform(2) at q = (1/3, 1/3): 1/6 each, and 1/2 - 2/3 with one more
    for reward, expected in ((-0.5, -0.5), (-0.1, -1 / 6), (0.5, -1 / 6)):
        score = score_group(group, [True] * 3, uniform(2), RewardConfig("l2", off_support_reward=reward))
        assert score.divergence_reward[2] == pytest.approx(expected)


def test_gated_gives_a_correct_excluded_response_less_than_a_wrong_one_unless_the_gate_has_a_floor() -> None:
    # A quarter of the group in an excluded category: 1 + log(0.0002 / 0.25) = -6.13.
    indices, correct = np.array([0, 2, 3, OFF_SUPPORT]), [True, True, False, False]
    without = score_group(indices, correct, peak(K), RewardConfig("rkl", "gated"))
    assert without.reward[0] == pytest.approx(1 + log(0.0008))
    assert without.reward[0] == pytest.approx(-6.13, abs=0.01)
    assert without.reward[2] == without.reward[3] == 0, "wrong, on-support and off"
    floored = score_group(indices, correct, peak(K), RewardConfig("rkl", "gated", gate_floor=0.0))
    assert floored.reward[0] == 0
    np.testing.assert_array_equal(floored.reward[1:], without.reward[1:])
    np.testing.assert_array_equal(floored.divergence_reward, without.divergence_reward)


@given(group=groups, target=targets, config=configs, floor=st.floats(-2, 1))
def test_no_gate_is_below_its_floor(
    group: Group, target: NDArray[np.float64], config: RewardConfig, floor: float
) -> None:
    indices, correct = group
    floored = score_group(indices, correct, target, dataclasses.replace(config, form="gated", gate_floor=floor))
    assert (floored.reward >= np.minimum(floor * floored.correctness, 0) - EXACT_REWARD_STEP).all()


@given(group=groups, target=targets, config=configs)
def test_off_support_never_pays_better_than_any_declared_category(
    group: Group, target: NDArray[np.float64], config: RewardConfig
) -> None:
    indices, correct = group
    earned = score_group(indices, correct, target, config).divergence_reward
    off_support = indices == OFF_SUPPORT
    if off_support.any() and not off_support.all():
        assert earned[off_support].max() <= earned[~off_support].min()
    assert (earned[off_support] <= -1.0).all()


@every_form
def test_the_correctness_term_of_an_off_support_response_stays(form: str) -> None:
    config = RewardConfig("l2", form, alpha=0.6, lambda_g=0.5)
    right = score_group(FOUR, [True, False, True, True], FOUR_TARGET, config).reward[3]
    wrong = score_group(FOUR, [True, False, True, False], FOUR_TARGET, config).reward[3]
    # additive and gapo 0.6 (1 - 0);  gated 1 - 0.5 against 0;  rlvr 1 against 0
    assert right - wrong == pytest.approx({"additive": 0.6, "gated": 0.5, "rlvr": 1.0, "gapo": 0.6}[form])


@every_form
def test_a_response_that_is_correct_in_part_earns_its_part(form: str) -> None:
    # One category, where every divergence reward is the same r: l2 of uniform(2) at q = (1, 0) is -0.5.
    config = RewardConfig("l2", form, alpha=0.6, lambda_g=0.5)
    score = score_group(np.array([0, 0, 0]), [1.0, 0.25, 0.0], uniform(2), config)
    np.testing.assert_allclose(score.correctness, [1, 0.25, 0])
    # additive and gapo 0.6 * 1 apart;  gated 1 - 0.25;  rlvr 1
    scale = {"additive": 0.6, "gated": 0.75, "rlvr": 1.0, "gapo": 0.6}[form]
    np.testing.assert_allclose(score.reward - score.reward[2], [scale, 0.25 * scale, 0], atol=1e-12)


def test_an_ungraded_response_takes_the_mean_correctness_of_the_graded_ones() -> None:
    parts = score_group(np.array([0, 0, 1]), [0.75, None, 0.25], uniform(2), RewardConfig("l2", "rlvr"))
    np.testing.assert_allclose(parts.correctness, [0.75, 0.5, 0.25])

    score = score_group(np.array([0, 0, 1, 1]), [True, None, False, False], uniform(2), RewardConfig("l2", "rlvr"))
    np.testing.assert_allclose(score.correctness, [1, 1 / 3, 0, 0])
    np.testing.assert_allclose(score.reward, score.correctness)


@given(group=groups, target=targets, config=configs)
def test_an_ungraded_response_moves_nobody_s_mean_correctness(
    group: Group, target: NDArray[np.float64], config: RewardConfig
) -> None:
    indices, correct = group
    graded = [verdict for verdict in correct if verdict is not None]
    correctness = score_group(indices, correct, target, config).correctness
    assert correctness.mean() == pytest.approx(np.mean(graded) if graded else 0.0, abs=1e-12)


@given(group=groups, target=targets, config=configs)
def test_every_number_of_a_score_is_finite_and_of_its_shape(
    group: Group, target: NDArray[np.float64], config: RewardConfig
) -> None:
    indices, correct = group
    score = score_group(indices, correct, target, config)
    for per_response in (score.reward, score.correctness, score.divergence_reward):
        assert per_response.shape == indices.shape
        assert np.isfinite(per_response).all()
    assert score.frequency.shape == target.shape
    assert np.isfinite(score.frequency).all()


@given(group=groups, target=targets, config=configs, random=st.randoms(use_true_random=False))
def test_reordering_the_group_reorders_the_rewards(
    group: Group, target: NDArray[np.float64], config: RewardConfig, random: Random
) -> None:
    indices, correct = group
    order = random.sample(range(indices.size), indices.size)
    score = score_group(indices, correct, target, config)
    reordered = score_group(indices[order], [correct[i] for i in order], target, config)
    np.testing.assert_allclose(reordered.reward, score.reward[order], atol=1e-12)
    np.testing.assert_allclose(reordered.divergence_reward, score.divergence_reward[order], atol=1e-12)


# Degenerate groups.


@every_form
@every_divergence
def test_a_group_of_one_is_scored(divergence: str, form: str) -> None:
    score = score_group(np.array([2]), [True], peak(K), RewardConfig(divergence, form))
    np.testing.assert_array_equal(score.frequency, [0, 0, 1, 0, 0])
    assert np.isfinite(score.reward).all()


@every_divergence
def test_a_group_in_one_category_earns_one_and_the_same_negative_divergence_reward(divergence: str) -> None:
    earned = score_group(np.full(16, 1), [True] * 16, uniform(K), RewardConfig(divergence)).divergence_reward
    assert np.ptp(earned) == 0
    assert earned[0] < 0


@every_divergence
def test_a_group_with_nothing_on_support_earns_all_the_same(divergence: str) -> None:
    score = score_group(np.full(4, OFF_SUPPORT), [True, False, True, None], peak(K), RewardConfig(divergence))
    # As the first in an excluded category: log(0.0002 / 0.25) under RKL, and more than -1 under the others.
    np.testing.assert_allclose(score.divergence_reward, log(0.0008) if divergence == "rkl" else -1.0)
    np.testing.assert_array_equal(score.frequency, np.zeros(K))


@pytest.mark.parametrize("indices", [[OFF_SUPPORT] * 16, [2] * 16])
def test_a_gapo_group_without_two_kinds_of_response_moves_nothing(indices: list[int]) -> None:
    config = RewardConfig(form="gapo", alpha=0.55)
    score = score_group(np.array(indices), [True] * len(indices), uniform(K), config)
    # 0.55 - 0.45 = 0.1 each, and 0.55 + 0.45/5 = 0.64 each
    np.testing.assert_allclose(score.reward, 0.1 if indices[0] == OFF_SUPPORT else 0.64, atol=EXACT_REWARD_STEP / 2)
    np.testing.assert_array_equal(_advantage_summed_in_turn(score.reward), np.zeros(16))


def test_a_group_in_which_nothing_was_graded_has_correctness_zero() -> None:
    score = score_group(np.array([0, 1]), [None, None], uniform(2), RewardConfig())
    np.testing.assert_array_equal(score.correctness, [0, 0])


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(MadrlError, match="an empty group"):
        score_group(np.array([], dtype=np.int64), [], uniform(2), RewardConfig())


def test_a_target_that_does_not_sum_to_1_is_refused_and_lists_are_arrays() -> None:
    with pytest.raises(MadrlError, match=r"target \[3.0, 1.0\] does not sum to 1: divide the weights by their sum"):
        score_group(np.array([0, 1]), [True, False], np.array([3.0, 1.0]), RewardConfig())
    of_lists = score_group([0, 1], [True, False], [0.75, 0.25], RewardConfig())  # type: ignore[arg-type]
    of_arrays = score_group(np.array([0, 1]), [True, False], np.array([0.75, 0.25]), RewardConfig())
    assert of_lists.reward.tolist() == of_arrays.reward.tolist()


def test_a_group_needs_as_many_verdicts_as_categories() -> None:
    with pytest.raises(MadrlError, match="2 categories but 1 verdicts"):
        score_group(np.array([0, 1]), [True], uniform(2), RewardConfig())


# A group whose rewards are all equal must move nothing. GRPO divides by the group's standard deviation plus 1e-6, in
# float32, and veRL takes mean and standard deviation with torch. Sixteen rewards of 0.3 failed without the guard:
# float32 has 0.300000012 for 0.3, a multiple of u = 2^-25 = 2.98e-8, whose 24 bits leave the partial sums of sixteen
# no room, so that torch's mean came out one u too low. Every difference is then u, the standard deviation
# sqrt(16/15) u = 3.08e-8, and every advantage u / (3.08e-8 + 1e-6) = 0.0289, all of one sign: the whole group is
# pushed, by rounding alone. After the guard the reward is 0.2998046875 = 307 / 1024; its multiples sum exactly.


def _advantage_summed_in_turn(rewards: NDArray[np.float64]) -> NDArray[np.float32]:
    """GRPO's advantage in float32 with the plainest order of summation: one reward after the other."""
    r = rewards.astype(np.float32)
    mean = np.add.accumulate(r)[-1] / np.float32(r.size)
    std = np.sqrt(np.add.accumulate((r - mean) ** 2)[-1] / np.float32(r.size - 1))
    advantage: NDArray[np.float32] = (r - mean) / (std + np.float32(1e-6))
    return advantage


def _advantage_summed_in_pairs(rewards: NDArray[np.float64]) -> NDArray[np.float32]:
    """GRPO's advantage in float32 with numpy's order of summation."""
    r = rewards.astype(np.float32)
    advantage: NDArray[np.float32] = (r - r.mean()) / (r.std(ddof=1) + np.float32(1e-6))
    return advantage


def _advantage_of_torch(rewards: NDArray[np.float64]) -> NDArray[np.float32]:
    """GRPO's advantage line by line as veRL's compute_grpo_outcome_advantage takes it."""
    torch = pytest.importorskip("torch")
    token_level_rewards = torch.zeros(rewards.size, 3, dtype=torch.float32)
    token_level_rewards[:, -1] = torch.tensor(rewards, dtype=torch.float32)
    scores = torch.stack(list(token_level_rewards.sum(dim=-1)))
    advantage: NDArray[np.float32] = ((scores - torch.mean(scores)) / (torch.std(scores) + 1e-6)).numpy()
    return advantage


every_advantage = pytest.mark.parametrize(
    "advantage", [_advantage_summed_in_turn, _advantage_summed_in_pairs, _advantage_of_torch]
)


@every_advantage
@every_divergence
def test_a_group_whose_responses_all_earn_the_same_moves_nothing(
    advantage: Callable[[NDArray[np.float64]], NDArray[np.float32]], divergence: str
) -> None:
    alphas = [*np.linspace(0, 1, 21), 1 / 3, 2 / 3]
    for group_size in range(2, 65):
        for alpha in alphas:
            config = RewardConfig(divergence, alpha=alpha)
            score = score_group(np.full(group_size, 1), [True] * group_size, np.array([0.3, 0.7]), config)
            moved = advantage(score.reward)
            assert (moved == 0).all(), f"G={group_size}, {config}: reward {score.reward[0]}, advantage {moved[0]}"


@every_advantage
def test_sixteen_rewards_of_three_tenths_move_nothing(
    advantage: Callable[[NDArray[np.float64]], NDArray[np.float32]],
) -> None:
    # One category and K = 1, so r_div = 0 and the reward is 0.3 * 1 + 0.7 * 0.
    score = score_group(np.zeros(16, dtype=np.int64), [True] * 16, uniform(1), RewardConfig("l2", alpha=0.3))
    np.testing.assert_array_equal(score.reward, np.full(16, 307 / 1024))
    np.testing.assert_array_equal(advantage(score.reward), np.zeros(16))


@every_advantage
@pytest.mark.parametrize("lambda_g", [20.0, 64.0, 1000.0, 1e6])
def test_a_group_whose_responses_all_earn_the_same_large_reward_moves_nothing(
    advantage: Callable[[NDArray[np.float64]], NDArray[np.float32]], lambda_g: float
) -> None:
    config = RewardConfig("rkl", "gated", lambda_g=lambda_g)
    for group_size in (*range(2, 65), 127, 1000):
        score = score_group(np.zeros(group_size, dtype=np.int64), [True] * group_size, peak(5), config)
        plain = 1 + lambda_g * score.divergence_reward[0]
        assert abs(score.reward[0] - plain) <= max(EXACT_REWARD_STEP, abs(plain) * group_size * 2.0**-22) / 2
        moved = advantage(score.reward)
        assert (moved == 0).all(), f"G={group_size}: reward {score.reward[0]}, advantage {moved[0]}"


def test_rewards_that_differ_by_float_residue_become_equal() -> None:
    # Under L2, r_div is 1/3 - 1/3 in one category and 1 - 1/3 - 2/3, about 1e-16 and no more, in the other.
    target = np.array([1 / 3, 1 - 1 / 3])
    indices = np.array([0, 1, 1] * 4)
    raw = DIVERGENCES["l2"].reward(target, np.array([4 / 12, 8 / 12]))
    assert 0 < np.ptp(raw) < 1e-15
    score = score_group(indices, [True] * 12, target, RewardConfig("l2", alpha=0.0))
    np.testing.assert_array_equal(score.reward, np.zeros(12))


def test_an_equal_reward_moves_by_at_most_half_the_exact_step() -> None:
    for alpha in np.linspace(0, 1, 101):
        score = score_group(np.zeros(4, dtype=np.int64), [True] * 4, uniform(1), RewardConfig("l2", alpha=alpha))
        assert abs(score.reward[0] - alpha) <= EXACT_REWARD_STEP / 2
        assert (score.reward[0] / EXACT_REWARD_STEP).is_integer()


def test_rewards_that_truly_differ_are_not_rounded() -> None:
    score = score_group(np.array([0, 0, 1]), [True] * 3, uniform(2), RewardConfig("l2", alpha=0.7))
    # 0.7 + 0.3 (1/2 - 2/3) = 0.65 twice, 0.7 + 0.3 (1/2 - 1/3) = 0.75
    np.testing.assert_allclose(score.reward, [0.65, 0.65, 0.75], rtol=1e-15)


# RewardConfig.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"divergence": "kl"}, r"unknown divergence 'kl': use one of \['fkl', 'jsd', 'l2', 'rkl'\]"),
        ({"form": "mixed"}, r"unknown reward form 'mixed': use one of \['additive', 'gated', 'rlvr', 'gapo'\]"),
        ({"alpha": 2.0}, r"alpha=2.0 is not a number in \[0, 1\]"),
        ({"alpha": -0.1}, r"alpha=-0.1 is not a number in \[0, 1\]"),
        ({"alpha": float("nan")}, r"alpha=nan is not a number in \[0, 1\]"),
        ({"lambda_g": -1.0}, "lambda_g=-1.0 is not a number in "),
        ({"lambda_g": float("inf")}, "lambda_g=inf is not a number in "),
        ({"lambda_g": float("nan")}, "lambda_g=nan is not a number in "),
        ({"epsilon": 0.0}, r"epsilon=0.0 is not a number in \[1e-12, 0.999\]: 0.001 is the default"),
        ({"off_support": "none"}, r"unknown off_support 'none': use one of \['least_wanted', 'flat'\]"),
        ({"off_support_reward": float("-inf")}, "off_support_reward=-inf is not a number in "),
        ({"off_support_reward": None}, "off_support_reward=None is not a number in "),
        ({"gate_floor": 1.5}, r"gate_floor=1.5 is not a number in .*: 0 keeps a correct response from earning less"),
        ({"gate_floor": False}, "gate_floor=False is not a number in "),
        ({"gate_floor": 0.0}, "gate_floor=0.0 with form=additive: only the gated form has a gate"),
        ({"form": "gapo", "off_support": "flat"}, "off_support=flat with form=gapo: GAPO has a penalty of its own"),
        ({"divergence": ["l2"]}, "unknown divergence"),
        ({"epsilon": 1.0}, r"epsilon=1.0 is not a number in \[1e-12, 0.999\]"),
        ({"epsilon": float("nan")}, r"epsilon=nan is not a number in \[1e-12, 0.999\]"),
    ],
)
def test_a_bad_setting_is_refused_with_its_value_and_the_remedy(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        RewardConfig(**wrong)


def test_the_limits_of_each_setting_are_allowed() -> None:
    RewardConfig(alpha=0.0, lambda_g=0.0)
    RewardConfig(alpha=1.0)


def test_a_config_cannot_change_after_it_was_checked() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RewardConfig().alpha = 2.0  # type: ignore[misc]


# Eight responses, the last two hinted: six are counted, q = (3/6, 2/6, 0), one of them off-support.
HINTED_EIGHT = np.array([0, 0, 0, 1, 1, OFF_SUPPORT, 2, 0])
MARKS = np.array([False] * 6 + [True] * 2)


@pytest.mark.parametrize(
    ("divergence", "own", "absent"),
    [
        ("l2", [1 / 3 - 1 / 2, 0.0], 1 / 3 - 1 / 6),
        ("fkl", [2 / 3 - 1, 0.0], 2 - 1),
        ("rkl", [log(2 / 3), 0.0], log(2)),  # a uniform target is its own smoothing
        ("jsd", [0.5 * log(5 / 6), 0.0], 0.5 * log(1.5)),  # m/q = (1 + 2/3) / 2 and (1 + 2) / 2
    ],
)
def test_hinted_responses_are_rewarded_by_the_frequencies_of_the_others(
    divergence: str, own: list[float], absent: float
) -> None:
    config = RewardConfig(divergence=divergence, alpha=0.0)
    score = score_group(HINTED_EIGHT, [True] * 8, uniform(3), config, MARKS)
    np.testing.assert_allclose(score.frequency, [3 / 6, 2 / 6, 0])
    # The seventh, alone in its category, earns what one of the six would; the eighth missed, and earns as its own does.
    expected = [own[0]] * 3 + [own[1]] * 2 + [min(-1.0, own[0]), absent, own[0]]
    np.testing.assert_allclose(score.divergence_reward, expected, atol=1e-12)
    np.testing.assert_array_equal(score.reward, score.divergence_reward)


@given(group=groups, target=targets, config=configs)
def test_marks_that_mark_nothing_change_no_bit(group: Group, target: NDArray[np.float64], config: RewardConfig) -> None:
    indices, correct = group
    plain = score_group(indices, correct, target, config)
    marked = score_group(indices, correct, target, config, np.zeros(indices.size, dtype=np.bool_))
    for name in ("reward", "correctness", "divergence_reward", "frequency"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(marked, name))


@given(group=groups, target=targets, config=configs, hits=st.integers(1, 4), asked=st.integers(0, K - 1))
def test_the_others_earn_of_the_divergence_what_they_would_earn_by_themselves(
    group: Group, target: NDArray[np.float64], config: RewardConfig, hits: int, asked: int
) -> None:
    config = dataclasses.replace(config, form="additive")
    indices, correct = group
    own = indices.size
    alone = score_group(indices, correct, target, config)
    with_hints = score_group(
        np.array([*indices, *[asked] * hits]), [*correct, *[True] * hits], target, config, np.arange(own + hits) >= own
    )
    on_support = indices != OFF_SUPPORT
    np.testing.assert_array_equal(with_hints.divergence_reward[:own][on_support], alone.divergence_reward[on_support])
    np.testing.assert_array_equal(with_hints.frequency, alone.frequency)
    assert np.isfinite(with_hints.reward).all()


def test_a_group_of_which_only_hinted_responses_came_back_is_scored_too() -> None:
    score = score_group(
        np.array([2, 2, OFF_SUPPORT]), [True, False, True], uniform(3), RewardConfig("l2"), np.ones(3, bool)
    )
    np.testing.assert_allclose(score.divergence_reward, [1 / 3 - 1, 1 / 3 - 1, -1.0])  # one response: q = 1


def test_marks_for_another_number_of_responses_and_under_gapo_are_refused() -> None:
    with pytest.raises(MadrlError, match="4 categories but 8 marks of hinted responses"):
        score_group(FOUR, FOUR_CORRECT, FOUR_TARGET, RewardConfig(), MARKS)
    with pytest.raises(MadrlError, match="GAPO has no rule for them"):
        score_group(FOUR, FOUR_CORRECT, uniform(3), RewardConfig(form="gapo"), np.ones(4, bool))


def test_an_unclassified_response_earns_what_the_others_earn_on_average_and_is_counted_nowhere() -> None:
    indices = np.array([0, 0, UNCLASSIFIED, 1, UNCLASSIFIED, OFF_SUPPORT])
    score = score_group(indices, [True] * 6, uniform(2), RewardConfig("l2", alpha=0.5))
    np.testing.assert_array_equal(score.frequency, [2 / 4, 1 / 4])  # of four, the off-support one among them
    # 1/2 - 2/4 twice, 1/2 - 1/4 and -1: a mean of -3/16
    np.testing.assert_allclose(score.divergence_reward, [0, 0, -3 / 16, 1 / 4, -3 / 16, -1])
    np.testing.assert_allclose(score.reward, 0.5 + 0.5 * score.divergence_reward)


def test_unclassified_responses_of_gapo_are_no_valid_ones_and_no_invalid_ones() -> None:
    score = score_group(np.array([0, UNCLASSIFIED, 0, 1]), [True] * 4, uniform(2), RewardConfig(form="gapo", alpha=0.0))
    np.testing.assert_allclose(score.reward, [5 / 6, 17 / 18, 5 / 6, 7 / 6])  # 1 - (2/3 - 1/2), 1 - (1/3 - 1/2)


@st.composite
def with_lost(draw: st.DrawFn) -> tuple[Group, NDArray[np.bool_]]:
    """A group with unclassified responses put in anywhere, and which they are."""
    indices, correct = draw(groups)
    lost = np.array(draw(st.permutations([True] * draw(st.integers(1, 4)) + [False] * indices.size)))
    whole = np.full(lost.size, UNCLASSIFIED)
    whole[~lost] = indices
    known = iter(correct)
    verdicts = [draw(st.sampled_from([True, False, None])) if gone else next(known) for gone in lost]
    return (whole, verdicts), lost


@given(group=with_lost(), target=targets, config=configs, calibrate=st.booleans(), hints=st.booleans())
def test_an_unclassified_response_changes_what_no_other_earns_of_the_divergence(
    group: tuple[Group, NDArray[np.bool_]],
    target: NDArray[np.float64],
    config: RewardConfig,
    calibrate: bool,
    hints: bool,
) -> None:
    (indices, correct), lost = group
    if calibrate and config.form in ("additive", "gated") and (~lost).sum() <= 8:
        config = dataclasses.replace(config, calibrate=True)
    hinted = np.arange(lost.size) >= lost.size - 2 if hints and config.form != "gapo" else np.zeros(lost.size, bool)
    without = score_group(
        indices[~lost], [c for c, gone in zip(correct, lost, strict=True) if not gone], target, config, hinted[~lost]
    )
    score = score_group(indices, correct, target, config, hinted)
    np.testing.assert_array_equal(score.divergence_reward[~lost], without.divergence_reward)
    np.testing.assert_array_equal(score.frequency, without.frequency)
    np.testing.assert_allclose(score.divergence_reward.mean(), without.divergence_reward.mean(), rtol=1e-9, atol=1e-12)
    assert np.ptp(score.divergence_reward[lost]) == 0, "whoever is lost earns the same"


@every_form
@every_divergence
def test_a_group_that_nobody_could_classify_is_taught_nothing_about_the_distribution(
    divergence: str, form: str
) -> None:
    score = score_group(np.full(3, UNCLASSIFIED), [True, False, None], uniform(K), RewardConfig(divergence, form))
    np.testing.assert_array_equal(score.divergence_reward, [0, 0, 0])
    np.testing.assert_array_equal(score.frequency, np.zeros(K))
    equal = score_group(np.full(3, UNCLASSIFIED), [None] * 3, uniform(K), RewardConfig(divergence, form))
    assert np.ptp(equal.reward) == 0


def test_a_group_is_calibrated_for_the_responses_that_are_counted() -> None:
    config = RewardConfig("rkl", calibrate=True)
    target = np.array([0.1, 0.3, 0.6])
    own = np.array([0, 1, 2, 2, 2, 1])
    alone = score_group(own, [True] * 6, target, config).divergence_reward
    beside = score_group(np.append(own, [UNCLASSIFIED] * 2), [True] * 8, target, config).divergence_reward
    np.testing.assert_array_equal(beside[:6], alone)
