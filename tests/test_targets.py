"""Target vectors: the paper's two, the user's own, and epsilon smoothing."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.targets import MAX_WEIGHT, TARGETS, check_categories, peak, resolve_target, smooth, uniform

LANGUAGES = ("english", "chinese", "hindi", "spanish", "french")


def test_uniform_gives_every_category_the_same_share() -> None:
    np.testing.assert_array_equal(uniform(5), [0.2, 0.2, 0.2, 0.2, 0.2])


def test_peak_excludes_the_first_two_declared_categories() -> None:
    np.testing.assert_array_equal(peak(5), [0, 0, 1 / 3, 1 / 3, 1 / 3])


def test_peak_over_three_categories_is_a_single_category() -> None:
    np.testing.assert_array_equal(peak(3), [0, 0, 1])


def test_peak_needs_three_categories() -> None:
    with pytest.raises(MadrlError, match="at least 3, got 2: take target=uniform, or weights"):
        peak(2)


@given(st.sampled_from(sorted(TARGETS)), st.integers(3, 50))
def test_every_named_target_is_a_distribution(name: str, n_categories: int) -> None:
    target = TARGETS[name](n_categories)
    assert target.shape == (n_categories,)
    assert (target >= 0).all()
    assert target.sum() == pytest.approx(1, abs=1e-12)


def test_a_named_target_is_resolved_over_the_declared_categories() -> None:
    np.testing.assert_array_equal(resolve_target("peak", LANGUAGES), peak(5))


def test_weights_follow_the_declared_order_and_a_category_that_is_not_named_gets_none() -> None:
    # 3 + 1 = 4, so hindi 3/4 and english 1/4.
    np.testing.assert_array_equal(resolve_target({"hindi": 3, "english": 1}, LANGUAGES), [0.25, 0, 0.75, 0, 0])


@pytest.mark.parametrize("number", [np.int64, np.uint8, np.float32, np.float64])
def test_weights_may_be_counts_of_numpy_s(number: Any) -> None:
    with warnings.catch_warnings(action="error"):
        found = resolve_target({"hindi": number(3), "english": 1}, LANGUAGES)
    np.testing.assert_array_equal(found, [0.25, 0, 0.75, 0, 0])


def test_weights_may_be_json() -> None:
    np.testing.assert_array_equal(resolve_target(' {"c++": 3, "größer": 1}', ["größer", "c++"]), [0.25, 0.75])


@pytest.mark.parametrize(
    ("categories", "spec"),
    [(["1", "2"], {1: 3, 2: 1}), (["true", "false"], {True: 3, False: 1}), (["0.5", "b"], {0.5: 3, "b": 1})],
)
def test_a_key_that_yaml_or_hydra_read_as_something_else_is_matched_by_its_text(
    categories: list[str], spec: dict[Any, float]
) -> None:
    np.testing.assert_array_equal(resolve_target(spec, categories), [0.75, 0.25])


@pytest.mark.parametrize(
    ("categories", "spec", "message"),
    [
        (["true", "True"], {True: 1}, "unknown category True"),
        (["1", "2"], {3: 1}, "unknown category 3"),
        (["1e5", "b"], {1e5: 1}, r"unknown category 100000.0: .* \['1e5', 'b'\]; put quotes around a name"),
        (["yes", "no"], {True: 1}, r"unknown category True: .* quotes .* as in '{\"red\": 3, \"blue\": 1}'$"),
        (["1", "2"], {1: 1, "1": 2}, "names category '1' twice: remove one"),
        (["None", "none"], {None: 1}, "unknown category None"),
    ],
)
def test_a_key_whose_text_names_no_category_or_two_is_refused(
    categories: list[str], spec: dict[Any, float], message: str
) -> None:
    with pytest.raises(MadrlError, match=message):
        resolve_target(spec, categories)


@given(st.lists(st.floats(0.01, 100), min_size=5, max_size=5), st.floats(0.01, 100))
def test_only_the_proportions_of_the_weights_matter(weights: list[float], scale: float) -> None:
    target = resolve_target(dict(zip(LANGUAGES, weights, strict=True)), LANGUAGES)
    scaled = resolve_target({name: w * scale for name, w in zip(LANGUAGES, weights, strict=True)}, LANGUAGES)
    assert target.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(scaled, target, rtol=1e-12)


def test_the_largest_weights_allowed_still_give_a_distribution() -> None:
    np.testing.assert_array_equal(
        resolve_target({"hindi": MAX_WEIGHT, "english": MAX_WEIGHT}, LANGUAGES)[:3], [0.5, 0, 0.5]
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("flat", r"unknown target 'flat': use one of \['peak', 'uniform'\]"),
        ({"german": 1}, "unknown category 'german'"),
        ({"hindi": -1}, "target weight -1 of 'hindi'"),
        ({"hindi": float("nan")}, "target weight nan of 'hindi'"),
        ({"hindi": float("inf")}, "target weight inf of 'hindi'"),
        ({"hindi": 10**400}, "of 'hindi' is not a number from 0 to 1e\\+100"),
        ({"hindi": 1e308, "english": 1e308}, "target weight 1e\\+308 of 'hindi'"),  # their sum overflows to inf
        ({"hindi": True}, "target weight True of 'hindi'"),
        ({"hindi": "1"}, "target weight '1' of 'hindi'"),
        ({"hindi": 0.0}, "gives no category any weight"),
        ({}, "gives no category any weight"),
        ([0.5, 0.5], r"target \[0.5, 0.5\] is neither a name"),
        ({"hindi": np.float32("inf")}, "of 'hindi' is not a number"),
        ('{"hindi": 1', "target '{\"hindi\": 1' is not JSON"),
        (7, "target 7 is neither a name"),
        ('{"hindi": 1, "hindi": 0}', "names category 'hindi' twice: remove one"),
    ],
)
def test_a_bad_target_is_refused_by_name(spec: object, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        resolve_target(spec, LANGUAGES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ([], "no categories declared"),
        ("english", "categories 'english' are no list: name them in their order"),
        ({"a"}, r"categories \{'a'\} are no list"),
        (None, "categories None are no list"),
        (3, "categories 3 are no list"),
        (["a", True], r"category True is no text: write it in quotes \(YAML reads a bare yes as true"),
        (["a", 1e5], r"category 100000.0 is no text: write it in quotes \(YAML .* as true, and 1e5 as a number\)"),
        (["a", None], "category None is no text"),
        ([1, 2], "category 1 is no text"),
        (["a", " "], "an empty category name"),
        (["a", "b", "a"], "category 'a' is declared twice"),
    ],
)
def test_bad_categories_are_refused_by_name(categories: Any, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        check_categories(categories)


def test_categories_keep_their_order() -> None:
    assert check_categories(["b", "a"]) == ("b", "a")


def test_smoothing_lifts_a_zero_to_epsilon_over_k() -> None:
    # K = 5, eps = 0.1: 0.9 * 0 + 0.1 / 5 = 0.02, and 0.9 / 3 + 0.02 = 0.32.
    np.testing.assert_allclose(smooth(peak(5), 0.1), [0.02, 0.02, 0.32, 0.32, 0.32], rtol=1e-15)


@given(st.integers(1, 20), st.floats(1e-9, 0.5))
def test_smoothing_leaves_the_uniform_target_alone(n_categories: int, epsilon: float) -> None:
    np.testing.assert_allclose(smooth(uniform(n_categories), epsilon), uniform(n_categories), rtol=1e-12)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any), st.floats(1e-9, 0.5))
def test_a_smoothed_target_is_a_distribution_without_zeros(weights: list[int], epsilon: float) -> None:
    smoothed = smooth(np.array(weights) / sum(weights), epsilon)
    assert smoothed.sum() == pytest.approx(1, abs=1e-12)
    assert (smoothed >= epsilon / len(weights)).all()
