"""The checkpoint that reaches every category, not the one that is right most often."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from madrl.errors import MadrlError
from madrl.targets import uniform
from madrl.warm_start.selection import Coverage, choose, coverage_of, read_selection, write_selection
from madrl.warm_start.tables import selection_table

NAMES = ("en", "hi")


def found(step: int, hindi: float, jsd: float, pass_at_1: float = 0.5) -> Coverage:
    """Of a uniform target."""
    return Coverage(step, 100, {"en": 1 - hindi, "hi": hindi}, 2 * hindi, jsd, 0.001, 0.0, 0.0, pass_at_1)


def test_coverage_decides_and_not_accuracy() -> None:
    assert choose([found(10, 0.30, 0.02, pass_at_1=0.9), found(20, 0.35, 0.05, pass_at_1=0.1)], NAMES).step == 20


def test_equal_reaches_are_decided_by_the_jsd_and_then_by_the_earlier_step() -> None:
    assert choose([found(10, 0.3, 0.05), found(20, 0.3, 0.02), found(30, 0.3, 0.03)], NAMES).step == 20
    assert choose([found(30, 0.3, 0.02), found(20, 0.3, 0.02)], NAMES).step == 20


def test_the_base_model_is_shown_and_not_chosen() -> None:
    assert choose([found(0, 0.5, 0.0), found(10, 0.1, 0.1)], NAMES).step == 10


def test_no_checkpoint_that_reaches_every_category_is_an_error_that_names_those_it_misses() -> None:
    with pytest.raises(MadrlError, match=r"the best, step 20, never samples hi: finetune longer"):
        choose([found(10, 0.0, 0.3), found(20, 0.0, 0.2)], NAMES)


def lines(*graded: tuple[str | None, bool | None]) -> list[dict[str, Any]]:
    return [{"category": category, "correct": correct} for category, correct in graded]


def test_coverage_worked_by_hand() -> None:
    measured = coverage_of(
        7, lines(("en", True), ("en", False), ("en", True), ("hi", None), (None, False)), NAMES, uniform(2)
    )
    # of 5 responses 4 on-support: 3/4 and 1/4. Hindi is 1 of all 5, and wanted in half. pass@1: 2 of 4 graded.
    assert measured.shares == {"en": 0.75, "hi": 0.25}
    assert (measured.step, measured.samples, measured.reach) == (7, 5, 0.4)
    assert (measured.off_support, measured.ungraded, measured.pass_at_1) == (0.2, 0.2, 0.5)
    # m = (5/8, 3/8): (1/2 ln 4/5 + 1/2 ln 4/3 + 3/4 ln 6/5 + 1/4 ln 2/3) / 2 = 0.033822
    assert measured.jsd == pytest.approx(0.033822, abs=1e-6)
    assert measured.floor is not None
    assert measured.floor > 0


def test_responses_that_nobody_could_classify_are_in_no_number_but_the_ungraded_rate() -> None:
    known = lines(("en", True), ("en", False), ("hi", True), (None, True))
    lost = [{"category": None, "correct": False, "classified": False}] * 4
    measured, plain = coverage_of(7, known + lost, NAMES, uniform(2)), coverage_of(7, known, NAMES, uniform(2))
    assert measured == plain._replace(samples=8, ungraded=0.5)
    assert coverage_of(7, lost, NAMES, uniform(2)).reach == 0


def test_what_is_not_wanted_need_not_be_reached_and_a_share_counts_by_what_is_wanted() -> None:
    shares = {"en": 0.0, "hi": 0.2, "es": 0.8}
    graded = lines(("hi", True), *[("es", True)] * 4)
    measured = coverage_of(1, graded, tuple(shares), np.array([0.0, 0.5, 0.5]))
    assert measured.shares == shares
    assert measured.reach == pytest.approx(0.4)
    assert choose([measured], ["hi", "es"]) == measured
    with pytest.raises(MadrlError, match="never samples en:"):
        choose([coverage_of(1, graded, tuple(shares), uniform(3))], tuple(shares))


def test_a_checkpoint_that_is_never_on_support_has_no_jsd_and_is_not_chosen() -> None:
    lost = coverage_of(7, lines((None, False)), NAMES, uniform(2))
    assert (lost.jsd, lost.floor, lost.reach, lost.off_support) == (None, None, 0.0, 1.0)
    assert choose([lost, found(10, 0.1, 0.3)], NAMES).step == 10


def test_the_table_of_all_checkpoints_is_written_beside_the_choice(tmp_path: Path) -> None:
    checkpoints = [found(0, 0.0, 0.4), found(10, 0.2, 0.1), found(20, 0.4, 0.01)]
    write_selection(tmp_path / "selection.json", checkpoints, checkpoints[2])
    assert read_selection(tmp_path / "selection.json") == (checkpoints, 20)
    printed = io.StringIO()
    Console(file=printed, width=100).print(selection_table(checkpoints, 20))
    shown = [line.split() for line in printed.getvalue().splitlines()]
    assert ["base", "1.000", "0.000", "0.000", "0.4000", "0.0010", "0.0%", "0.500"] in shown
    assert ["*", "20", "0.600", "0.400", "0.800", "0.0100", "0.0010", "0.0%", "0.500"] in shown
