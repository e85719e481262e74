"""The frontier: which runs are dominated, and that every run is a dot at its place in both renderers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Made, write_run

from madrl.report.drawing import PALE, draw
from madrl.report.frontier import Outcome, dominated, frontier_plots
from madrl.report.interactive import plot_data
from madrl.report.panels import Level, Panel, Plot, Series
from madrl.report.rows import Study
from madrl.report.study import load_runs, run_roots


def study_of(parent: Path) -> Study:
    return Study(tuple(load_runs(run_roots([str(parent)]))), ())


def test_a_run_is_dominated_by_one_that_is_as_good_in_all_and_better_in_one() -> None:
    best, worse_fit = Outcome(0.01, 0.6, 0.01), Outcome(0.02, 0.6, 0.01)
    less_accurate, more_off = Outcome(0.01, 0.5, 0.01), Outcome(0.01, 0.6, 0.02)
    assert dominated([best, worse_fit, less_accurate, more_off]) == [False, True, True, True]


def test_a_run_that_is_better_in_one_thing_is_not_dominated() -> None:
    nearer, truer, cleaner = Outcome(0.01, 0.4, 0.03), Outcome(0.03, 0.6, 0.03), Outcome(0.03, 0.4, 0.0)
    assert dominated([nearer, truer, cleaner]) == [False, False, False]


def test_equal_runs_do_not_dominate_each_other() -> None:
    assert dominated([Outcome(0.01, 0.6, 0.0)] * 2) == [False, False]
    assert dominated([]) == []


levels = st.sampled_from([0.0, 0.1, 0.2])


@given(st.lists(st.builds(Outcome, levels, levels, levels), min_size=1, max_size=8))
def test_the_runs_that_are_not_dominated_beat_every_one_that_is(outcomes: list[Outcome]) -> None:
    beaten = dominated(outcomes)
    assert not all(beaten)
    costs = np.array(outcomes) * (1, -1, 1)
    free = costs[~np.array(beaten)]
    assert all((free <= own).all(axis=1).any() for own in costs)


def dots(panel: Panel) -> dict[str, tuple[float | str, float | None, bool]]:
    """What is said of each dot -> its place, and whether it is pale."""
    return {
        f"{series.name}: {note}": (x, y, series.weak)
        for series in panel.series
        for x, y, note in zip(series.x, series.y, series.notes, strict=True)
    }


def test_every_run_is_a_dot_with_its_intervals_and_dominated_ones_are_pale(tmp_path: Path) -> None:
    # The same responses but for correctness, or for their mix: all of seed 2 are worse than all of seed 1.
    write_run(Made(alpha=0.7, seed=1, miss=0.0, accuracy=1.0, off_support=0.0), tmp_path)
    write_run(Made(alpha=0.7, seed=2, miss=0.9, accuracy=0.3, off_support=0.1), tmp_path)
    write_run(Made(form="gated", seed=1, miss=0.9, accuracy=0.3, off_support=0.1), tmp_path)
    write_run(Made(form="rlvr", seed=1, miss=0.9, accuracy=0.3, off_support=0.1, status="failed"), tmp_path)
    study = study_of(tmp_path)
    (plot,) = frontier_plots(study)
    accuracy, validity = plot.panels
    finals = {str(run.key): run.final for run in study.runs}
    best = finals["gsm8k uniform rkl add70 seed 1"]
    assert best is not None
    assert dots(accuracy)["rkl: add70 seed 1"] == (best["jsd"], 1.0, False)
    assert dots(validity)["rkl: add70 seed 1"] == (best["jsd"], best["off_support"], False)
    assert {name: pale for name, (_, _, pale) in dots(accuracy).items()} == {
        "rkl: add70 seed 1": False,
        "rkl: add70 seed 2": True,
        "rkl gated: gated seed 1": True,
    }
    strong = accuracy.series[0]
    assert [strong.x_low[0], strong.x_high[0]] == best["jsd_interval"]
    assert [strong.low[0], strong.high[0]] == best["pass@1_interval"]
    assert [series.symbol for series in accuracy.series] == ["circle", "circle", "square"]
    assert accuracy.note == "runs there: 3 of 4"
    assert [panel.labels for panel in plot.panels] == [
        ["GSM8K, uniform target", "pass@1"],
        ["GSM8K, uniform target", "off-support rate"],
    ]


def test_runs_of_two_targets_do_not_dominate_each_other(tmp_path: Path) -> None:
    write_run(Made(seed=1, miss=0.0, accuracy=1.0, off_support=0.0), tmp_path)
    write_run(Made(seed=1, target="peak", miss=0.9, accuracy=0.3, off_support=0.1), tmp_path)
    (plot,) = frontier_plots(study_of(tmp_path))
    assert len(plot.panels) == 4
    assert not any(series.weak for panel in plot.panels for series in panel.series)


def test_a_task_without_correctness_and_runs_that_are_not_done_have_no_frontier(tmp_path: Path) -> None:
    write_run(Made(dataset="synthetic_closed", alpha=0.0, holdout=False, problems=4), tmp_path)
    write_run(Made(status="failed", problems=4), tmp_path)
    assert frontier_plots(study_of(tmp_path)) == []


PLACES: dict[str, Any] = {"x_low": [0.0, 0.01], "x_high": [0.02, 0.04], "labels": ["add70", ""]}
STRONG = Series(
    "rkl", "dots", [0.01, 0.02], [0.5, 0.6], "#009E73", [0.4, 0.5], [0.6, 0.7], ["seed 1", "seed 2"], **PLACES
)
WEAK = Series("rkl", "dots", [0.03], [0.0], "#009E73", notes=["seed 3"], weak=True, labels=[""], symbol="diamond")
BAND = Level("floor at n=4: mean to p95", 0.001, 0.002, axis="x")
PANEL = Panel(["fit", "pass@1"], [STRONG, WEAK], "pass@1", "JSD", [BAND], log_x=True, from_zero=False)


def test_dots_are_drawn_in_a_file(tmp_path: Path) -> None:
    draw([PANEL, PANEL], 2, {"png": tmp_path / "a"})
    assert (tmp_path / "a").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a").stat().st_size > 10_000


def test_a_page_has_a_dot_for_each_run_with_error_bars_on_both_axes_and_one_name_in_the_legend() -> None:
    (choice,) = json.loads(json.dumps(plot_data(Plot("p", "", "", [PANEL])), allow_nan=False))["choices"]
    strong, weak = choice["data"]
    assert (strong["x"], strong["y"], strong["customdata"]) == ([0.01, 0.02], [0.5, 0.6], ["seed 1", "seed 2"])
    assert strong["error_x"]["array"] == pytest.approx([0.01, 0.02])
    assert strong["error_x"]["arrayminus"] == pytest.approx([0.01, 0.01])
    assert strong["error_y"]["array"] == pytest.approx([0.1, 0.1])
    assert (strong["showlegend"], weak["showlegend"]) == (True, False)
    assert (strong["marker"]["opacity"], weak["marker"]["opacity"]) == (1.0, PALE)
    assert (strong["marker"]["symbol"], weak["marker"]["symbol"]) == ("circle", "diamond")
    assert choice["layout"]["xaxis"]["type"] == "log"
    assert choice["layout"]["yaxis"]["rangemode"] == "normal"
    (band,) = choice["layout"]["shapes"]
    assert (band["x0"], band["x1"], band["yref"]) == (0.001, 0.002, "paper")
