"""Accuracy at the target mix, and the change of pass@1 in two parts: worked by hand, and what must hold for any."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.evaluation.accuracy import (
    Verdicts,
    accuracy_at_target,
    accuracy_change,
    verdicts,
)
from madrl.evaluation.samples import score_change, score_samples
from madrl.frequency import OFF_SUPPORT

PEAK = np.array([0.75, 0.25, 0.0])


def of(correct: Sequence[float], graded: Sequence[float]) -> Verdicts:
    return Verdicts(np.array(correct, dtype=float), np.array(graded, dtype=float))


def test_accuracy_at_the_target_mix_weighs_the_accuracies_by_the_target() -> None:
    # 3/4 x 2/10 + 1/4 x 9/10 = 0.15 + 0.225; the third category is not wanted. pass@1 is 16/25 = 0.64.
    assert accuracy_at_target(PEAK, np.array([2.0, 9.0, 5.0]), np.array([10.0, 10.0, 5.0])) == pytest.approx(0.375)


def test_a_wanted_category_without_a_graded_response_leaves_no_accuracy_at_the_target_mix() -> None:
    correct, graded = np.array([2.0, 0.0, 5.0]), np.array([10.0, 0.0, 5.0])
    assert accuracy_at_target(PEAK, correct, graded) is None
    assert accuracy_at_target(np.array([0.5, 0.0, 0.5]), correct, graded) == pytest.approx((0.2 + 1.0) / 2)


def test_the_verdicts_are_by_problem_and_the_last_column_is_off_support() -> None:
    indices, problem = np.array([0, OFF_SUPPORT, 1, 0, 0]), np.array([0, 0, 0, 1, 1])
    found = verdicts(indices, [0.5, 1.0, None, True, False], 2, problem, 2)
    np.testing.assert_array_equal(found.correct, [[0.5, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(found.graded, [[1, 0, 1], [2, 0, 0]])


def test_the_change_of_pass_at_1_splits_into_a_mix_part_and_a_part_within_categories() -> None:
    # Shares 0.8, 0.2, 0 to 0.4, 0.5, 0.1 (off-support); accuracies 0.75, 0.25, - to 0.5, 0.4, 0.
    # mix: -0.4 (0.75 + 0.5) / 2 + 0.3 (0.25 + 0.4) / 2 + 0.1 x 0 = -0.25 + 0.0975
    # within: 0.6 (-0.25) + 0.35 (0.15) + 0.05 x 0 = -0.15 + 0.0525
    found = accuracy_change(of([60, 5, 0], [80, 20, 0]), of([20, 20, 0], [40, 50, 10]))
    assert found == pytest.approx((-0.25, -0.1525, -0.0975))
    assert found.total == pytest.approx(40 / 100 - 65 / 100)


def test_a_category_that_is_new_moves_the_mix_part_only() -> None:
    # The new category has accuracy 0.1 on both sides: 0.5 (0.1 - 0.9).
    assert accuracy_change(of([90, 0], [100, 0]), of([45, 5], [50, 50])) == pytest.approx((-0.4, -0.4, 0.0))
    assert accuracy_change(of([45, 5], [50, 50]), of([90, 0], [100, 0])) == pytest.approx((0.4, 0.4, 0.0))


def test_without_a_graded_response_on_one_side_there_is_no_change_to_split() -> None:
    assert np.isnan(accuracy_change(of([0, 0], [0, 0]), of([1, 0], [2, 0]))).all()
    assert np.isnan(accuracy_change(of([1, 0], [2, 0]), of([0, 0], [0, 0]))).all()


sides = st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), min_size=4, max_size=4).map(
    lambda found: of([n * share for n, share in found], [n for n, _ in found])
)


@given(sides, sides)
def test_the_parts_sum_to_the_change_and_turn_their_sign_when_the_sides_do(before: Verdicts, after: Verdicts) -> None:
    found, back = accuracy_change(before, after), accuracy_change(after, before)
    if not (before.graded.sum() and after.graded.sum()):
        assert np.isnan([*found, *back]).all()
        return
    pass_at_1 = [side.correct.sum() / side.graded.sum() for side in (before, after)]
    assert found.total == pytest.approx(pass_at_1[1] - pass_at_1[0], abs=1e-12)
    assert found.mix + found.within == pytest.approx(found.total, abs=1e-12)
    assert back == pytest.approx([-part for part in found], abs=1e-12)


@given(sides, st.floats(0, 1))
def test_a_policy_that_only_changes_its_mix_has_no_part_within_categories(before: Verdicts, scale: float) -> None:
    accuracy = before.correct / np.maximum(before.graded, 1)
    moved = np.round(before.graded[::-1] * scale) * (before.graded > 0)
    found = accuracy_change(before, Verdicts(accuracy * moved, moved))
    if before.graded.any() and moved.any():
        assert found.within == pytest.approx(0.0, abs=1e-12)


def responses(counts: dict[str | None, tuple[int, int]], problems: int = 7) -> list[dict[str, Any]]:
    """Of each category (correct, wrong) responses, dealt out to the problems in turn."""
    drawn = [(c, i < right) for c, (right, wrong) in counts.items() for i in range(right + wrong)]
    return [
        {"group": str(i % problems), "session": i, "turn": 0, "category": c, "correct": v}
        for i, (c, v) in enumerate(drawn)
    ]


def scored(counts: dict[str | None, tuple[int, int]]) -> dict[str, Any]:
    return score_samples(responses(counts), "abc", PEAK, 0.001)


def test_the_scores_have_accuracy_at_the_target_mix_with_an_interval_around_it() -> None:
    row = scored({"a": (20, 80), "b": (90, 10), "c": (50, 0), None: (0, 50)})
    assert row["accuracy_at_target"] == pytest.approx(0.375)
    assert row["accuracy_at_target_lacks"] == []
    low, high = row["accuracy_at_target_interval"]
    assert low < 0.375 < high
    assert row["off_support_responses"] == {"count": 50, "graded": 50, "correct": 0.0, "pass@1": 0.0}


def test_the_interval_of_accuracy_at_the_target_mix_is_the_textbook_s() -> None:
    # 400 problems with one a and one b each; a is correct in half of them, b in all or none alike:
    # 3/4 x Bernoulli(1/2): 0.75 x 1.96 x 0.5 / sqrt(400) = 0.0368 around 3/8 + 1/4
    rows: list[dict[str, Any]] = []
    for i in range(400):
        rows.append({"group": str(i), "session": 0, "turn": 0, "category": "a", "correct": i % 2 == 0})
        rows.append({"group": str(i), "session": 1, "turn": 0, "category": "b", "correct": True})
    row = score_samples(rows, "abc", PEAK, 0.001)
    assert row["accuracy_at_target"] == pytest.approx(0.625)
    assert row["accuracy_at_target_interval"] == pytest.approx([0.625 - 0.0368, 0.625 + 0.0368], abs=0.003)


def test_the_scores_name_the_wanted_categories_that_nothing_is_known_of() -> None:
    row = scored({"a": (20, 80), "c": (50, 0)})
    assert (row["accuracy_at_target"], row["accuracy_at_target_interval"]) == (None, None)
    assert row["accuracy_at_target_lacks"] == ["b"]


def test_ungraded_responses_are_in_neither_accuracy_nor_mix() -> None:
    plain: dict[str | None, tuple[int, int]] = {"a": (20, 80), "b": (90, 10)}
    rows = responses(plain) + [
        {"group": "0", "session": 1000 + i, "turn": 0, "category": "b", "correct": None} for i in range(50)
    ]
    found = score_samples(rows, "abc", PEAK, 0.001)
    assert found["accuracy_at_target"] == pytest.approx(scored(plain)["accuracy_at_target"])
    assert parts(score_change(responses(plain), rows, "abc")) == pytest.approx((0.0, 0.0, 0.0))


def parts(change: dict[str, Any]) -> tuple[float, float, float]:
    return change["total"], change["mix"], change["within"]


def test_the_change_between_two_sets_counts_off_support_as_a_category_of_its_own() -> None:
    # 80 a with accuracy 3/4 and 20 off-support, all wrong; then all a: the accuracy within a stays.
    change = score_change(responses({"a": (60, 20), None: (0, 20)}), responses({"a": (75, 25)}), "abc")
    assert parts(change) == pytest.approx((0.15, 0.15, 0.0))
    low, high = change["total_interval"]
    assert low < 0.15 < high


def test_a_change_without_a_graded_response_on_one_side_is_none() -> None:
    none = [record | {"correct": None} for record in responses({"a": (5, 5)})]
    assert set(score_change(none, responses({"a": (5, 5)}), "abc").values()) == {None}


def test_problems_that_both_sets_answer_are_resampled_together() -> None:
    # Half of the problems are always solved and half never, before as after: the change is nothing for any problems.
    def solved(name: str, first_row: int) -> list[dict[str, Any]]:
        session = {"session": 0, "turn": 0, "category": "a"}
        return [session | {"group": f"{name}{i}", "row": first_row + i, "correct": i % 2 == 0} for i in range(100)]

    before = solved("before", 0)
    assert score_change(before, solved("after", 0)[::-1], "abc")["total_interval"] == [0.0, 0.0]
    # On their own: sqrt(2) x 1.96 x 0.5 / sqrt(100) = 0.139.
    alone = score_change(before, solved("after", 100), "abc")
    assert alone["total_interval"] == pytest.approx([-0.139, 0.139], abs=0.012)


def test_a_row_that_one_set_has_lost_does_not_part_the_others() -> None:
    session = {"session": 0, "turn": 0, "category": "a"}
    before = [session | {"group": f"before{i}", "row": i, "correct": i % 2 == 0} for i in range(100)]
    after = [session | {"group": f"after{i}", "row": i, "correct": i % 2 == 0} for i in range(100)]
    after[7]["classified"] = False
    low, high = score_change(before, after, "abc")["total_interval"]
    assert -0.03 < low <= high < 0.03


def test_data_that_name_clusters_in_one_set_alone_are_resampled_by_them() -> None:
    session = {"session": 0, "turn": 0, "category": "a"}
    before = [session | {"group": f"before{i}", "row": i, "correct": False} for i in range(100)]
    after = [session | {"group": f"after{i}", "row": i, "correct": i < 50, "cluster": str(i // 25)} for i in range(100)]
    apart = score_change(before, [{**one, "cluster": None} for one in after], "abc")["total_interval"]
    assert apart == pytest.approx([0.4, 0.6], abs=0.011)
    # Four clusters, solved or not: of 4 draws as often as not none is a solved one in 1/16.
    assert score_change(before, after, "abc")["total_interval"] == [0.0, 1.0]
    assert score_change(after, before, "abc")["total_interval"] == [-1.0, 0.0]


def test_a_set_of_one_problem_has_a_change_and_no_interval_of_it() -> None:
    change = score_change(responses({"a": (60, 20)}, problems=1), responses({"a": (75, 25)}), "abc")
    assert change["total"] == pytest.approx(0.0)
    assert [change[f"{part}_interval"] for part in ("total", "mix", "within")] == [None] * 3
