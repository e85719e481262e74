"""A target that changes over training: a function of the step alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_settings import node

from madrl.errors import MadrlError
from madrl.settings import Settings
from madrl.target_schedule import TargetSchedule

NAMES = ("a", "b", "c")
ENTRIES = [
    {"step": 0, "target": {"a": 9, "b": 1}},
    {"step": 100, "target": "uniform"},
    {"step": 300, "target": {"c": 1}},
]


@pytest.mark.parametrize(
    ("step", "shares"),
    [
        (0, [0.9, 0.1, 0.0]),
        # a quarter of the way: 3/4 x 0.9 + 1/4 x 1/3, 3/4 x 0.1 + 1/12, 1/12
        (25, [0.675 + 1 / 12, 0.075 + 1 / 12, 1 / 12]),
        (100, [1 / 3, 1 / 3, 1 / 3]),
        (200, [1 / 6, 1 / 6, 1 / 6 + 1 / 2]),
        (300, [0.0, 0.0, 1.0]),
        (100_000, [0.0, 0.0, 1.0]),
    ],
)
def test_shares_are_interpolated_between_the_steps_and_stay_after_the_last(step: int, shares: list[float]) -> None:
    np.testing.assert_allclose(TargetSchedule.from_config(ENTRIES, NAMES).at(step), shares, atol=1e-15)


@given(st.integers(0, 400))
def test_every_step_s_target_is_a_distribution(step: int) -> None:
    target = TargetSchedule.from_config(ENTRIES, NAMES).at(step)
    assert (target >= 0).all()
    assert target.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (3, "madrl.target_schedule=3 is not a list of two targets or more: write madrl.target_schedule="),
        ("peak", "is not a list of two"),
        (ENTRIES[:1], "is not a list of two"),
        ([{"step": 0}, *ENTRIES[1:]], r"has the entry {'step': 0}: give each the keys \['step', 'target'\]"),
        ([0, 1], "has the entry 0: give each the keys"),
        (ENTRIES[1:], r"has the steps \[100, 300\]: give whole numbers that ascend from 0"),
        ([*ENTRIES, ENTRIES[2]], r"has the steps \[0, 100, 300, 300\]"),
        ([ENTRIES[0], {"step": 1.5, "target": "uniform"}], r"has the steps \[0, 1.5\]"),
        ([ENTRIES[0], {"step": 1, "target": {"d": 1}}], "unknown category 'd'"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_one_clear_error(entries: Any, message: str) -> None:
    with pytest.raises(MadrlError, match=message) as error:
        TargetSchedule.from_config(entries, NAMES)
    assert "\n" not in str(error.value)


def scheduled(target: Any, last: Any) -> Settings:
    schedule = [{"step": 0, "target": "uniform"}, {"step": 10, "target": last}]
    return Settings.from_config(node(target, form="additive") | {"target_schedule": schedule})


def test_a_run_s_target_is_the_last_of_its_schedule_and_nothing_else() -> None:
    settings = scheduled("peak", "peak")
    np.testing.assert_array_equal(settings.target, [0, 0, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(settings.target_at(5), [0.1, 0.1, 0.8 / 3, 0.8 / 3, 0.8 / 3])
    scheduled({"en": 1, "zh": 3}, {"zh": 75, "en": 25})
    with pytest.raises(
        MadrlError, match=r"^madrl.target='uniform' beside madrl.target_schedule, which ends in 'peak': "
    ):
        scheduled("uniform", "peak")


def test_without_a_schedule_every_step_has_the_one_target() -> None:
    settings = Settings.from_config(node("peak", form="additive"))
    assert settings.target_schedule is None
    assert settings.target_at(7) is settings.target


def test_gapo_which_has_the_uniform_target_alone_cannot_be_scheduled_through_another() -> None:
    schedule = [{"step": 0, "target": "peak"}, {"step": 10, "target": "uniform"}]
    with pytest.raises(MadrlError, match="GAPO has no other target than uniform"):
        Settings.from_config(node("uniform") | {"target_schedule": schedule})
