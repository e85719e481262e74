"""From categories to counts and frequencies."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.frequency import (
    OFF_SUPPORT,
    UNCLASSIFIED,
    category_counts,
    category_indices,
    group_frequency,
    on_support_frequency,
)

groups = st.lists(st.integers(OFF_SUPPORT, 3), min_size=1, max_size=40).map(lambda g: np.array(g, dtype=np.int64))


def test_an_index_is_the_place_in_the_declaration_and_null_is_off_support() -> None:
    indices = category_indices(["hindi", None, "english"], ["english", "hindi"])
    np.testing.assert_array_equal(indices, [1, OFF_SUPPORT, 0])
    assert indices.dtype == np.int64


def test_a_response_that_nobody_could_classify_is_not_off_support_and_counts_in_no_category() -> None:
    indices = category_indices([None, None, "hindi"], ["english", "hindi"], [True, False, True])
    np.testing.assert_array_equal(indices, [OFF_SUPPORT, UNCLASSIFIED, 1])
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(category_counts(indices, 2), [0, 1])
    np.testing.assert_array_equal(category_indices(["hindi"], ["hindi"], [True]), [0])


def test_no_responses_have_no_indices() -> None:
    indices = category_indices([], ["english"])
    assert indices.shape == (0,)
    assert indices.dtype == np.int64


def test_an_undeclared_category_is_refused_and_not_taken_for_off_support() -> None:
    with pytest.raises(MadrlError, match=r"category 'german' is not declared: the categories are \['english'\]"):
        category_indices(["english", "german"], ["english"])


def test_an_off_support_response_counts_in_the_denominator_only() -> None:
    indices = np.array([0, 0, 2, OFF_SUPPORT])
    np.testing.assert_array_equal(category_counts(indices, 3), [2, 0, 1])
    np.testing.assert_array_equal(group_frequency(indices, 3), [0.5, 0, 0.25])  # of 4, not of 3


def test_a_group_with_nothing_on_support_has_frequency_zero_everywhere() -> None:
    np.testing.assert_array_equal(group_frequency(np.array([OFF_SUPPORT, OFF_SUPPORT]), 3), [0, 0, 0])


def test_gapo_s_denominator_counts_the_on_support_responses_only() -> None:
    indices = np.array([0, 0, 2, OFF_SUPPORT])
    np.testing.assert_allclose(on_support_frequency(indices, 3), [2 / 3, 0, 1 / 3])  # of 3, not of 4
    assert np.isnan(on_support_frequency(np.array([OFF_SUPPORT]), 3)).all()


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(MadrlError, match="an empty group"):
        group_frequency(np.array([], dtype=np.int64), 3)


@given(groups)
def test_frequencies_sum_to_the_on_support_share(indices: np.ndarray) -> None:
    assert group_frequency(indices, 4).sum() == pytest.approx((indices != OFF_SUPPORT).mean(), abs=1e-12)


@given(groups)
def test_a_sampled_category_has_a_frequency_of_at_least_one_over_g(indices: np.ndarray) -> None:
    frequency = group_frequency(indices, 4)
    for index in indices[indices != OFF_SUPPORT]:
        assert frequency[index] >= 1 / indices.size


@given(groups, st.randoms(use_true_random=False))
def test_frequencies_do_not_depend_on_the_order_of_the_responses(indices: np.ndarray, random: Random) -> None:
    shuffled = indices[random.sample(range(indices.size), indices.size)]
    np.testing.assert_array_equal(group_frequency(shuffled, 4), group_frequency(indices, 4))
