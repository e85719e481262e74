"""Shares, rates and the JSD floor, against numbers worked by hand and an exact enumeration."""

from itertools import product
from math import factorial, inf, log, prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from madrl.divergence import jensen_shannon_terms, jensen_shannon_value
from madrl.errors import MadrlError
from madrl.evaluation.metrics import (
    MAX_FLOOR_SAMPLES,
    Floor,
    divergence_values,
    exceeds,
    jsd_floor,
    jsd_per_prompt_floor,
    jsd_to_target,
    off_support_rate,
    pass_at_1,
    shares,
    single_category_rate,
)
from madrl.frequency import OFF_SUPPORT
from madrl.targets import peak, uniform

NOTHING = np.array([], dtype=np.int64)
ALL_OFF_SUPPORT = np.array([OFF_SUPPORT, OFF_SUPPORT])
# Three of a, one of b, none of c, and one off-support.
FIVE = np.array([0, 0, OFF_SUPPORT, 1, 0])

samples = st.lists(st.integers(OFF_SUPPORT, 4), min_size=1, max_size=60).map(lambda s: np.array(s, dtype=np.int64))


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_a_target_that_float32_has_rounded_has_a_floor(weights: list[int]) -> None:
    rounded = (np.array(weights) / sum(weights)).astype(np.float32)
    assert jsd_floor(np.append(rounded, 0.0), 10, 10).mean > 0


def test_a_target_with_a_share_below_0_is_refused() -> None:
    with pytest.raises(MadrlError, match=r"target \[1.5, -0.5\] has a share below 0"):
        jsd_floor(np.array([1.5, -0.5]), 10)


def test_shares_are_of_the_on_support_responses_only() -> None:
    np.testing.assert_array_equal(shares(FIVE, 3), [0.75, 0.25, 0])  # of 4, not of 5


@pytest.mark.parametrize("indices", [NOTHING, ALL_OFF_SUPPORT])
def test_shares_of_nothing_are_nan_and_not_zero(indices: NDArray[np.int64]) -> None:
    np.testing.assert_array_equal(shares(indices, 3), [np.nan, np.nan, np.nan])


@given(samples, st.randoms(use_true_random=False))
def test_shares_sum_to_one_and_do_not_depend_on_order(indices: NDArray[np.int64], random: Random) -> None:
    pooled = shares(indices, 5)
    shuffled = indices[random.sample(range(indices.size), indices.size)]
    np.testing.assert_array_equal(shares(shuffled, 5), pooled)
    if (indices != OFF_SUPPORT).any():
        assert pooled.sum() == pytest.approx(1, abs=1e-12)


def test_off_support_rate_is_of_all_responses() -> None:
    assert off_support_rate(FIVE) == 0.2
    assert off_support_rate(ALL_OFF_SUPPORT) == 1
    assert off_support_rate(np.array([0, 1])) == 0
    assert off_support_rate(NOTHING) is None


def test_pass_at_1_leaves_ungraded_responses_out_and_does_not_count_them_as_wrong() -> None:
    assert pass_at_1([True, None, False, True]) == pytest.approx(2 / 3)
    assert pass_at_1([False, None]) == 0


def test_pass_at_1_counts_a_response_that_is_correct_in_part_in_part() -> None:
    assert pass_at_1([1.0, 0.25, None, 0.0]) == pytest.approx(1.25 / 3)


@pytest.mark.parametrize("correct", [[], [None], [None, None]])
def test_pass_at_1_of_nothing_graded_is_none_and_not_zero(correct: list[bool | None]) -> None:
    assert pass_at_1(correct) is None


def test_jsd_to_target_is_in_nats_and_leaves_off_support_responses_out() -> None:
    # Shares (1/4, 3/4) against (1/2, 1/2): 0.033822, worked in tests/test_divergence.py.
    indices = np.array([0, 1, 1, 1, OFF_SUPPORT, OFF_SUPPORT])
    assert jsd_to_target(np.array([0.5, 0.5]), indices) == pytest.approx(0.033822, abs=1e-6)
    # All in an excluded category: log 2 in nats (1 in bits).
    assert jsd_to_target(peak(5), np.array([0, 0, 0])) == pytest.approx(log(2), abs=1e-15)


def test_jsd_to_target_pools_the_responses_of_all_prompts() -> None:
    # Every prompt's group is in one category, yet pooled they sit on the target: see single_category_rate.
    groups = [np.array([c, c]) for c in range(5)]
    assert jsd_to_target(uniform(5), np.concatenate(groups)) == 0
    assert single_category_rate(groups) == 1


@pytest.mark.parametrize("indices", [NOTHING, ALL_OFF_SUPPORT])
def test_jsd_of_nothing_on_support_is_none_and_not_zero(indices: NDArray[np.int64]) -> None:
    assert jsd_to_target(uniform(3), indices) is None


@given(samples)
def test_jsd_to_target_is_between_zero_and_log_2(indices: NDArray[np.int64]) -> None:
    value = jsd_to_target(peak(5), indices)
    assert value is None or 0 <= value <= log(2) + 1e-15


@pytest.mark.parametrize(
    ("group", "single"),
    [
        ([2, 2, 2], True),
        ([2], True),
        ([2, 2, 1], False),
        ([2, 2, OFF_SUPPORT], True),
        ([OFF_SUPPORT, 2, 1], False),
        ([OFF_SUPPORT, OFF_SUPPORT], False),
        ([], False),
    ],
)
def test_a_single_category_group_has_one_and_the_same_category_in_every_on_support_response(
    group: list[int], single: bool
) -> None:
    assert single_category_rate([np.array(group, dtype=np.int64)]) == single


def test_single_category_rate_is_of_all_groups() -> None:
    groups = [np.array([0, 0]), np.array([0, 1]), ALL_OFF_SUPPORT, np.array([1, 1])]
    assert single_category_rate(groups) == 0.5
    assert single_category_rate([]) is None


def test_all_four_divergences_of_pooled_shares_worked_by_hand() -> None:
    values = divergence_values(np.array([0.5, 0.5]), np.array([0.75, 0.25]), epsilon=0.5)  # smoothing leaves it uniform
    # l2: 1/2 (1/16 + 1/16); fkl: 1/2 log(2/3) + 1/2 log 2; rkl: 3/4 log(3/2) + 1/4 log(1/2)
    assert values == pytest.approx({"l2": 0.0625, "fkl": 0.143841, "rkl": 0.130812, "jsd": 0.033822}, abs=1e-6)


def test_forward_kl_is_infinite_without_a_wanted_category_and_reverse_kl_never_is() -> None:
    target = np.array([0.0, 1.0])
    values = divergence_values(target, np.array([1.0, 0.0]), epsilon=0.01)
    # rkl: the excluded category has 0.01 / 2 of the smoothed target
    assert values == pytest.approx({"l2": 1.0, "fkl": inf, "rkl": -log(0.005), "jsd": log(2)})


def test_reverse_kl_at_a_peaked_target_is_what_smoothing_leaves() -> None:
    values = divergence_values(peak(5), peak(5), epsilon=0.001)
    assert values == pytest.approx({"l2": 0.0, "fkl": 0.0, "rkl": -log(1 - 0.0004), "jsd": 0.0}, abs=1e-12)


# The floor.


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("target", "n_samples", "two_digits"),
    [
        (uniform(5), 32, "0.017"),  # 0.0168
        (peak(5), 32, "0.0081"),
        (uniform(5), 800, "0.00063"),
        (peak(5), 800, "0.00031"),
    ],
)
def test_the_floor_of_the_paper_s_settings_is_the_same_to_two_digits_for_any_seed(
    target: NDArray[np.float64], n_samples: int, two_digits: str, seed: int
) -> None:
    assert f"{jsd_floor(target, n_samples, draws=100, seed=seed).mean:.2g}" == two_digits


def _exact_mean(target: NDArray[np.float64], n_samples: int) -> float:
    """E[JSD], by running through every possible multiset of counts."""
    mean = 0.0
    for counts in product(range(n_samples + 1), repeat=target.size):
        if sum(counts) == n_samples:
            ways = factorial(n_samples) / prod(factorial(n) for n in counts)
            probability = ways * float(np.prod(target ** np.array(counts)))
            mean += probability * jensen_shannon_value(target, np.array(counts) / n_samples)
    return mean


@pytest.mark.parametrize("target", [uniform(3), peak(4), np.array([0.7, 0.2, 0.1]), np.array([0.0, 1.0])])
@pytest.mark.parametrize("n_samples", [1, 2, 7])
def test_the_floor_s_mean_is_exact(target: NDArray[np.float64], n_samples: int) -> None:
    assert jsd_floor(target, n_samples, draws=1).mean == pytest.approx(_exact_mean(target, n_samples), abs=1e-14)


def test_one_sample_of_a_fair_coin_is_always_equally_far_off() -> None:
    # q = (1, 0), m = (3/4, 1/4): 1/2 (1/2 ln(2/3) + 1/2 ln 2) + 1/2 ln(4/3) = 0.071921 + 0.143841
    floor = jsd_floor(uniform(2), 1, draws=10)
    assert floor.mean == pytest.approx(0.215762, abs=1e-6)
    assert floor.p95 == pytest.approx(0.215762, abs=1e-6)


def test_the_percentile_and_the_mean_are_those_of_the_metric_itself() -> None:
    target, n_samples, draws = np.array([0.0, 0.5, 0.3, 0.2]), 20, 20_000
    counts = np.random.default_rng(1).multinomial(n_samples, target, size=draws)
    measured = [jsd_to_target(target, np.repeat(np.arange(4), row)) for row in counts]
    floor = jsd_floor(target, n_samples, draws=draws, seed=1)  # the same draws, from the same seed
    assert floor.p95 == pytest.approx(np.quantile(np.array(measured, dtype=float), 0.95), abs=1e-14)
    assert floor.mean == pytest.approx(np.mean(np.array(measured, dtype=float)), rel=0.03)  # 4 standard errors


def test_the_floor_shrinks_as_k_minus_1_over_8_n() -> None:
    # A chi-square expansion of the JSD about the target: E = (K - 1) / (8 n) + O(1 / n^2).
    assert jsd_floor(uniform(5), 100_000, draws=10).mean == pytest.approx(4 / 800_000, rel=1e-3)


def test_a_target_of_one_category_has_no_floor() -> None:
    assert jsd_floor(peak(3), 32) == Floor(0.0, 0.0, 100_000)


def test_the_same_seed_gives_the_same_floor_and_another_seed_another_percentile() -> None:
    target = np.array([0.7, 0.2, 0.1])
    assert jsd_floor(target, 50, seed=3) == jsd_floor(target, 50, seed=3)
    assert jsd_floor(target, 500, draws=100, seed=3).p95 != jsd_floor(target, 500, draws=100, seed=4).p95


@pytest.mark.parametrize(
    ("target", "n", "floor"),
    [(uniform(5), 32, 0.0168), (peak(5), 32, 0.0081), (uniform(5), 4, 0.182), (peak(5), 4, 0.095)],
)
def test_the_floor_of_single_prompts_falls_with_the_responses_to_each_and_not_with_more_prompts(
    target: NDArray[np.float64], n: int, floor: float
) -> None:
    # The paper's: "at K=5 and G=32 the finite-sample floor is 0.017 nats on the uniform target and 0.008 on the peaked
    # one".
    few, many = (jsd_per_prompt_floor(target, (n,) * prompts) for prompts in (20, 80))
    assert few.mean == pytest.approx(many.mean, abs=1e-12)
    assert few.mean == pytest.approx(jsd_floor(target, n, draws=1).mean, abs=1e-12)
    assert few.mean == pytest.approx(floor, abs=6e-4)
    assert many.p95 - many.mean == pytest.approx((few.p95 - few.mean) / 2, rel=0.1)  # the scatter of a mean does


@pytest.mark.parametrize("counts", [(32,) * 80, (4,) * 60, (32,) * 3, (30, 31, 32, 20) * 10, (1, 2, 4) * 20])
@pytest.mark.parametrize("target", [uniform(5), peak(5), np.array([0.7, 0.2, 0.1])])
def test_one_policy_in_twenty_on_the_target_is_above_the_percentile_of_single_prompts(
    target: NDArray[np.float64], counts: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(7)
    shares = np.stack([generator.multinomial(n, target, size=20_000) / n for n in counts])
    measured = jensen_shannon_terms(target, shares).sum(axis=2).mean(axis=0)
    floor = jsd_per_prompt_floor(target, counts)
    assert measured.mean() == pytest.approx(floor.mean, rel=0.015)  # 3 standard errors with 3 prompts
    assert 0.035 < (measured > floor.p95).mean() < 0.065


@pytest.mark.parametrize(
    ("target", "n", "prompts"),
    [
        ((0.999, 0.001), 4, 1),
        ((0.999, 0.001), 4, 40),
        ((0.99, 0.01), 4, 2),
        ((0.99, 0.01), 4, 5),
        ((0.99, 0.01), 2, 8),
        ((0.9, 0.1), 4, 1),
        ((0.9, 0.1), 2, 12),
        ((0.2,) * 5, 2, 1),
    ],
)
def test_the_percentile_of_few_single_prompts_or_nearly_certain_targets_is_one_that_they_can_show(
    target: tuple[float, ...], n: int, prompts: int
) -> None:
    floor = jsd_per_prompt_floor(np.array(target), [n] * prompts)
    shares = np.random.default_rng(1).multinomial(n, target, (2000, prompts)) / n
    shown = jensen_shannon_terms(np.array(target), shares).sum(axis=2).mean(axis=1).tolist()
    above = np.mean([exceeds(value, floor.p95) for value in shown])
    assert above <= 0.065, "0.05, and three standard errors of 2000"
    assert not exceeds(floor.p95, max(shown))


def test_prompts_with_different_numbers_of_responses_have_the_mean_of_their_floors() -> None:
    expected = (2 * jsd_floor(uniform(5), 32, draws=1).mean + jsd_floor(uniform(5), 4, draws=1).mean) / 3
    assert jsd_per_prompt_floor(uniform(5), (32, 4, 32)).mean == pytest.approx(expected, abs=1e-14)


def test_a_target_of_one_category_has_no_floor_of_single_prompts() -> None:
    assert jsd_per_prompt_floor(peak(3), (32, 4))[:2] == (0.0, 0.0)


def test_the_floor_leaves_numpy_s_global_random_state_alone() -> None:
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    jsd_floor(uniform(3), 10)
    assert np.random.random() == expected


@pytest.mark.parametrize(
    ("n_samples", "draws", "seed", "message"),
    [
        (0, 10, 0, "samples=0 is outside 1..10000000"),
        (-5, 10, 0, "samples=-5 is outside"),
        (MAX_FLOOR_SAMPLES + 1, 10, 0, "samples=10000001 is outside"),
        (32, 0, 0, "draws=0 must be at least 1"),
        (32, 10, -1, "seed=-1 must be 0 or more"),
    ],
)
def test_a_bad_floor_setting_is_refused_by_name(n_samples: int, draws: int, seed: int, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        jsd_floor(uniform(3), n_samples, draws, seed)


def test_the_floor_of_a_target_that_does_not_sum_to_1_is_refused_and_a_list_is_an_array() -> None:
    with pytest.raises(MadrlError, match=r"target \[0.2, 0.2, 0.2\] does not sum to 1"):
        jsd_floor(np.array([0.2, 0.2, 0.2]), 100)
    assert jsd_floor([0.5, 0.5], 100) == jsd_floor(uniform(2), 100)  # type: ignore[arg-type]
