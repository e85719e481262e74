"""Paper Table 1: each value, each reward, how they belong together, and the edge of the simplex."""

from math import inf, log
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES, jensen_shannon_reward, jensen_shannon_terms, jensen_shannon_value
from madrl.targets import peak, uniform

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

every_divergence = pytest.mark.parametrize("name", sorted(DIVERGENCES))


def _distribution(weights: list[float]) -> NDArray[np.float64]:
    return np.array(weights, dtype=np.float64) / sum(weights)


def _pairs(weight: st.SearchStrategy[float]) -> st.SearchStrategy[Pair]:
    """Two distributions over the same 2 to 6 categories."""

    def pair(size: int) -> st.SearchStrategy[Pair]:
        one = st.lists(weight, min_size=size, max_size=size).filter(any).map(_distribution)
        return st.tuples(one, one)

    return st.integers(2, 6).flatmap(pair)


interior_pairs = _pairs(st.floats(0.05, 1.0))
pairs_with_zeros = _pairs(st.integers(0, 4).map(float))


@pytest.mark.parametrize(
    ("name", "value", "reward"),
    [
        # p* = (1/2, 1/2), q = (1/4, 3/4), so m = (3/8, 5/8).
        # 1/2 (1/16 + 1/16) = 1/16;  1/2 - 1/4, 1/2 - 3/4
        ("l2", 0.0625, [0.25, -0.25]),
        # 1/2 ln 2 + 1/2 ln(2/3) = 1/2 ln(4/3) = 0.143841;  2 - 1, 2/3 - 1
        ("fkl", 0.143841, [1.0, -1 / 3]),
        # 1/4 ln(1/2) + 3/4 ln(3/2) = -0.173287 + 0.304099;  ln 2, ln(2/3)
        ("rkl", 0.130812, [0.693147, -0.405465]),
        # 1/2 (1/2 ln(4/3) + 1/2 ln(4/5)) + 1/2 (1/4 ln(2/3) + 3/4 ln(6/5))
        #   = 1/2 (0.143841 - 0.111572) + 1/2 (-0.101366 + 0.136741) = 0.033822;  1/2 ln(3/2), 1/2 ln(5/6)
        ("jsd", 0.033822, [0.202733, -0.091161]),
    ],
)
def test_value_and_reward_match_the_numbers_worked_by_hand(name: str, value: float, reward: list[float]) -> None:
    target, empirical = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    assert DIVERGENCES[name].value(target, empirical) == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(DIVERGENCES[name].reward(target, empirical), reward, atol=1e-6)


def test_a_policy_in_one_category_is_0_4228_nats_from_uniform_and_log_2_from_a_peak_that_excludes_it() -> None:
    collapsed = np.array([1.0, 0, 0, 0, 0])
    # m = (0.6, 0.1 x 4): 1/2 (0.2 ln(1/3) + 0.8 ln 2) + 1/2 ln(1/0.6) = 1/2 (-0.219722 + 0.554518) + 0.255413
    assert jensen_shannon_value(uniform(5), collapsed) == pytest.approx(0.422811, abs=1e-6)
    assert jensen_shannon_value(peak(5), collapsed) == pytest.approx(log(2), abs=1e-15)


@every_divergence
@given(pair=interior_pairs)
def test_the_reward_is_minus_the_gradient_of_the_value_up_to_a_constant(name: str, pair: Pair) -> None:
    target, empirical = pair
    divergence = DIVERGENCES[name]
    reward = divergence.reward(target, empirical)
    step = 1e-6
    for z in range(1, target.size):
        # Along e_z - e_0 the point stays on the simplex, and the constant b_D of the paper drops out.
        direction = np.zeros(target.size)
        direction[[0, z]] = -1.0, 1.0
        ahead = divergence.value(target, empirical + step * direction)
        behind = divergence.value(target, empirical - step * direction)
        slope = (ahead - behind) / (2 * step)
        assert -(reward[z] - reward[0]) == pytest.approx(slope, rel=1e-5, abs=1e-7)


@every_divergence
@given(pair=pairs_with_zeros)
def test_value_and_every_reward_are_zero_at_the_target_also_where_it_holds_zeros(name: str, pair: Pair) -> None:
    target, _ = pair
    assert DIVERGENCES[name].value(target, target.copy()) == 0
    np.testing.assert_array_equal(DIVERGENCES[name].reward(target, target.copy()), np.zeros(target.size))


@every_divergence
@given(pair=pairs_with_zeros, random=st.randoms(use_true_random=False))
def test_renaming_the_categories_renames_the_rewards_and_keeps_the_value(name: str, pair: Pair, random: Random) -> None:
    target, empirical = pair
    order = random.sample(range(target.size), target.size)
    divergence = DIVERGENCES[name]
    np.testing.assert_array_equal(
        divergence.reward(target[order], empirical[order]), divergence.reward(target, empirical)[order]
    )
    value = divergence.value(target, empirical)
    assert divergence.value(target[order], empirical[order]) == pytest.approx(value, abs=1e-12)


@every_divergence
@given(pair=pairs_with_zeros)
def test_a_value_is_never_negative(name: str, pair: Pair) -> None:
    assert DIVERGENCES[name].value(*pair) >= -1e-15  # KL's sum may round to just below zero


def test_jsd_does_not_round_to_below_zero() -> None:
    almost = np.array([0.5 + 1e-9, 0.5 - 1e-9])
    assert jensen_shannon_value(uniform(2), almost) >= 0  # its terms sum to -3e-17 on x86-64


@every_divergence
@given(pair=interior_pairs)
def test_a_value_away_from_the_target_is_above_zero(name: str, pair: Pair) -> None:
    target, empirical = pair
    if np.abs(target - empirical).max() > 1e-3:
        assert DIVERGENCES[name].value(target, empirical) > 0


@given(pairs_with_zeros)
def test_jsd_is_symmetric_and_at_most_log_2(pair: Pair) -> None:
    target, empirical = pair
    value = jensen_shannon_value(target, empirical)
    assert value <= log(2) + 1e-15
    assert value == pytest.approx(jensen_shannon_value(empirical, target), abs=1e-15)


@given(pairs_with_zeros)
def test_jsd_is_the_sum_of_its_terms_and_the_terms_broadcast_over_rows(pair: Pair) -> None:
    target, empirical = pair
    terms = jensen_shannon_terms(target, np.stack([empirical, target]))
    assert terms.shape == (2, target.size)
    assert terms[0].sum() == pytest.approx(jensen_shannon_value(target, empirical), abs=1e-15)
    np.testing.assert_array_equal(terms[1], np.zeros(target.size))


@given(interior_pairs)
def test_the_jsd_reward_is_gail_s_with_the_optimal_discriminator(pair: Pair) -> None:
    target, empirical = pair
    discriminator = target / (target + empirical)
    # Paper, "Connection to GAIL": -log(1 - d*) = 2 R_JSD + log 2.
    np.testing.assert_allclose(
        -np.log1p(-discriminator), 2 * jensen_shannon_reward(target, empirical) + log(2), atol=1e-12
    )


@every_divergence
@given(pair=interior_pairs)
def test_a_category_earns_more_than_zero_exactly_when_it_is_too_rare(name: str, pair: Pair) -> None:
    target, empirical = pair
    apart = np.abs(target - empirical) > 1e-9
    reward = DIVERGENCES[name].reward(target, empirical)
    np.testing.assert_array_equal((reward > 0)[apart], (target > empirical)[apart])


# The edge of the simplex. Category 0 is wanted and absent, 1 is excluded and present, 2 is neither, 3 is on target.
EDGE_TARGET, EDGE_EMPIRICAL = np.array([0.5, 0.0, 0.0, 0.5]), np.array([0.0, 0.5, 0.0, 0.5])


@pytest.mark.parametrize(
    ("name", "value", "reward"),
    [
        ("l2", 0.25, [0.5, -0.5, 0, 0]),  # 1/2 (1/4 + 1/4)
        ("fkl", inf, [inf, -1, 0, 0]),
        ("rkl", inf, [inf, -inf, 0, 0]),
        # 1/2 (1/2 ln 2) + 1/2 (1/2 ln 2);  1/2 ln((1/4) / (1/2))
        ("jsd", 0.5 * log(2), [inf, -0.5 * log(2), 0, 0]),
    ],
)
def test_the_edge_of_the_simplex_follows_the_conventions(name: str, value: float, reward: list[float]) -> None:
    assert DIVERGENCES[name].value(EDGE_TARGET, EDGE_EMPIRICAL) == pytest.approx(value, abs=1e-15)
    np.testing.assert_allclose(DIVERGENCES[name].reward(EDGE_TARGET, EDGE_EMPIRICAL), reward, atol=1e-15)


@pytest.mark.filterwarnings("error")
@every_divergence
def test_the_edge_of_the_simplex_raises_no_numpy_warning(name: str) -> None:
    DIVERGENCES[name].value(EDGE_TARGET, EDGE_EMPIRICAL)
    DIVERGENCES[name].reward(EDGE_TARGET, EDGE_EMPIRICAL)


def test_only_reverse_kl_and_jsd_smooth_the_target() -> None:
    assert {name for name, divergence in DIVERGENCES.items() if divergence.smooths_target} == {"rkl", "jsd"}


@every_divergence
def test_a_divergence_carries_the_name_it_is_registered_under(name: str) -> None:
    assert DIVERGENCES[name].name == name
