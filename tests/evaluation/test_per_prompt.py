"""The collision statistic: unbiased by exact enumeration, and what it says of collapsed prompts."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from madrl.evaluation.per_prompt import collapsed_distance, squared_distances
from madrl.targets import peak, uniform

Array = NDArray[np.float64]

weights = st.lists(st.integers(0, 10), min_size=3, max_size=3).filter(any)


def counts(*rows: list[int]) -> Array:
    return np.array(rows, dtype=np.float64)


@settings(deadline=None, max_examples=50)
@given(weights, weights, st.integers(2, 6))
def test_the_squared_distance_is_unbiased_for_every_policy_target_and_number_of_responses(
    q_weights: list[int], target_weights: list[int], k: int
) -> None:
    q, target = (np.array(w) / sum(w) for w in (q_weights, target_weights))
    possible = [n for n in product(range(k + 1), repeat=3) if sum(n) == k]
    probability = [factorial(k) / prod(map(factorial, n)) * prod(q**n) for n in possible]
    expected = float(np.dot(probability, squared_distances(target, counts(*map(list, possible)))))
    assert expected == pytest.approx(float(np.sum((q - target) ** 2)), abs=1e-12)


def test_squared_distances_worked_by_hand() -> None:
    target = np.array([0.5, 0.5])
    # 4 of a: 12/12 - 2 (1/2) (4/4) + 1/4 + 1/4 = 1/2, which is also (1 - 1/2)^2 + (0 - 1/2)^2
    # 2 and 2: 2/12 + 2/12 - 1/2 - 1/2 + 1/2 = -1/6: nearer than chance brings independent responses
    # 3 and 1: 6/12 + 0 - 3/4 - 1/4 + 1/2 = 0
    measured = squared_distances(target, counts([4, 0], [2, 2], [3, 1]))
    np.testing.assert_allclose(measured, [0.5, -1 / 6, 0.0], atol=1e-15)


def test_a_prompt_with_fewer_than_two_on_support_responses_has_no_distance() -> None:
    measured = squared_distances(uniform(2), counts([1, 0], [0, 0], [2, 0]))
    assert np.isnan(measured[:2]).all()
    assert np.isfinite(measured[2])


@pytest.mark.parametrize(("target", "expected"), [(uniform(5), 0.8), (peak(5), 2 / 3), (np.array([0.0, 1.0]), 0.0)])
def test_collapsed_prompts_whose_pool_is_on_target_are_at_the_collapsed_distance(
    target: Array, expected: float
) -> None:
    assert collapsed_distance(target) == pytest.approx(expected)
    prompts = np.repeat(np.eye(target.size) * 4, np.round(target * 15).astype(int), axis=0)  # 15 p*_c prompts, all c
    assert squared_distances(target, prompts).mean() == pytest.approx(expected)
