"""Clustered bootstrap intervals: what is resampled, where they lie, and how often they cover the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from madrl.divergence import jensen_shannon_value
from madrl.evaluation.intervals import (
    effective_samples,
    jsd_interval,
    mixed_ratio_interval,
    ratio_interval,
    resampled_sums,
)
from madrl.targets import peak, uniform

Array = NDArray[np.float64]

tables = st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=12).map(
    lambda rows: np.array(rows, dtype=np.float64)
)


def collapsed(per_category: int, n_categories: int = 5, responses: int = 4) -> Array:
    """Problems whose responses all share one category, as many problems for each category."""
    return np.repeat(np.eye(n_categories) * responses, per_category, axis=0)


# Resampling.


def test_a_resample_holds_as_many_problems_as_there_are_and_all_responses_of_each() -> None:
    table = np.array([[1.0, 1.0], [10.0, 1.0], [100.0, 1.0]])
    sums = resampled_sums(table, draws=200)
    assert set(sums[:, 1]) == {3.0}
    # every first column is a sum of three of 1, 10, 100, and all ten such sums come up
    assert {*sums[:, 0]} == {float(a + b + c) for a in (1, 10, 100) for b in (1, 10, 100) for c in (1, 10, 100)}


def test_the_mean_resample_is_the_table_and_its_spread_that_of_problems() -> None:
    table: Array = np.arange(40, dtype=np.float64)[:, None]
    sums = resampled_sums(table)[:, 0]
    # 40 independent draws from 0..39: mean 40 x 19.5, variance 40 x (40^2 - 1) / 12
    assert sums.mean() == pytest.approx(780, rel=0.005)
    assert sums.std() == pytest.approx((40 * 1599 / 12) ** 0.5, rel=0.03)


def test_resampling_repeats_itself_and_leaves_numpy_s_global_random_state_alone() -> None:
    table = collapsed(3)
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    np.testing.assert_array_equal(resampled_sums(table, 50, seed=1), resampled_sums(table, 50, seed=1))
    assert (resampled_sums(table, 50, seed=1) != resampled_sums(table, 50, seed=2)).any()
    assert np.random.random() == expected


def test_many_problems_are_drawn_in_parts_that_fill_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madrl.evaluation.intervals.CHUNK", 35)
    sums = resampled_sums(np.ones((10, 2)), draws=8)  # three resamples at a time: 3 + 3 + 2
    np.testing.assert_array_equal(sums, np.full((8, 2), 10.0))


# Ratios.


def test_an_interval_of_independent_problems_is_the_textbook_s() -> None:
    right = np.repeat([1.0, 0.0], [120, 80])
    sums = resampled_sums(np.column_stack([right, np.ones(200)]))
    interval = ratio_interval(sums[:, 0], sums[:, 1])
    assert interval is not None
    # 0.6 +- 1.96 sqrt(0.6 x 0.4 / 200) = 0.6 +- 0.068
    assert interval == pytest.approx((0.532, 0.668), abs=0.006)


def test_four_responses_that_always_agree_are_worth_one() -> None:
    right = np.repeat([1.0, 0.0], [120, 80])
    one = resampled_sums(np.column_stack([right, np.ones(200)]))
    four = resampled_sums(np.column_stack([4 * right, np.full(200, 4.0)]))
    assert ratio_interval(four[:, 0], four[:, 1]) == ratio_interval(one[:, 0], one[:, 1])


def test_resamples_with_nothing_to_divide_by_are_left_out() -> None:
    interval = ratio_interval(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 2.0]))
    assert interval == pytest.approx((0.5125, 0.9875))  # of 0.5 and 1.0
    assert ratio_interval(np.zeros(3), np.zeros(3)) is None
    assert ratio_interval(np.empty(0), np.empty(0)) is None


def test_a_resample_without_any_weight_is_left_out_and_counts_may_be_whole_numbers() -> None:
    """Where prompts have targets of their own, one that holds no response on any has none."""
    weights, right = np.array([[0.5, 0.5], [0.0, 0.0]]), np.array([[4, 2], [0, 0]])
    assert mixed_ratio_interval(weights, right, right) == (1.0, 1.0)
    assert mixed_ratio_interval(np.array([0.5, 0.5]), right, right) == (1.0, 1.0), "of those that lack a category"


# The pooled JSD.


@settings(deadline=None, max_examples=60)
@given(tables, st.sampled_from([uniform(3), peak(3), np.array([0.7, 0.2, 0.1])]))
def test_a_jsd_interval_is_ordered_and_never_negative(table: Array, target: Array) -> None:
    interval = jsd_interval(target, table.sum(axis=0), resampled_sums(table, 100))
    if not table.any():
        assert interval is None
    elif interval is not None:
        assert 0.0 <= interval.low <= interval.high <= np.log(2)


@settings(deadline=None, max_examples=30)
@given(tables.filter(lambda table: bool(table.any())), st.permutations(range(3)))
def test_a_jsd_interval_does_not_depend_on_the_order_of_the_categories(table: Array, order: list[int]) -> None:
    target = np.array([0.7, 0.2, 0.1])
    drawn = resampled_sums(table, 100)
    there = jsd_interval(target, table.sum(axis=0), drawn)
    again = jsd_interval(target[order], table.sum(axis=0)[order], drawn[:, order])
    assert (there is None) == (again is None)
    assert again == (None if there is None else pytest.approx(there, abs=1e-12))


def test_the_interval_of_collapsed_problems_is_wider_than_that_of_varied_ones() -> None:
    varied = np.array([[3.0, 1.0]] * 50 + [[1.0, 3.0]] * 50)
    alike = np.array([[4.0, 0.0]] * 50 + [[0.0, 4.0]] * 50)
    target = np.array([0.8, 0.2])
    narrow, wide = (jsd_interval(target, t.sum(axis=0), resampled_sums(t)) for t in (varied, alike))
    assert narrow is not None
    assert wide is not None
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_an_interval_does_not_go_beyond_the_largest_jsd() -> None:
    # Two problems, 10 unwanted responses and 1 wanted: the many make the measured JSD large, but half as many resamples
    # hold the one alone (JSD 0) as hold both, so the bias is negative and the interval moves up.
    table = np.array([[10.0, 0.0], [0.0, 1.0]])
    interval = jsd_interval(np.array([0.0, 1.0]), table.sum(axis=0), resampled_sums(table))
    assert interval is not None
    assert interval.high == np.log(2)


def simulated(generator: np.random.Generator, policy: Array, concentration: float) -> Array:
    """An evaluation of 60 problems, 4 responses each, whose mixes scatter about the policy's as a Dirichlet."""
    mixes = generator.dirichlet(np.maximum(policy * concentration, 1e-9), size=60)
    return generator.multinomial(4, mixes).astype(np.float64)


@pytest.mark.parametrize("concentration", [1e6, 2.0], ids=["all problems alike", "problems differ"])
@pytest.mark.parametrize(
    "policy", [peak(5), np.array([0.02, 0.02, 0.32, 0.32, 0.32]), np.array([0.4, 0.0, 0.3, 0.2, 0.1])]
)
def test_the_jsd_interval_covers_the_policy_s_own_jsd(policy: Array, concentration: float) -> None:
    generator = np.random.default_rng(0)
    truth = jensen_shannon_value(peak(5), policy)
    covered = 0
    for _ in range(150):
        table = simulated(generator, policy, concentration)
        interval = jsd_interval(peak(5), table.sum(axis=0), resampled_sums(table, 300))
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    assert covered / 150 >= 0.90  # 95 % less 2.8 standard errors of 150 trials


# The effective number of samples.


def test_collapsed_problems_are_worth_one_response_each() -> None:
    # 20 problems: deff = 4 responses x 20 / 19 (the variance between problems is taken with P - 1)
    assert effective_samples(collapsed(4)) == pytest.approx(80 / (4 * 20 / 19))


def test_problems_of_one_cluster_are_worth_one_response_where_they_are_alike() -> None:
    # 20 clusters of 3 problems, 4 responses each: as 20 problems of 12
    table = np.repeat(collapsed(4), 3, axis=0)
    assert effective_samples(table, None, np.repeat(np.arange(20), 3)) == pytest.approx(240 / (12 * 20 / 19))


def test_independent_responses_are_worth_what_they_are() -> None:
    table = np.random.default_rng(0).multinomial(4, uniform(5), size=5000).astype(np.float64)
    assert effective_samples(table) == pytest.approx(20_000, rel=0.03)


def test_responses_that_are_more_varied_than_chance_are_worth_no_more_than_they_are() -> None:
    assert effective_samples(np.full((10, 2), 2.0)) == 40.0


@pytest.mark.parametrize("table", [np.array([[3.0, 1.0]]), np.array([[4.0, 0.0], [4.0, 0.0]]), np.zeros((3, 2))])
def test_without_two_problems_and_two_categories_the_effect_of_clustering_is_unknown(table: Array) -> None:
    assert effective_samples(table) is None
