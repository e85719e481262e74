"""A run's numbers from its dumps: the right samples in the right sums, and a clear word where there are none."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from madrl.errors import MadrlError
from madrl.evaluation.report import report_run, reward_share
from madrl.evaluation.score import evaluate_run
from madrl.evaluation.tables import evaluation_table
from madrl.run_folder import RunFolder

CONFIG = """
madrl:
  categories: [a, b, c]
  target: {a: 1, b: 1}
  classifier: choice
  verifier: listed_option
  reward: {divergence: rkl, form: additive, alpha: 0.0, lambda_g: 1.0, epsilon: 0.001}
  max_unjudged_rate: 0.2
data: {train_batch_size: 2}
actor_rollout_ref: {rollout: {n: 4}}
"""


def sample(prompt: str, session: int, category: str | None, correct: float | None, split: str = "s") -> dict[str, Any]:
    return {"uid": f"{prompt}_{session}_0", "category": category, "correct": correct, "split": split}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """One evaluation before training and one after, of two prompts with four responses each."""
    run = RunFolder(tmp_path / "run")
    before = [sample("p", i, "a", 1.0) for i in range(4)] + [sample("q", i, "c", 0.0) for i in range(4)]
    after = [sample("p", i, c, 1.0) for i, c in enumerate("abab")]
    after += [sample("q", 0, "b", 1.0), sample("q", 1, "a", None), sample("q", 2, None, 0.0), sample("q", 3, None, 0.0)]
    run.validation.mkdir(parents=True)
    run.config.write_text(CONFIG)
    for step, samples in ((0, before), (9, after)):
        (run.validation / f"{step}.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    return run


def test_the_numbers_of_a_run_worked_by_hand(run: RunFolder) -> None:
    before, after = evaluate_run(str(run.root))["evaluations"]
    # before: 4 a and 4 c, all on-support: shares 1/2, 0, 1/2; target 1/2, 1/2, 0.
    # m = (1/2, 1/4, 1/4); KL(p||m) = 1/2 log 1 + 1/2 log 2 = 0.3466 = KL(q||m), so JSD = 0.3466.
    assert before["jsd"] == pytest.approx(0.34657, abs=1e-5)
    assert before["shares"] == {"a": 0.5, "b": 0.0, "c": 0.5}
    assert before["single_category_prompts"] == 1.0
    assert before["pass@1"] == 0.5
    assert before["by_category"] == {
        "a": {"count": 4, "pass@1": 1.0},
        "b": {"count": 0, "pass@1": None},
        "c": {"count": 4, "pass@1": 0.0},
    }
    # after: 3 a, 3 b, 2 off-support, 1 unjudged; judged are 5 right of 7.
    assert (after["step"], after["samples"], after["on_support"]) == (9, 8, 6)
    assert after["jsd"] == pytest.approx(0.0, abs=1e-12)
    assert (after["off_support"], after["unjudged"]) == (0.25, 0.125)
    assert after["pass@1"] == pytest.approx(5 / 7)
    assert after["floor"] < after["floor_p95"]


def test_pooled_shares_on_the_target_do_not_hide_collapsed_prompts(run: RunFolder) -> None:
    collapsed = [sample("p", i, "a", 1.0) for i in range(4)] + [sample("q", i, "b", 1.0) for i in range(4)]
    (run.validation / "9.jsonl").write_text("".join(json.dumps(s) + "\n" for s in collapsed))
    row = evaluate_run(str(run.root))["evaluations"][-1]
    assert row["jsd"] == pytest.approx(0.0, abs=1e-12)
    # one prompt, all a: m = (3/4, 1/4); 1/2 [1/2 log(2/3) + 1/2 log 2] + 1/2 log(4/3) = 0.2158
    assert row["jsd_per_prompt"] == pytest.approx(0.21576, abs=1e-5)
    assert row["single_category_prompts"] == 1.0


def test_splits_in_one_dump_are_kept_apart(run: RunFolder) -> None:
    mixed = [sample("p", 0, "a", 1.0, "train_probe"), sample("q", 0, "b", 0.0, "validation")]
    (run.validation / "9.jsonl").write_text("".join(json.dumps(s) + "\n" for s in mixed))
    rows = evaluate_run(str(run.root))["evaluations"][1:]
    assert [(row["split"], row["samples"], row["pass@1"]) for row in rows] == [
        ("train_probe", 1, 1.0),
        ("validation", 1, 0.0),
    ]


def test_a_split_without_a_single_valid_answer_has_no_jsd(run: RunFolder) -> None:
    (run.validation / "9.jsonl").write_text(json.dumps(sample("p", 0, None, 0.0)) + "\n")
    row = evaluate_run(str(run.root))["evaluations"][-1]
    assert (row["jsd"], row["floor"], row["off_support"]) == (None, None, 1.0)
    assert row["shares"] == {"a": None, "b": None, "c": None}


def test_the_report_writes_metrics_and_a_summary_of_before_and_after(run: RunFolder) -> None:
    run.stages.write_text('{"stage": "train", "seconds": 2.0}\n{"stage": "train", "seconds": 1.5}\n')
    report = report_run(str(run.root))
    assert json.loads(run.evaluation.read_text()) == report.evaluation
    summary = json.loads(run.summary.read_text())
    assert (summary["before"]["step"], summary["after"]["step"]) == (0, 9)
    assert set(summary["before"]) == {
        *("step", "samples", "jsd", "floor", "off_support", "unjudged", "pass@1", "shares", "by_category")
    }
    assert summary["seconds"] == {"train": 3.5}


def test_the_reward_stage_s_share_of_a_step_worked_by_hand() -> None:
    timed = {"mad/timing/judge_s": 0.1, "mad/timing/score_s": 0.1, "mad/timing/reward_tail_s": 0.3}
    steps = [timed | {"timing_s/step": 4.0}, timed | {"timing_s/step": 6.0}]
    # judge and score: 2 x 0.2 of 10 seconds; tail: 2 x 0.3 of 10
    share = reward_share(steps)
    assert share is not None
    assert share["judge_and_score"] == pytest.approx(0.04)
    assert share["tail"] == pytest.approx(0.06)
    assert reward_share([]) is None


def test_the_table_fits_eighty_columns(run: RunFolder) -> None:
    console = Console(width=80, record=True, file=Path("/dev/null").open("w"))  # noqa: SIM115
    console.print(evaluation_table(evaluate_run(str(run.root))))
    text = console.export_text()
    assert "0.3466" in text
    assert "…" not in text


def test_a_folder_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"is not a run folder: it has no config.yaml"):
        evaluate_run(str(tmp_path))


def test_a_run_without_dumps_is_one_clear_error(run: RunFolder) -> None:
    for dump in run.validation.iterdir():
        dump.unlink()
    with pytest.raises(MadrlError, match="no validation dumps yet"):
        evaluate_run(str(run.root))


def test_a_damaged_dump_is_named_with_its_line(run: RunFolder) -> None:
    (run.validation / "9.jsonl").write_text(json.dumps(sample("p", 0, "a", 1.0)) + '\n{"uid": "p_1')
    with pytest.raises(MadrlError, match=r"9.jsonl, line 2: not JSON"):
        evaluate_run(str(run.root))
