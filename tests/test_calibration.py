"""Calibrated targets: the offsets put the resting point of GRPO's update on the target, and nowhere else."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl import calibration
from madrl.calibration import MIN_GROUP, Reward, expected_update, offsets, resting_shares
from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.group_reward import GroupReward
from madrl.prompt_targets import PromptTarget
from madrl.reward import RewardConfig, score_group
from madrl.rollout import Grade
from madrl.targets import peak, uniform

SKEWED = (0.6, 0.2, 0.1, 0.05, 0.05)


def mean_advantages(calibrate: bool, norm_by_std: bool, groups: int = 4_000) -> list[float]:
    """What GRPO's advantages of each category sum to in groups of 16 from a policy on SKEWED, per response, by
    ``score_group`` itself: positive is pushed up."""
    target, generator = np.array(SKEWED), np.random.default_rng(7)
    config = RewardConfig(divergence="rkl", alpha=0.0, calibrate=calibrate, norm_by_std=norm_by_std)
    pushed = np.zeros(5)
    for _ in range(groups):
        indices = generator.choice(5, size=16, p=target)
        reward = score_group(indices, [None] * 16, target, config).reward
        if np.ptp(reward) > 0:
            advantage = (reward - reward.mean()) / (reward.std(ddof=1) if norm_by_std else 1.0)
            pushed += np.bincount(indices, weights=advantage, minlength=5)
    means: list[float] = (pushed / (16 * groups)).tolist()
    return means


@pytest.mark.parametrize("norm_by_std", [True, False])
def test_at_the_target_plain_rewards_push_rare_categories_down_and_calibrated_ones_push_nothing(
    norm_by_std: bool,
) -> None:
    plain, calibrated = (mean_advantages(calibrate, norm_by_std) for calibrate in (False, True))
    # 16 x 0.05 = 0.8 in a group: a lone response has q = 1/16 > 0.05, so that its reward is negative.
    assert plain[3] < -0.02
    assert plain[4] < -0.02
    assert plain[0] > 0.05
    # 4,000 groups of 16 leave a standard error of about 0.003 at the most.
    assert calibrated == pytest.approx([0.0] * 5, abs=0.012)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("size", [8, 16, 32])
@pytest.mark.parametrize("norm_by_std", [True, False])
def test_the_expected_update_at_the_target_is_zero_with_the_offsets(
    divergence: str, size: int, norm_by_std: bool
) -> None:
    reward = Reward(SKEWED, size, divergence, 1e-3, norm_by_std)
    plain = np.abs(expected_update(reward, np.array(SKEWED))).max()
    assert np.abs(expected_update(reward, np.array(SKEWED), offsets(reward), seed=1)).max() < 0.1 * plain


@pytest.mark.parametrize(("target", "size"), [((0.95, 0.05), 16), ((0.6, 0.4), 8), (SKEWED, 4)])
def test_where_a_group_holds_two_categories_and_no_offset_is_exact_the_best_one_found_is_taken(
    target: tuple[float, ...], size: int
) -> None:
    reward = Reward(target, size, "rkl", 1e-3)
    plain, calibrated = (
        np.abs(expected_update(reward, np.array(target), delta)).max() for delta in (0.0, offsets(reward))
    )
    assert 0.001 < calibrated <= plain


@pytest.mark.parametrize(("target", "size", "divided"), [((0.95, 0.05), 16, 0.01), ((0.9, 0.1), 8, 0.03)])
def test_without_the_division_two_categories_come_to_rest_on_the_target(
    target: tuple[float, ...], size: int, divided: float
) -> None:
    shares = {norm: resting_shares(Reward(target, size, "rkl", 1e-3, norm), True) for norm in (True, False)}
    assert shares[False] == pytest.approx(target, abs=0.005)
    assert np.abs(shares[True] - target).max() > divided


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("target", [uniform(5), peak(5), uniform(1)])
def test_offsets_of_equal_targets_are_exactly_zero_so_that_the_papers_runs_stay_as_they_are(
    divergence: str, target: np.ndarray
) -> None:
    assert not offsets(Reward(tuple(target.tolist()), 16, divergence, 1e-3)).any()


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=16), st.sampled_from(sorted(DIVERGENCES)))
def test_a_calibrated_reward_towards_an_equal_target_is_the_plain_one_bit_for_bit(
    indices: list[int], divergence: str
) -> None:
    correct = [float(i % 2) for i in range(len(indices))]
    plain, calibrated = (
        score_group(np.array(indices), correct, peak(5), RewardConfig(divergence=divergence, calibrate=calibrate))
        for calibrate in (False, True)
    )
    assert plain.reward.tobytes() == calibrated.reward.tobytes()


def test_offsets_weigh_nothing_under_the_target_and_are_equal_where_it_is() -> None:
    found = offsets(Reward((0.6, 0.0, 0.3, 0.05, 0.05), 16, "rkl", 1e-3))
    assert found[1] == 0.0
    assert found[3] == found[4] > found[2] > found[0]
    assert np.dot((0.6, 0.0, 0.3, 0.05, 0.05), found) == pytest.approx(0.0, abs=1e-12)


def test_groups_below_four_have_no_offsets() -> None:
    assert offsets(Reward(SKEWED, MIN_GROUP, "rkl", 1e-3)).any()
    assert not offsets(Reward(SKEWED, MIN_GROUP - 1, "rkl", 1e-3)).any()


def test_an_off_support_response_earns_what_one_more_in_the_least_wanted_category_would() -> None:
    # English is 14 of 16: log(0.6 / 0.875) and its offset, both negative. One more would earn log(15 / 14) less.
    config = RewardConfig(divergence="rkl", alpha=0.0, calibrate=True, off_support_reward=0.0)
    earned = score_group(np.array([0] * 14 + [4, -1]), [None] * 16, np.array(SKEWED), config).divergence_reward
    assert earned[0] < np.log(0.6 / 0.875)
    assert earned[-1] == pytest.approx(earned[0] - np.log(15 / 14))


def test_offsets_are_those_of_the_responses_that_are_counted() -> None:
    config = RewardConfig(divergence="rkl", alpha=0.0, calibrate=True)
    own = np.array([0] * 10 + [1] * 3 + [4])
    alone = score_group(own, [None] * 14, np.array(SKEWED), config)
    hinted = np.array([False] * 14 + [True] * 2)
    beside = score_group(np.append(own, [3, 3]), [None] * 16, np.array(SKEWED), config, hinted)
    assert beside.divergence_reward[:14].tolist() == alone.divergence_reward.tolist()


def test_a_weight_that_no_sampled_group_holds_leaves_the_others_calibrated() -> None:
    target = np.array([*SKEWED, 1e-7])
    found = offsets(Reward(tuple((target / target.sum()).tolist()), 16, "rkl", 1e-3))
    assert found[:5] == pytest.approx(offsets(Reward(SKEWED, 16, "rkl", 1e-3)), abs=0.02)
    assert np.isfinite(found).all()


def computed(monkeypatch: pytest.MonkeyPatch) -> list[Reward]:
    """The rewards whose offsets are computed from now on."""
    found: list[Reward] = []
    compute = calibration._offsets

    def compute_and_note(reward: Reward) -> np.ndarray[Any, Any]:
        found.append(reward)
        return compute(reward)

    monkeypatch.setattr(calibration, "_offsets", compute_and_note)
    return found


async def test_groups_that_are_scored_at_once_compute_their_offsets_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = computed(monkeypatch)
    reward = GroupReward(
        categories=["a", "b", "c"],
        target={"a": 0.7, "b": 0.2, "c": 0.1},
        classifier=lambda rollout: rollout.response,
        verifier=lambda rollout: True,
        calibrate=True,
    )
    grades = [Grade("a", 1.0)] * 9 + [Grade("b", 1.0)] * 2
    await asyncio.gather(*(reward.of_grades(grades) for _ in range(8)))
    reward.prepare(11)
    assert calls == [Reward((0.7, 0.2, 0.1), 11, "rkl", 1e-3)]


async def test_the_offsets_of_each_prompt_s_own_target_are_computed_once_and_outside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = computed(monkeypatch)
    reward = GroupReward(categories=["a", "b", "c"], classifier=lambda _: "a", verifier=lambda _: True, calibrate=True)
    grades = [Grade("a", 1.0)] * 8 + [Grade("b", 1.0)] * 4
    targets = [PromptTarget(("a", "b", "c"), (0.5, 0.3 + part, 0.2 - part)) for part in (0.01, 0.02, 0.03)]
    threads = set()
    groups = calibration._groups

    def groups_and_note(*of: Any) -> Any:
        threads.add(threading.get_ident())
        return groups(*of)

    monkeypatch.setattr(calibration, "_groups", groups_and_note)
    await asyncio.gather(*(reward.of_grades(grades, None, target) for target in targets * 3))
    assert sorted(call.target for call in calls) == sorted(target.shares for target in targets)
    assert threads
    assert threading.get_ident() not in threads


def test_plain_rewards_come_to_rest_without_the_rare_categories_and_calibrated_ones_on_the_target() -> None:
    reward = Reward(SKEWED, 16, "rkl", 1e-3)
    plain, calibrated = resting_shares(reward, False), resting_shares(reward, True)
    assert plain[3:].max() < 0.001
    assert plain[0] == pytest.approx(0.70, abs=0.01)
    assert calibrated == pytest.approx(SKEWED, abs=0.003)
    assert resting_shares(Reward((0.2,) * 5, 16, "rkl", 1e-3), False) == pytest.approx([0.2] * 5, abs=0.003)
    assert resting_shares(Reward((0.7, 0.0, 0.3), 8, "l2", 1e-3), False)[1] == 0.0


@pytest.mark.parametrize("form", ["rlvr", "gapo"])
def test_a_form_that_does_not_train_on_the_divergence_cannot_be_calibrated(form: str) -> None:
    with pytest.raises(MadrlError, match=rf"^calibrate=True with form={form}, .*: leave it out$"):
        RewardConfig(form=form, calibrate=True)


def test_calibrate_is_true_or_false() -> None:
    with pytest.raises(MadrlError, match=r"^calibrate='yes' is neither true nor false$"):
        RewardConfig(calibrate="yes")  # type: ignore[arg-type]
