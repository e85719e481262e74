"""Medians, means and pooled counts exactly where the paper uses which, and what is missing shown as missing."""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import CATEGORIES, Made, write_jsonl, write_run

from madrl.divergence import jensen_shannon_terms, jensen_shannon_value
from madrl.errors import MadrlError
from madrl.evaluation.dumps import DONE, FAILED, UNFINISHED
from madrl.evaluation.intervals import effective_samples
from madrl.grid.ledger import Ledger
from madrl.report.build import report_study
from madrl.report.frontier import frontier_plots
from madrl.report.numbers import MEAN, MEDIAN, NO_NUMBER, Statistic, more_than_chance, over
from madrl.report.paper import compare, comparison_table
from madrl.report.rows import (
    SINGLE,
    Study,
    TableRow,
    baseline_row,
    comparisons,
    effective_floor,
    grid_rows,
    main_rows,
    pooled_floor,
    prompt_floor,
    synthetic_rows,
)
from madrl.report.run_plots import run_plots
from madrl.report.study import ScoredRun, load_runs, run_roots
from madrl.report.study_plots import bars_note, divergence_panels, study_plots
from madrl.report.table import INCOMPLETE, MISSING, NOTHING, PLAIN, TIED
from madrl.report.tables import (
    divergence_table,
    grid_table,
    main_table,
    missing_runs,
    mix_table,
    study_tables,
    synthetic_table,
)

UNIFORM = np.full(5, 0.2)


def holdout(counts: Sequence[int], right: Sequence[int], off_support: int = 0) -> list[dict[str, Any]]:
    """So many responses of each category, each a problem of its own, the first ``right`` of them correct."""
    rows = []
    for name, n, r in zip((*CATEGORIES, None), (*counts, off_support), (*right, 0), strict=True):
        graded = [{"category": name, "correct": i < r, "split": "holdout"} for i in range(n)]
        rows += [{"group": f"{name}{i}", "session": 0, "turn": 0, **verdict} for i, verdict in enumerate(graded)]
    return rows


def run_with(
    parent: Path, counts: Sequence[int], right: Sequence[int] = (0,) * 5, off_support: int = 0, **made: Any
) -> None:
    root = write_run(Made(problems=2, samples=2, **made), parent)
    write_jsonl(root / "holdout" / "40.jsonl", holdout(counts, right, off_support))


def study_of(parent: Path) -> Study:
    return Study(tuple(load_runs(run_roots([str(parent)]))), ())


def row_of(rows: Sequence[TableRow], reward: str, weight: str = "") -> TableRow:
    (found,) = [row for row in rows if (row.reward, row.weight) == (reward, weight)]
    return found


SKEWED = {1: (24, 19, 19, 19, 19), 2: (28, 18, 18, 18, 18), 3: (40, 15, 15, 15, 15), 4: (60, 10, 10, 10, 10)}


def jsd(counts: Sequence[int]) -> float:
    return float(jensen_shannon_value(UNIFORM, np.array(counts) / sum(counts)))


def test_the_main_table_takes_the_median_over_all_additive_runs_and_leaves_gated_out(tmp_path: Path) -> None:
    # Two weights times two seeds: the median of four values is the mean of the middle two, whatever their weight.
    for (alpha, seed), size in {(0.9, 1): 1, (0.9, 2): 4, (0.55, 1): 3, (0.55, 2): 2}.items():
        run_with(tmp_path, SKEWED[size], right=(size * 5, 0, 0, 0, 0), alpha=alpha, seed=seed)
    for seed in (1, 2):
        run_with(tmp_path, (100, 0, 0, 0, 0), form="gated", seed=seed)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert (row.statistic, row.runs, row.expected, row.complete) == (MEDIAN.name, 4, 4, True)
    assert row.jsd.value == pytest.approx((jsd(SKEWED[2]) + jsd(SKEWED[3])) / 2)
    # pass@1 is 5, 10, 15 and 20 of 100: median 0.125, quartiles at 0.0875 and 0.1625
    assert row.pass_at_1[:3] == pytest.approx((0.125, 0.0875, 0.1625))
    # Of 4 values with the deviation 0.06455: x sqrt(pi / 2) / sqrt(4)
    assert row.pass_at_1.error == pytest.approx(0.04045, abs=5e-6)


def test_the_grid_takes_the_mean_over_the_seeds_of_one_weight(tmp_path: Path) -> None:
    for seed, size in ((42, 1), (123, 2), (200, 4)):
        run_with(tmp_path, SKEWED[size], seed=seed, alpha=0.8)
    row = row_of(grid_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl", "add80")
    assert row.statistic == MEAN.name
    assert row.jsd.value == pytest.approx((jsd(SKEWED[1]) + jsd(SKEWED[2]) + jsd(SKEWED[4])) / 3)
    assert row.jsd[1:3] == pytest.approx((jsd(SKEWED[1]), jsd(SKEWED[4])))


def test_accuracy_within_a_category_sums_counts_and_has_a_floor_of_thirty(tmp_path: Path) -> None:
    # en: 2 of 2 and 40 of 80, which is 42 of 82, not the mean of the rates 1.0 and 0.5; zh: 10 + 19 = 29 are too few,
    # es: 15 + 15 = 30 are enough.
    run_with(tmp_path, (2, 10, 15, 0, 0), right=(2, 5, 5, 0, 0), seed=1)
    run_with(tmp_path, (80, 19, 15, 0, 0), right=(40, 5, 10, 0, 0), seed=2)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.accuracy["en"].accuracy == pytest.approx(42 / 82)
    assert row.accuracy["zh"] == (10, 29)
    assert row.accuracy["zh"].accuracy is None
    assert row.accuracy["es"].accuracy == pytest.approx(0.5)


def test_accuracy_at_the_target_mix_is_in_every_row_and_says_which_category_it_lacks(tmp_path: Path) -> None:
    # Uniform: (1/10 + 5/10 + 4/10 + 5/10 + 10/20) / 5 = 0.4; pass@1 is 25/60.
    run_with(tmp_path, (30, 30, 30, 30, 60), right=(3, 15, 12, 15, 30), seed=1)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.accuracy_at_target.value == pytest.approx(0.4)
    assert row.accuracy_at_target.low is not None
    run_with(tmp_path / "few", (30, 30, 30, 30, 20), right=(3, 15, 12, 15, 10), seed=1)
    few = mix_table(study_of(tmp_path / "few"), ["gsm8k"])
    cells = {line[0].text: line[2] for section in few.sections for line in section.rows}
    assert cells["rkl"] == ("0.400", "graded fr 20", "")
    run_with(tmp_path / "lacks", (10, 10, 10, 10, 0), right=(1, 5, 4, 5, 0), seed=2)
    study = study_of(tmp_path / "lacks")
    row = row_of(main_rows(study, "gsm8k", "uniform"), "rkl")
    assert (row.accuracy_at_target.value, row.accuracy_at_target_lacks) == (None, ("fr",))
    cells = {line[0].text: line[2] for section in mix_table(study, ["gsm8k"]).sections for line in section.rows}
    assert cells["rkl"] == ("—", "no graded fr", "")


def test_full_marks_are_a_column_where_a_response_is_correct_in_part(tmp_path: Path) -> None:
    run_with(tmp_path, (10, 10, 10, 10, 10), right=(5, 5, 5, 5, 5), seed=1)
    assert "full marks ↑" not in mix_table(study_of(tmp_path), ["gsm8k"]).columns
    root = write_run(Made(problems=2, samples=2, seed=2), tmp_path)
    half = [record | {"correct": 0.5} if record["correct"] else record for record in holdout((10,) * 5, (5,) * 5)]
    write_jsonl(root / "holdout" / "40.jsonl", half)
    study = study_of(tmp_path)
    # Of one run half are correct, of the other half are half correct: the medians are those of 0.5 and 0.25, 0.5 and 0.
    row = row_of(main_rows(study, "gsm8k", "uniform"), "rkl")
    assert (row.pass_at_1.value, row.full_marks.value, row.is_partial) == (0.375, 0.25, True)
    table = mix_table(study, ["gsm8k"])
    [cells] = [line for section in table.sections for line in section.rows if line[0].text == "rkl"]
    shown = dict(zip(table.columns, (cell.text for cell in cells), strict=True))
    assert (shown["pass@1 ↑"], shown["full marks ↑"]) == ("0.375", "0.250")


def validation(counts: Sequence[int], right: Sequence[int]) -> list[dict[str, Any]]:
    return [record | {"split": "validation"} for record in holdout(counts, right)]


def test_the_change_of_pass_at_1_in_a_row_is_the_mean_over_its_runs_between_first_and_last_validation(
    tmp_path: Path,
) -> None:
    # Seed 1 only moves from en (8 of 10 right) to zh (2 of 10), seed 2 only answers better, seed 3 does not change.
    afterwards = {1: ((0, 10, 0, 0, 0), (0, 2, 0, 0, 0)), 2: ((10, 0, 0, 0, 0), (9, 0, 0, 0, 0))}
    before = (10, 0, 0, 0, 0), (8, 0, 0, 0, 0)
    for seed in (1, 2, 3):
        root = write_run(Made(problems=2, samples=2, seed=seed), tmp_path)
        write_jsonl(root / "validation" / "0.jsonl", validation(*before))
        write_jsonl(root / "validation" / "40.jsonl", validation(*afterwards.get(seed, before)))
    study = study_of(tmp_path)
    row = row_of(main_rows(study, "gsm8k", "uniform"), "rkl")
    # The medians of the parts are 0, and so is that of their sums, which are -0.6, 0.1 and 0.
    assert row.pass_at_1_change["mix"][:3] == pytest.approx((-0.2, -0.6, 0.0))
    assert row.pass_at_1_change["within"][:3] == pytest.approx((0.1 / 3, 0.0, 0.1))
    assert row.pass_at_1_change["total"][:3] == pytest.approx((-0.5 / 3, -0.6, 0.1))
    assert changes_shown(study) == ["−0.167", "−0.200", "+0.033"]


def changes_shown(study: Study) -> list[str]:
    """The change of pass@1 and its two parts in the table's row of rkl."""
    lines = [line for section in mix_table(study, ["gsm8k"]).sections for line in section.rows]
    return next([cell.text for cell in line[3:6]] for line in lines if line[0].text == "rkl")


def unclassified(root: Path, steps: Sequence[int]) -> None:
    """An outage of the classifier at the validations of these steps."""
    for step in steps:
        rows = [row | {"category": None, "classified": False} for row in validation((10,) * 5, (0,) * 5)]
        write_jsonl(root / "validation" / f"{step}.jsonl", rows)


def test_the_change_of_pass_at_1_leaves_out_a_validation_that_nobody_could_classify(tmp_path: Path) -> None:
    root = write_run(Made(problems=2), tmp_path)
    for step, right in ((10, 8), (30, 9)):
        write_jsonl(root / "validation" / f"{step}.jsonl", validation((10, 0, 0, 0, 0), (right, 0, 0, 0, 0)))
    unclassified(root, (0, 40))
    (run,) = study_of(tmp_path).runs
    assert (run.state, run.reason) == (DONE, "")
    assert run.final is not None
    assert run.pass_at_1_change is not None
    assert run.pass_at_1_change["total"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    "lose", [unclassified, lambda root, steps: [(root / "validation" / f"{step}.jsonl").unlink() for step in steps]]
)
def test_a_run_with_a_single_validation_has_no_change_of_pass_at_1(tmp_path: Path, lose: Any) -> None:
    lose(write_run(Made(problems=2), tmp_path), (0, 10, 20, 30))
    study = study_of(tmp_path)
    row = row_of(main_rows(study, "gsm8k", "uniform"), "rkl")
    assert (study.runs[0].pass_at_1_change, row.pass_at_1_change["total"]) == (None, NO_NUMBER)
    assert changes_shown(study) == ["—"] * 3


def test_off_support_responses_count_in_their_rate_and_not_in_the_shares(tmp_path: Path) -> None:
    run_with(tmp_path, (20, 20, 20, 20, 10), off_support=10)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.off_support.value == pytest.approx(0.1)
    assert row.shares["fr"].value == pytest.approx(10 / 90)
    assert row.floor == pooled_floor(UNIFORM, 90)


def test_a_failed_and_an_absent_run_leave_the_row_incomplete_and_out_of_every_comparison(tmp_path: Path) -> None:
    for divergence in ("l2", "rkl"):
        for alpha, seed in ((0.9, 1), (0.9, 2), (0.55, 1), (0.55, 2)):
            if (divergence, alpha, seed) == ("rkl", 0.9, 2):
                continue
            status = "failed" if (divergence, alpha, seed) == ("rkl", 0.55, 2) else "finished"
            size = 4 if divergence == "l2" else 1
            run_with(tmp_path, SKEWED[size], divergence=divergence, alpha=alpha, seed=seed, status=status)
    study = study_of(tmp_path)
    rows = main_rows(study, "gsm8k", "uniform")
    rkl = row_of(rows, "rkl")
    assert (rkl.runs, rkl.expected, rkl.complete) == (2, 4, False)
    assert rkl.missing == (
        "gsm8k uniform rkl add90 seed 2: no run",
        "gsm8k uniform rkl add55 seed 2: failed, attempt 1 failed: see train.log",
    )
    verdict = dict(zip([row.reward for row in rows], comparisons(rows), strict=True))
    assert rkl.jsd.value is not None
    assert rkl.jsd.value < (row_of(rows, "l2").jsd.value or 0)  # lower, and still not the best
    assert verdict["l2"].best
    assert verdict["rkl"] == (False, None)
    assert [row.reward for row in rows] == ["l2", "rkl"]  # of the others there is no run at all
    cells = {line[0].text: line[1] for section in main_table(study, ["gsm8k"]).sections for line in section.rows}
    assert cells["rkl"].mark == INCOMPLETE
    assert any("rkl add90 seed 2: no run" in reason for reason in missing_runs(study))


def test_a_grid_cell_with_a_missing_seed_says_how_many_it_has(tmp_path: Path) -> None:
    run_with(tmp_path, SKEWED[1], seed=1)
    run_with(tmp_path, SKEWED[1], seed=2)
    run_with(tmp_path, SKEWED[1], seed=1, divergence="l2")
    lines = [line for section in grid_table(study_of(tmp_path), ["gsm8k"]).sections for line in section.rows]
    (cell,) = [line[2] for line in lines if (line[0].text, line[1].text) == ("l2", "add70")]
    assert cell == (f"{jsd(SKEWED[1]):.4f}", "1/2", INCOMPLETE)


def test_a_difference_below_the_floor_is_chance(tmp_path: Path) -> None:
    # 1000 responses: the floor's p95 is 0.0012. 204 to 199 has JSD 0.00001, 300 to 175 0.0073.
    for divergence, counts in (
        ("l2", (200,) * 5),
        ("fkl", (204, 199, 199, 199, 199)),
        ("rkl", (300, 175, 175, 175, 175)),
        ("jsd", (300, 175, 175, 175, 175)),
    ):
        run_with(tmp_path, counts, divergence=divergence)
    study = study_of(tmp_path)
    rows = main_rows(study, "gsm8k", "uniform")
    found = dict(zip([row.reward for row in rows], comparisons(rows), strict=True))
    assert [found[name].differs_from_best for name in ("l2", "fkl", "rkl")] == [None, False, True]
    assert found["l2"].best
    assert row_of(rows, "fkl").off_target is False
    assert row_of(rows, "rkl").off_target is True
    cells = {line[0].text: line[1] for section in main_table(study, ["gsm8k"]).sections for line in section.rows}
    assert cells["fkl"].mark == TIED


def test_rows_that_are_alike_and_off_target_are_told_apart_one_time_in_twenty_at_most() -> None:
    # Four rewards of one policy at JSD 0.012, in as many runs of 800 responses; the floor's noise is 0.0015 there.
    generator = np.random.default_rng(0)
    policy = np.array([0.33, 0.18, 0.18, 0.18, 0.13])
    floor = pooled_floor(UNIFORM, 800)
    told = {(statistic.name, runs): 0 for statistic in (MEAN, MEDIAN) for runs in (1, 3, 12)}
    for statistic, runs in product((MEAN, MEDIAN), (1, 3, 12)):
        for _ in range(200):
            numbers = []
            for _ in range(4):
                drawn = generator.multinomial(800, policy, size=runs + 200) / 800
                jsds = jensen_shannon_terms(UNIFORM, drawn).sum(axis=1)
                interval = np.quantile(jsds[runs:], (0.025, 0.975)).tolist()  # a single run's: of other problems
                numbers.append(over(jsds[:runs].tolist(), statistic, [interval]))
            best = min(numbers, key=lambda number: number.value or 0.0)
            of_single = floor if runs == 1 else None
            told[statistic.name, runs] += any(more_than_chance(one, best, of_single, 4) for one in numbers)
    assert max(told.values()) <= 20


def test_rows_of_several_runs_are_told_apart_by_their_runs_and_not_by_the_floor_of_one(tmp_path: Path) -> None:
    # 1000 responses: two single policies on the target differ by up to 0.0012; 0.0002 and 0.0011 lie closer, but alike
    # in all three seeds.
    for (divergence, first), seed in product({"l2": 213, "rkl": 234}.items(), (1, 2, 3)):
        counts = (first + seed, 200 - seed, *[(800 - first) // 3] * 3)
        run_with(tmp_path, counts, divergence=divergence, seed=seed)
    rows = main_rows(study_of(tmp_path), "gsm8k", "uniform")
    floor = row_of(rows, "l2").floor_effective
    assert floor is not None
    assert (row_of(rows, "rkl").jsd.value or 0) - (row_of(rows, "l2").jsd.value or 0) < floor.noise
    assert [one.differs_from_best for one in comparisons(rows)] == [None, True]


@pytest.mark.parametrize("statistic", [MEAN, MEDIAN])
def test_the_limit_of_a_row_is_that_of_the_statistic_of_its_runs(statistic: Statistic) -> None:
    policies = np.random.default_rng(1).multinomial(800, UNIFORM, size=(20_000, 3)) / 800
    found = np.apply_along_axis(statistic.centre, 1, jensen_shannon_terms(UNIFORM, policies).sum(axis=2))
    floor = pooled_floor(UNIFORM, 800, statistic, 3)
    assert floor.p95_of_runs == pytest.approx(np.quantile(found, 0.95), rel=0.03)
    assert floor.p95 == pooled_floor(UNIFORM, 800).p95 == pooled_floor(UNIFORM, 800).p95_of_runs
    assert floor.p95_of_runs < 0.8 * floor.p95


def test_three_runs_that_are_each_within_the_floor_of_one_are_not_on_target_together(tmp_path: Path) -> None:
    # JSD 0.0010; of 1000 responses the p95 of one is 0.0012, and that of the median of three 0.0009.
    counts = (237, 191, 191, 191, 190)
    mixed = [row | {"group": f"p{n % 100}", "session": n // 100} for n, row in enumerate(holdout(counts, (0,) * 5))]
    for seed in (1, 2, 3):
        root = write_run(Made(problems=2, samples=2, seed=seed), tmp_path)
        write_jsonl(root / "holdout" / "40.jsonl", mixed)
    study = study_of(tmp_path)
    row = row_of(main_rows(study, "gsm8k", "uniform"), "rkl")
    assert row.floor is not None
    assert (row.jsd.value or 1) < row.floor.p95
    assert row.off_target is True
    cells = {line[0].text: line[1].text for section in main_table(study, ["gsm8k"]).sections for line in section.rows}
    assert "∘" not in cells["rkl"]


@pytest.mark.parametrize("statistic", [MEAN, MEDIAN])
def test_runs_on_the_target_that_share_their_problems_are_called_off_it_one_time_in_twenty_at_most(
    statistic: Statistic,
) -> None:
    # 12 runs on the same 200 problems, 4 responses each, whose mixes scatter around the target: as (1.5 p*) and (5 p*),
    # or not at all.
    generator = np.random.default_rng(1)
    limits = {}
    for scatter in (1.5, 5.0, 1e6):
        off = []
        for _ in range(150):
            mixes = generator.dirichlet(scatter * UNIFORM, size=200)
            counts = generator.multinomial(4, mixes, size=(12, 200)).astype(float)
            jsds = jensen_shannon_terms(UNIFORM, counts.sum(axis=1) / 800).sum(axis=1)
            worth = [round(effective_samples(of_run) or 0, -2) for of_run in counts]  # few floors to draw
            finals = [{"on_support": 800, "effective_on_support": n, "clusters": 200} for n in worth]
            floor = effective_floor(UNIFORM, finals, statistic)
            assert floor is not None
            off.append(statistic.centre(jsds) > floor.p95_of_runs)
            limits[scatter] = floor
        assert sum(off) <= 0.08 * len(off)
    assert limits[1e6] == pooled_floor(UNIFORM, 800, statistic, 12)  # where they are independent, all runs count
    assert limits[1.5].p95_of_runs == limits[1.5].p95


def test_whether_runs_with_one_response_to_a_problem_are_independent_is_not_known() -> None:
    finals = [{"on_support": 100, "effective_on_support": 100.0, "clusters": clusters} for clusters in (100, 50)]
    single, several = (effective_floor(UNIFORM, [final] * 3, MEAN) for final in finals)
    assert single is not None
    assert several is not None
    assert several.p95_of_runs < single.p95_of_runs == single.p95 == several.p95


def test_runs_that_are_all_alike_are_told_apart_by_more_than_a_floor_s_scatter_only(tmp_path: Path) -> None:
    near, nearer, far = (over([value] * 3, MEAN) for value in (0.0101, 0.01, 0.1))
    floor = pooled_floor(UNIFORM, 1000)
    assert more_than_chance(near, nearer, None, 4) is None
    assert [more_than_chance(one, nearer, floor, 4) for one in (near, far)] == [False, True]
    assert more_than_chance(over([0.1 + 0.2] * 3, MEAN), over([0.3] * 3, MEAN), None) is False  # rounding is nothing
    for divergence, seed in product(("l2", "rkl"), (1, 2, 3)):
        counts = (200,) * 5 if divergence == "l2" else (204, 199, 199, 199, 199)
        run_with(tmp_path, counts, divergence=divergence, seed=seed)
    rows = main_rows(study_of(tmp_path), "gsm8k", "uniform")
    assert [one.differs_from_best for one in comparisons(rows)] == [None, False]


def test_rows_whose_runs_lie_apart_are_told_apart() -> None:
    near, far = over([0.010, 0.011, 0.012], MEAN), over([0.030, 0.033, 0.036], MEAN)
    assert more_than_chance(far, near, None, 4) is True
    assert more_than_chance(near, far, None, 4) is False
    assert more_than_chance(far, near, pooled_floor(UNIFORM, 40), 4) is False  # less than chance on the target
    assert more_than_chance(over([0.03], MEAN), near, None) is None  # one run, without an interval


def test_single_runs_are_told_apart_by_as_many_topics_as_their_intervals_are_of() -> None:
    # 0.020 apart, standard errors 0.0051 and 0.0026: a studentized range of 5.0; of four rows 4.3 is chance at 10
    # degrees of freedom, 6.8 at 3.
    for topics, told in ((8, True), (3, False)):
        near = over([0.010], MEAN, [[0.005, 0.015]], topics)
        assert more_than_chance(over([0.030], MEAN, [[0.020, 0.040]], topics), near, None, 4) is told


def test_a_row_is_off_target_by_the_floor_of_problems_like_its_own(tmp_path: Path) -> None:
    root = write_run(Made(problems=2), tmp_path)
    categories = ["en"] * 11 + ["zh"] * 9 + ["hi"] * 12 + ["es"] * 10 + ["fr"] * 6  # of each problem: all alike
    rows = [{"group": str(p), "category": c, "correct": True} for p, c in enumerate(categories) for _ in range(8)]
    (dump,) = (root / "holdout").iterdir()
    write_jsonl(dump, rows)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.floor == pooled_floor(UNIFORM, 48 * 8)
    assert row.floor_effective is not None
    assert int(row.floor_effective.n) in (47, 48)  # as many as there are problems
    assert row.jsd.value is not None
    assert row.floor is not None
    assert row.jsd.value > row.floor.p95
    assert row.off_target is False


def test_the_synthetic_table_takes_the_jsd_of_single_prompts_and_the_last_ten_logged_points(tmp_path: Path) -> None:
    root = write_run(Made(dataset="synthetic_closed", alpha=0.0, holdout=False), tmp_path)
    rows: list[dict[str, Any]] = [
        {"group": p, "category": c, "correct": True} for p in ("p", "q") for c in ["en" if p == "p" else "zh"] * 4
    ]
    rows.append({"group": "r", "category": None, "correct": False})
    write_jsonl(root / "validation" / "40.jsonl", rows)
    row = row_of(synthetic_rows(study_of(tmp_path), "synthetic_closed", "uniform"), "rkl")
    # Each prompt has one category: JSD(uniform, one of five) = 0.4228, the paper's base row. Pooled: two of five.
    assert row.prompt_jsd.value == pytest.approx(0.4228, abs=5e-5)
    assert row.jsd.value == pytest.approx(jensen_shannon_value(UNIFORM, np.array([0.5, 0.5, 0, 0, 0])))
    assert row.off_support.value == pytest.approx(1 / 9)
    # logged: 0.05 + 0.4 / step at steps 1 to 40
    assert row.train_jsd.value == pytest.approx(0.05 + 0.4 * sum(1 / s for s in range(31, 41)) / 10)


def test_the_synthetic_table_has_a_row_for_each_file_each_reward_and_each_weight(tmp_path: Path) -> None:
    made: dict[str, Any] = {"dataset": "synthetic_closed", "holdout": False, "problems": 8, "steps": 4}
    write_run(Made(alpha=0.0, miss=0.0, **made), tmp_path)
    write_run(Made(alpha=0.5, miss=0.5, **made), tmp_path)
    write_run(Made(form="gated", miss=1.0, **made), tmp_path)
    write_run(Made(form="gapo", divergence="l2", alpha=0.0, **made), tmp_path)
    write_run(Made(form="rlvr", **made), tmp_path)
    scheduled(write_run(Made(divergence="fkl", alpha=0.0, **made), tmp_path))
    study = study_of(tmp_path)
    final = study.runs[0].final
    assert final is not None
    init = baseline_row("SFT init", "synthetic_closed", "uniform", final, study.runs[0].settings)
    study = study._replace(baselines=(init,))
    rows = synthetic_rows(study, "synthetic_closed", "uniform")
    own = [(row.reward, row.weight) for row in rows if row.reward != "SFT init"]
    assert own == [
        ("rlvr", ""), ("gapo", ""), ("rkl", "gated"), ("rkl", "add50"), ("rkl", ""), ("fkl, scheduled", ""),
    ]  # fmt: skip
    assert {(row.kind, row.complete) for row in rows} == {("synthetic", True)}
    jsds = {(row.reward, row.weight or "add00"): row.prompt_jsd.value for row in rows}
    of_runs = {(run.key.reward, run.key.weight): run.final["jsd_per_prompt"]["mean"] for run in study.runs if run.final}
    for of in (("rkl", "gated"), ("rkl", "add50"), ("rkl", "add00")):
        assert jsds[of] == of_runs[of]
    for table in (synthetic_table(study, ["synthetic_closed"]), divergence_table(study)):
        names = [line[0].text for section in table.sections for line in section.rows]
        assert names[:7] == ["SFT init", "RLVR", "GAPO", "rkl gated", "rkl add50", "rkl", "fkl, scheduled"]
    (section,) = synthetic_table(study, ["synthetic_closed"]).sections
    assert section.rows[0][1] == (NOTHING, "", PLAIN)  # no file of responses has a training
    for per_prompt in (False, True):
        compared = dict(zip([(row.reward, row.weight) for row in rows], comparisons(rows, per_prompt), strict=True))
        assert {compared[name] for name in (("SFT init", ""), ("rlvr", ""), ("gapo", ""))} == {(False, None)}
        assert sum(one.best for one in compared.values()) == 1
    (ours,) = [one for one in compare(study) if one.published.metric == "jsd" and one.row]
    assert ours.ours.value == of_runs["rkl", "add00"]
    (bars,) = [plot for plot in study_plots(study) if plot.name == "shares"]
    assert [series.name for series in bars.panels[0].series] == ["SFT init", "RLVR", "rkl"]


def test_the_floor_of_the_synthetic_table_is_the_paper_s() -> None:
    # "at K=5 and G=32 the finite-sample floor is 0.017 nats on the uniform target and 0.008 on the peaked one"
    assert prompt_floor(UNIFORM, (32,) * 80, 32).mean == pytest.approx(0.0168, abs=5e-5)
    assert prompt_floor(np.array([0, 0, 1 / 3, 1 / 3, 1 / 3]), (32,) * 80, 32).mean == pytest.approx(0.0081, abs=5e-5)


def test_a_single_run_has_its_own_interval_for_a_spread(tmp_path: Path) -> None:
    run_with(tmp_path, (20,) * 5, right=(10,) * 5)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.statistic == SINGLE
    assert row.pass_at_1.low is not None
    assert row.pass_at_1.low < 0.5 < (row.pass_at_1.high or 0)
    assert row.shares["es"].low is not None
    assert row.shares["es"].low < 0.2 < (row.shares["es"].high or 0)


def test_runs_of_the_gated_form_alone_have_the_grid_and_no_row_of_additive_runs(tmp_path: Path) -> None:
    run_with(tmp_path, SKEWED[1], form="gated")
    study = study_of(tmp_path)
    assert "grid" in [table.name for table in study_tables(study)]
    assert main_rows(study, "gsm8k", "uniform") == []
    assert bars_note(study, "gsm8k", "uniform") == "no additive run"


@pytest.mark.parametrize(("alphas", "grid"), [((0.7,), False), ((0.7, 0.9), True)])
@pytest.mark.parametrize("beside", [lambda root: None, lambda root: scheduled(root)])
def test_one_additive_weight_alone_needs_no_grid_and_two_have_one(
    tmp_path: Path, beside: Any, alphas: tuple[float, ...], grid: bool
) -> None:
    for alpha in alphas:
        beside(write_run(Made(problems=2, alpha=alpha), tmp_path))
    assert ("grid" in [table.name for table in study_tables(study_of(tmp_path))]) is grid


def test_the_main_table_says_on_which_split_its_runs_were_evaluated(tmp_path: Path) -> None:
    write_run(Made(problems=2, holdout=False), tmp_path)
    caption = main_table(study_of(tmp_path), ["gsm8k"]).caption
    assert "Evaluated on: validation." in caption
    assert "holdout" not in caption


def test_a_category_that_never_occurs_makes_forward_kl_infinite_not_missing(tmp_path: Path) -> None:
    run_with(tmp_path, (25, 25, 25, 25, 0))
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    assert row.divergences["fkl"].value == math.inf


@pytest.mark.parametrize(
    ("damage", "state", "reason"),
    [
        (lambda run: (run / "run.json").unlink(), UNFINISHED, "not started"),
        (lambda run: (run / "holdout" / "40.jsonl").rename(run / "holdout" / "20.jsonl"), UNFINISHED, "step 20 of 40"),
        (lambda run: (run / "holdout" / "40.jsonl").write_text('{"cat'), FAILED, "not JSON"),
        (lambda run: (run / "holdout" / "40.jsonl").write_bytes("ह".encode()[:-1]), FAILED, "is the file complete"),
        (lambda run: (run / "holdout" / "40.jsonl").write_text(""), FAILED, "holds no responses"),
        (lambda run: (run / "run.json").write_text('{"attempts": [{"status": "running"}]}'), UNFINISHED, "killed"),
    ],
)
def test_a_run_that_cannot_be_scored_says_why(tmp_path: Path, damage: Any, state: str, reason: str) -> None:
    write_run(Made(seed=1, problems=2), tmp_path)
    root = write_run(Made(seed=2, problems=2), tmp_path)
    damage(root)
    runs: dict[int, ScoredRun] = {run.key.seed: run for run in load_runs(run_roots([str(tmp_path)]))}
    assert runs[1].state == DONE
    assert runs[2].state == state
    assert reason in runs[2].reason
    assert runs[2].final is None


def test_a_run_without_a_holdout_is_not_scored_on_validation_where_others_have_one(tmp_path: Path) -> None:
    write_run(Made(seed=1, problems=2), tmp_path)
    write_run(Made(seed=2, problems=2, holdout=False), tmp_path)
    states = {run.key.seed: (run.state, run.reason) for run in load_runs(run_roots([str(tmp_path)]))}
    assert states == {1: (DONE, ""), 2: (UNFINISHED, "no holdout dump")}


def test_the_holdout_of_the_initial_model_alone_is_no_reason_to_leave_validation(tmp_path: Path) -> None:
    root = write_run(Made(seed=1, problems=2, holdout=False), tmp_path)
    write_run(Made(seed=2, problems=2, holdout=False), tmp_path)
    (root / "holdout").mkdir()
    (root / "holdout" / "0.jsonl").write_bytes((root / "validation" / "0.jsonl").read_bytes())
    runs = load_runs(run_roots([str(tmp_path)]))
    assert [(run.state, run.final and run.final["step"]) for run in runs] == [(DONE, 40)] * 2
    # The run's own page shows what was evaluated most often.
    evaluations = sorted(runs[0].evaluations(), key=lambda one: one["step"])
    evaluations = [evaluations[0] | {"split": "holdout"}, *evaluations]
    panel = run_plots(runs[0], runs[0].folder.history(), evaluations)[0].panels[0]
    shown = next(series for series in panel.series if series.kind == "points")
    assert list(shown.x) == [one["step"] for one in evaluations[1:] if one["split"] == "validation"]


def test_the_baselines_that_were_trained_have_rows_of_their_own(tmp_path: Path) -> None:
    write_run(Made(form="rlvr", problems=2), tmp_path)
    for entropy in (0.1, 0.01):
        write_run(Made(form="rlvr", entropy=entropy, problems=2), tmp_path)
    write_run(Made(form="gapo", divergence="l2", problems=2), tmp_path)
    write_run(Made(target="peak", problems=2), tmp_path)
    study = study_of(tmp_path)
    uniform = {row.reward: (row.runs, row.expected) for row in main_rows(study, "gsm8k", "uniform")}
    assert uniform == dict.fromkeys(["rlvr", "entropy 0.01", "entropy 0.1", "gapo"], (1, 1))
    assert [row.reward for row in main_rows(study, "gsm8k", "peak")] == ["rkl"]
    shown = [row[0].text for row in main_table(study, ["gsm8k"]).sections[0].rows]
    assert shown[:4] == ["RLVR", "RLVR + entropy bonus 0.01", "RLVR + entropy bonus 0.1", "GAPO"]


def test_weights_that_differ_by_less_than_a_percent_are_two_weights(tmp_path: Path) -> None:
    for alpha, seed in product((0.7, 0.703, 0.05), (1, 2)):
        run_with(tmp_path, SKEWED[1], alpha=alpha, seed=seed)
    rows = grid_rows(study_of(tmp_path), "gsm8k", "uniform")
    assert [(row.weight, row.runs) for row in rows] == [("add70.3", 2), ("add70", 2), ("add05", 2)]


def test_nothing_is_missing_where_each_target_has_its_own_weights_seeds_and_divergences(tmp_path: Path) -> None:
    for divergence, alpha, seed in product(("l2", "rkl"), (0.9, 0.7), (1, 2)):
        run_with(tmp_path, SKEWED[1], divergence=divergence, alpha=alpha, seed=seed)
    for seed in (1, 3):
        run_with(tmp_path, SKEWED[1], target="peak", seed=seed)
    study = study_of(tmp_path)
    assert missing_runs(study) == []
    rows = {target: main_rows(study, "gsm8k", target) for target in study.targets("gsm8k")}
    found = {target: {row.reward: (row.runs, row.expected) for row in of} for target, of in rows.items()}
    assert found == {"uniform": {"l2": (4, 4), "rkl": (4, 4)}, "peak": {"rkl": (2, 2)}}
    assert [panel.note for panel in divergence_panels(study, "gsm8k", "peak")] == [""] * 4


def test_the_gated_form_is_expected_of_the_divergences_that_have_a_run_of_it(tmp_path: Path) -> None:
    for divergence, seed in product(("l2", "rkl"), (1, 2)):
        run_with(tmp_path, SKEWED[1], divergence=divergence, seed=seed)
    run_with(tmp_path, SKEWED[1], form="gated", seed=1)
    study = study_of(tmp_path)
    assert missing_runs(study) == ["gsm8k uniform rkl gated seed 2: no run"]
    rows = [(row.reward, row.weight) for row in grid_rows(study, "gsm8k", "uniform")]
    assert rows == [("l2", "add70"), ("rkl", "gated"), ("rkl", "add70")]


def test_two_runs_of_one_cell_are_refused(tmp_path: Path) -> None:
    write_run(Made(problems=2), tmp_path / "a")
    write_run(Made(problems=2), tmp_path / "b")
    with pytest.raises(MadrlError, match="are both gsm8k uniform rkl add70 seed 42"):
        load_runs(run_roots([str(tmp_path)]))


def cell_of_a_grid(out: Path, name: str, year: str) -> None:
    root = write_run(Made(problems=2), out).rename(out / name)
    facts = (root / "run.json").read_text()
    (root / "run.json").write_text(facts.replace("2026", year))
    ledger = Ledger(out, name)
    ledger.root.mkdir(parents=True)
    ledger.facts.write_text("{}")


def test_of_a_cell_that_ran_again_with_other_code_the_later_run_counts_and_the_report_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    for digit, year in (("d", "2026"), ("e", "2025"), ("f", "2024")):
        cell_of_a_grid(runs, f"cell_seed42_tiny-0123abc{digit}", year)
    (run,) = load_runs(run_roots([str(runs)]))
    assert run.name == "cell_seed42_tiny-0123abcd"
    assert f"{runs}/cell_seed42_tiny-0123abce is left out" in caplog.text
    assert sorted(run.left_out) == ["cell_seed42_tiny-0123abce", "cell_seed42_tiny-0123abcf"]
    monkeypatch.setattr("madrl.report.build.draw", lambda *args: None)
    report_study([str(runs)], out)
    for name in ("report.md", "index.html"):
        assert "cell_seed42_tiny-0123abce, for cell_seed42_tiny-0123abcd" in (out / name).read_text().replace("\\", "")


@pytest.mark.parametrize("names", [("exp-20250101", "exp-20250102"), ("exp", "exp-20250102"), ("exp", "exp-0123abcd")])
def test_a_run_whose_name_ends_in_a_date_is_no_cell_that_ran_again(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        if name == "exp-0123abcd":
            cell_of_a_grid(tmp_path, name, "2025")
        else:
            write_run(Made(problems=2), tmp_path).rename(tmp_path / name)
    with pytest.raises(MadrlError, match="are both gsm8k uniform rkl add70 seed 42: name only one"):
        load_runs(run_roots([str(tmp_path)]))


@pytest.mark.parametrize("config", [b"%#\x00\xff", None])
def test_a_run_whose_config_is_damaged_or_gone_is_not_left_out_without_a_word(
    tmp_path: Path, config: bytes | None
) -> None:
    write_run(Made(seed=1, problems=2), tmp_path)
    root = write_run(Made(seed=2, problems=2), tmp_path)
    (root / "config.yaml").unlink()
    if config is not None:
        (root / "config.yaml").write_bytes(config)
    with pytest.raises(MadrlError, match=rf"{root}.*config.yaml"):
        load_runs(run_roots([str(tmp_path)]))


def test_a_path_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match="holds no run"):
        run_roots([str(tmp_path)])


def test_an_evaluation_keeps_the_correct_responses_behind_a_rate_too_small_to_report(tmp_path: Path) -> None:
    write_run(Made(problems=2), tmp_path)
    (run,) = load_runs(run_roots([str(tmp_path)]))
    found = run.evaluation(1, "holdout", holdout((3, 0, 0, 0, 0), (2, 0, 0, 0, 0)))
    assert found["by_category"]["en"]["pass@1"] is None
    assert found["by_category"]["en"]["correct"] == 2


def test_a_run_that_lost_a_wanted_category_is_told_by_its_least_wanted_share(tmp_path: Path) -> None:
    # Peaked: en and zh are not wanted, hi is, and never occurs.
    run_with(tmp_path, (0, 0, 50, 0, 50), target="peak")
    (run,) = load_runs(run_roots([str(tmp_path)]))
    assert run.least_wanted_share == 0.0
    assert run.lost_categories == ["hi"]


def test_a_run_on_a_target_that_wants_little_of_a_category_has_not_lost_it(tmp_path: Path) -> None:
    for seed, counts in ((1, (500, 300, 180, 10, 10)), (2, (500, 300, 190, 10, 0))):
        run_with(tmp_path, counts, seed=seed, target="{en: 0.5, zh: 0.3, es: 0.18, hi: 0.01, fr: 0.01}")
    kept, lost = load_runs(run_roots([str(tmp_path)]))
    assert (kept.least_wanted_share, kept.lost_categories) == (0.01, [])
    assert lost.lost_categories == ["fr"]


SCHEDULE = "target_schedule: [{step: 0, target: peak}, {step: 10, target: uniform}]"


def scheduled(root: Path) -> None:
    config = root / "config.yaml"
    text = config.read_text().replace("form: additive,", "form: additive, calibrate: true,")
    config.write_text(f"{text}  {SCHEDULE}\n")


def test_the_gated_form_of_a_reward_with_something_beside_is_pooled_with_no_other(tmp_path: Path) -> None:
    for form, counts in (("additive", SKEWED[1]), ("gated", SKEWED[4])):
        for seed in (1, 2):
            root = write_run(Made(problems=2, form=form, seed=seed), tmp_path)
            write_jsonl(root / "holdout" / "40.jsonl", holdout(counts, (0,) * 5))
            scheduled(root)
    study = study_of(tmp_path)
    (row,) = [row for row in main_rows(study, "gsm8k", "uniform") if row.reward == "rkl, scheduled"]
    assert row.runs == 2
    assert row.jsd.value == pytest.approx(jsd(SKEWED[1]))
    rows = grid_rows(study, "gsm8k", "uniform")
    assert row_of(rows, "rkl, scheduled", "gated").jsd.value == pytest.approx(jsd(SKEWED[4]))
    assert row_of(rows, "rkl, scheduled", "add70").jsd.value == pytest.approx(jsd(SKEWED[1]))
    lines = [line for section in grid_table(study, ["gsm8k"]).sections for line in section.rows]
    assert ("rkl, scheduled", "gated") in [(line[0].text, line[1].text) for line in lines]
    (plot,) = frontier_plots(study)
    assert [series.name for series in plot.panels[0].series] == ["rkl, scheduled", "rkl, scheduled gated"]
    assert [series.symbol for series in plot.panels[0].series] == ["circle", "square"]


def test_a_warm_start_beside_the_runs_is_not_taken_for_one(tmp_path: Path) -> None:
    root = write_run(Made(problems=2), tmp_path)
    (tmp_path / "warm_start").mkdir()
    (tmp_path / "warm_start" / "config.yaml").write_text("madrl:\n  categories: [a]\nwarm_start: {}\n")
    assert run_roots([str(tmp_path)]) == [root]


@pytest.mark.parametrize("half", [b'{"half', '{"output": "ह'.encode()[:-1]])
def test_the_dump_that_a_running_run_is_writing_is_left_out(tmp_path: Path, half: bytes) -> None:
    root = write_run(Made(problems=2, status="running"), tmp_path)
    (root / "validation" / "30.jsonl").write_bytes(half)
    (run,) = load_runs(run_roots([str(tmp_path)]))
    assert (run.state, [point.step for point in run.curve]) == (UNFINISHED, [0, 10, 20])


def test_the_single_prompts_fit_is_in_every_row(tmp_path: Path) -> None:
    root = write_run(Made(), tmp_path)
    rows = [{"group": p, "category": p, "correct": True} for p in CATEGORIES for _ in range(4)]
    write_jsonl(root / "holdout" / "40.jsonl", rows)
    row = row_of(main_rows(study_of(tmp_path), "gsm8k", "uniform"), "rkl")
    # Every prompt has one category, all together are on the target: 1 - 5 x 0.2^2 = 0.8
    assert row.jsd.value == pytest.approx(0.0, abs=1e-12)
    assert row.per_prompt.value == pytest.approx(0.8)


def test_a_target_and_a_task_of_the_user_s_own_are_called_by_their_names(tmp_path: Path) -> None:
    write_run(Made(dataset="mine", target="{es: 3, hi: 1}", problems=4), tmp_path)
    study = study_of(tmp_path)
    assert study.targets("mine") == ["en:0 zh:0 es:0.75 hi:0.25 fr:0"]
    table = main_table(study, ["mine"])
    assert table.groups[1][0] == "en:0 zh:0 es:0.75 hi:0.25 fr:0"
    assert table.sections[0].heading == "mine"
    assert comparison_table(study).sections == []


def test_the_datasets_come_in_the_paper_s_order(tmp_path: Path) -> None:
    for dataset in ("another", "code_contests", "gsm8k", "math"):
        write_run(Made(dataset=dataset, problems=2), tmp_path)
    assert study_of(tmp_path).datasets == ["gsm8k", "math", "code_contests", "another"]


def test_a_file_of_responses_that_only_one_dataset_has_is_missing_in_the_other(tmp_path: Path) -> None:
    for dataset in ("gsm8k", "math"):
        write_run(Made(dataset=dataset, problems=2), tmp_path)
    study = study_of(tmp_path)
    final = study.runs[0].final
    assert final is not None
    base, other = (
        baseline_row(name, dataset, "uniform", final, study.runs[0].settings)
        for name, dataset in (("base", "gsm8k"), ("SFT init", "synthetic_closed"))
    )
    gsm8k, math_ = main_table(study._replace(baselines=(other, base)), study.datasets).sections
    assert gsm8k.rows[0][0].text == math_.rows[0][0].text == "base"
    assert gsm8k.rows[0][1].mark != MISSING
    assert {cell.mark for cell in math_.rows[0][1:]} == {MISSING}


def test_a_run_with_hints_and_one_that_is_not_calibrated_have_rows_of_their_own_and_compete(tmp_path: Path) -> None:
    unequal, scheduled_as = "{en: 3, zh: 1}", f"naming: null\n  {SCHEDULE}"
    for place, target, miss, edits in (
        ("plain", "uniform", 0.3, {}),
        ("hints", "uniform", 0.01, {"naming: null": "naming: language", "max_ungraded": "hints: 2\n  max_ungraded"}),
        ("scheduled", "uniform", 0.3, {"naming: null": scheduled_as, "epsilon: 0.001": "calibrate: true"}),
        ("scheduled_not_calibrated", "uniform", 0.3, {"naming: null": scheduled_as}),
        ("calibrated", unequal, 0.01, {"epsilon: 0.001": "epsilon: 0.001, calibrate: true"}),
        ("not_calibrated", unequal, 0.3, {}),
        ("gated", unequal, 0.3, {"form: additive": "form: gated"}),
        ("gated_calibrated", unequal, 0.2, {"form: additive": "form: gated", "epsilon: 0.001": "calibrate: true"}),
    ):
        config = write_run(Made(target=target, miss=miss), tmp_path / place) / "config.yaml"
        text = config.read_text()
        for old, new in edits.items():
            assert old in text
            text = text.replace(old, new)
        config.write_text(text)
    study = study_of(tmp_path)
    rewards = {
        target: [row.reward for row in main_rows(study, "gsm8k", target) if row.runs]
        for target in study.targets("gsm8k")
    }
    of_uniform = ["rkl", "rkl, hints 2", "rkl, scheduled", "rkl, scheduled, not calibrated"]
    assert list(rewards.values()) == [of_uniform, ["rkl", "rkl, not calibrated"]]
    (own,) = (target for target in study.targets("gsm8k") if target != "uniform")
    gated = [row.reward for row in grid_rows(study, "gsm8k", own) if row.runs and row.weight == "gated"]
    assert gated == ["rkl", "rkl, calibrated"]
    rows = main_rows(study, "gsm8k", "uniform")
    best = [row.reward for row, compared in zip(rows, comparisons(rows), strict=True) if compared.best]
    assert best == ["rkl, hints 2"]
    shown = [row[0].text for row in main_table(study, ["gsm8k"]).sections[0].rows]
    assert shown[:-1] == sorted({*of_uniform, "rkl, not calibrated"})
