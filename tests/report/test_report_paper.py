"""`madrl report --compare paper`: what may stand beside a published number, and what is said of the two."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from made_runs import CATEGORIES, PEAK, UNIFORM, Made, responses, write_jsonl, write_run

from madrl.cli import main
from madrl.divergence import DIVERGENCES
from madrl.report.paper import compare, comparison_table
from madrl.report.rows import Study, comparisons, synthetic_rows
from madrl.report.study import load_runs, run_roots
from madrl.report.study_plots import METRICS, divergence_panels

TARGETS = {"uniform": UNIFORM, "peak": PEAK}


def on_target(
    parent: Path, dataset: str, problems: int, samples: int, seeds: Sequence[int] = (42, 123, 200), **made: Any
) -> None:
    """The paper's cells of one additive weight, all with a policy exactly on the target."""
    cells = product(TARGETS, DIVERGENCES, seeds)
    for number, (target, divergence, seed) in enumerate(cells):
        run = Made(dataset=dataset, target=target, divergence=divergence, seed=seed, problems=2, samples=2, **made)
        root = write_run(run, parent)
        rows = responses(TARGETS[target], 0.6, run.off_support, problems, samples, number, "holdout")
        write_jsonl(root / "holdout" / f"{run.steps}.jsonl", rows)


def comparison(parent: Path, out: Path) -> list[tuple[str, str, str]]:
    """Section, metric and verdict of each number of ours that the report shows beside the paper's."""
    assert main(["report", str(parent), "-o", str(out), "--compare", "paper"]) == 0
    shown = (out / "report.md").read_text(encoding="utf-8")
    section, found = "", []
    for line in shown[shown.index("## Beside the paper") : shown.index("## Figures")].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| **"):
            (section,) = re.findall(r"table:[a-z-]+", cells[0])
        elif len(cells) == 7 and cells[3] not in ("ours", "*missing*") and "---" not in line:
            found.append((section, cells[1], cells[5]))
    return found


def test_of_policies_on_the_target_one_in_twenty_is_called_off_it_at_the_paper_s_n(
    tmp_path: Path,
) -> None:
    on_target(tmp_path / "runs", "synthetic_closed", 80, 32, alpha=0.0, group_size=32)
    on_target(tmp_path / "runs", "gsm8k", 200, 4)
    found = comparison(tmp_path / "runs", tmp_path / "out")
    jsds = [(section, verdict) for section, metric, verdict in found if metric == "jsd"]
    assert sorted({section for section, _ in jsds}) == ["table:closedset", "table:rl-grid", "table:rl-main"]
    assert len(jsds) == 3 * 8  # four rewards and two targets, in each of three tables
    verdicts = Counter(verdict for _, verdict in jsds)
    assert verdicts["within the floor"] >= 24 - 3  # of a mean 1.2, which is 3 at most nine times in ten
    assert verdicts.keys() <= {"within the floor", "off target, closer than the paper's"}
    assert not any("off target" in verdict for _, metric, verdict in found if metric != "jsd")


def test_no_policy_that_is_on_the_target_is_called_off_it_at_another_number_of_responses(tmp_path: Path) -> None:
    on_target(tmp_path / "runs", "synthetic_closed", 80, 4, seeds=(42,), alpha=0.0, group_size=8)
    on_target(tmp_path / "runs", "gsm8k", 60, 4, seeds=(42,))
    found = comparison(tmp_path / "runs", tmp_path / "out")
    verdicts = {(section, metric, verdict) for section, metric, verdict in found if "jsd" in metric}
    assert verdicts == {
        ("table:closedset", "jsd", "not comparable (n=4 against 32)"),
        ("table:closedset", "train\\_jsd", "not comparable (n=8 against 32)"),
        ("table:rl-main", "jsd", "not comparable (n=240 against 800)"),
        ("table:rl-grid", "jsd", "not comparable (n=240 against 800)"),
    }


def made_study(parent: Path, **made: Any) -> Study:
    write_run(Made(dataset="synthetic_closed", alpha=0.0, problems=80, **made), parent)
    return Study(tuple(load_runs(run_roots([str(parent)]))), ())


def verdict_of_ours(study: Study) -> str:
    (found,) = [c for c in compare(study) if c.published.metric == "jsd" and c.ours.value is not None]
    return found.verdict


@pytest.mark.parametrize(
    ("miss", "verdict"),
    [
        (0.0, "within the floor"),
        (0.5, "off target, closer than the paper's"),
        (1.0, "off target, further than the paper's"),
    ],
)
def test_a_policy_off_the_target_is_told_from_the_paper_s(tmp_path: Path, miss: float, verdict: str) -> None:
    # The paper's reverse KL is at 0.0504, uniform. Half of the way from START to uniform is at some 0.035, START at
    # 0.09.
    assert verdict_of_ours(made_study(tmp_path, samples=32, miss=miss)) == verdict


def test_runs_of_one_row_with_different_numbers_of_responses_are_not_compared(tmp_path: Path) -> None:
    write_run(Made(dataset="synthetic_closed", alpha=0.0, problems=80, samples=32, seed=1), tmp_path)
    study = made_study(tmp_path, samples=4, seed=2)
    assert verdict_of_ours(study) == "not comparable (n=4–32 against 32)"


def test_a_row_with_a_run_missing_is_compared_with_nothing(tmp_path: Path) -> None:
    failed = Made(dataset="synthetic_closed", alpha=0.0, problems=80, samples=32, seed=1, status="failed")
    write_run(failed, tmp_path)
    study = made_study(tmp_path, samples=32, seed=2)
    found = [one for one in compare(study) if one.ours.value is not None]
    assert {one.published.metric for one in found} == {"jsd", "train_jsd", "off_support"}
    assert {(one.comparable, one.verdict) for one in found} == {(False, "runs are missing")}


def test_rewards_whose_runs_have_different_numbers_of_responses_compete_in_the_pool_only(tmp_path: Path) -> None:
    for divergence, samples in (("l2", 4), ("fkl", 32), ("jsd", 32)):
        run = Made(dataset="synthetic_closed", alpha=0.0, divergence=divergence, problems=80, samples=samples)
        write_run(run, tmp_path)
    rows = synthetic_rows(made_study(tmp_path, samples=32), "synthetic_closed", "uniform")
    assert {str(row.prompt_n) for row in rows} == {"4", "32"}
    assert not any(one.best for one in comparisons(rows, per_prompt=True))
    assert sum(one.best for one in comparisons(rows)) == 1


def test_the_comparison_says_which_verifier_decided_correctness(tmp_path: Path) -> None:
    for seed, verifier in ((1, "math"), (2, "exact_match")):
        root = write_run(Made(dataset="math", problems=2, seed=seed), tmp_path)
        config = (root / "config.yaml").read_text()
        (root / "config.yaml").write_text(config.replace("verifier: math", f"verifier: {verifier}"))
    write_run(Made(dataset="code_contests", problems=2), tmp_path)
    caption = comparison_table(Study(tuple(load_runs(run_roots([str(tmp_path)]))), ())).caption
    assert "by the verifier of the runs (MATH: exact_match, math); the paper: exact match after answer ext" in caption
    assert "CodeContests" not in caption


def test_the_curves_of_synthetic_are_means_of_single_prompts_beside_the_floor_at_their_n(tmp_path: Path) -> None:
    root = write_run(Made(dataset="synthetic_closed", alpha=0.0, problems=5, samples=4, steps=4), tmp_path)
    # Every prompt in one category, all five alike: the pool is on the target, each prompt at 0.4228.
    for dump in (root / "validation").iterdir():
        rows = [json.loads(line) for line in dump.read_text().splitlines()]
        write_jsonl(dump, [row | {"category": CATEGORIES[i // 4]} for i, row in enumerate(rows)])
    study = Study(tuple(load_runs(run_roots([str(tmp_path)]))), ())
    panels = dict(zip(METRICS, divergence_panels(study, "synthetic_closed", "uniform"), strict=True))
    mean = {metric: panel.series[0].y[-1] for metric, panel in panels.items()}
    # L2: 1/2 [0.8^2 + 4 x 0.2^2] = 0.4. Reverse KL: log 5. Forward KL of single prompts would be infinite: pooled.
    expected = {"jsd": 0.4228, "l2": 0.4, "rkl": 1.6094, "fkl": 0.0}
    assert mean == pytest.approx(expected, abs=5e-5)
    (floor,) = panels["jsd"].levels
    assert floor.name == "floor at n=4: mean to p95"
    assert floor.low == pytest.approx(0.1823, abs=5e-5)


def test_a_curve_has_of_a_session_its_last_turn_also_where_that_was_not_classified(tmp_path: Path) -> None:
    root = write_run(Made(dataset="synthetic_closed", alpha=0.0, problems=5, samples=4, steps=4), tmp_path)
    for dump in (root / "validation").iterdir():
        rows = [json.loads(line) for line in dump.read_text().splitlines()]
        asked = [row | {"turn": 0, "category": CATEGORIES[0]} for row in rows[:4]]
        answered = [row | {"turn": 1, "category": None, "classified": False} for row in rows[:4]]
        write_jsonl(dump, [*asked, *answered, *rows[4:]])
    (run,) = Study(tuple(load_runs(run_roots([str(tmp_path)]))), ()).runs
    assert {len(point.prompt_counts) for point in run.curve} == {4}


def test_the_synthetic_table_s_floors_stand_with_their_n(tmp_path: Path) -> None:
    for target in TARGETS:
        made = Made(dataset="synthetic_closed", target=target, alpha=0.0, problems=80, samples=32)
        write_run(replace(made, group_size=32, off_support=0.0), tmp_path / "runs")
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
    shown = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    floors = [line for line in shown.splitlines() if line.startswith("| floor, mean to p95")]
    # Train: the floor of 10 points of 4 prompts; evaluation: of 80 prompts. 2560 responses pooled.
    uniform, peaked = (re.findall(r"(0\.\d+)–0\.\d+ <sub>n=(\d+)</sub>", line) for line in floors[:2])
    assert uniform == [("0.0168", "32"), ("0.0168", "32"), ("0.0002", "2560")]
    assert peaked == [("0.0081", "32"), ("0.0081", "32"), ("0.0001", "2560")]
