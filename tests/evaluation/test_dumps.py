"""A run's numbers from its dumps: the right samples in the right sums, and a clear word where there are none."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.evaluation.dumps import evaluate_run
from madrl.report.evaluate import report_run, reward_share
from madrl.report.evaluation_tables import evaluation_tables
from madrl.report.table import console
from madrl.run_folder import RunFolder

CONFIG = """
seed: 1
trainer: {total_training_steps: 9}
madrl:
  task: synthetic_closed
  profile: tiny
  naming: null
  categories: [a, b, c]
  target: {a: 1, b: 1}
  classifier: choice
  verifier: listed_option
  reward: {divergence: rkl, form: additive, alpha: 0.0, lambda_g: 1.0, epsilon: 0.001}
  max_ungraded_rate: 0.2
  launch_check: stop
data: {train_batch_size: 2}
actor_rollout_ref: {rollout: {n: 4}}
"""


def sample(prompt: str, session: int, category: str | None, correct: float | None, split: str = "s") -> dict[str, Any]:
    """A line of a validation dump, as veRL writes it."""
    text = {"input": prompt, "output": "o", "gts": "t", "score": 0.5, "uid": f"{prompt}_{session}_0", "row": "7"}
    return {**text, "category": category, "correct": correct, "split": split}


def shown(run: RunFolder, number: int) -> str:
    """One of the tables of the run's evaluations, as a terminal of 80 columns has it."""
    result = evaluate_run(run.root)
    tables = evaluation_tables(result["evaluations"], result["epsilon"])
    terminal = Console(width=80, record=True, file=io.StringIO())
    terminal.print(console(tables[number]))
    return terminal.export_text()


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


def test_full_marks_stand_beside_pass_at_1_as_soon_as_a_response_is_correct_in_part(run: RunFolder) -> None:
    assert "marks" not in shown(run, 3)
    half = [sample("p", i, "a", 0.5) for i in range(4)] + [sample("q", i, "b", 1.0) for i in range(4)]
    (run.validation / "9.jsonl").write_text("".join(json.dumps(s) + "\n" for s in half))
    table = shown(run, 3)
    assert "full" in table
    assert "marks" in table
    assert "0.750" in table
    assert "share with correctness 1" in " ".join(table.split())


def test_the_numbers_of_a_run_worked_by_hand(run: RunFolder) -> None:
    before, after = evaluate_run(str(run.root))["evaluations"]
    # before: 4 a and 4 c, all on-support: shares 1/2, 0, 1/2; target 1/2, 1/2, 0.
    # m = (1/2, 1/4, 1/4); KL(p||m) = 1/2 log 1 + 1/2 log 2 = 0.3466 = KL(q||m), so JSD = 0.3466.
    assert before["jsd"] == pytest.approx(0.34657, abs=1e-5)
    assert {name: c["share"] for name, c in before["by_category"].items()} == {"a": 0.5, "b": 0.0, "c": 0.5}
    assert {name: c["count"] for name, c in before["by_category"].items()} == {"a": 4, "b": 0, "c": 4}
    assert before["single_category_prompts"] == 1.0
    assert before["pass@1"] == 0.5
    # after: 3 a, 3 b, 2 off-support, 1 ungraded; graded are 5 right of 7.
    assert (after["step"], after["samples"], after["on_support"]) == (9, 8, 6)
    assert after["jsd"] == pytest.approx(0.0, abs=1e-12)
    assert (after["off_support"], after["ungraded"]) == (0.25, 0.125)
    assert after["pass@1"] == pytest.approx(5 / 7)
    assert after["floor"] < after["floor_p95"]


def test_the_result_names_what_it_was_measured_against(run: RunFolder) -> None:
    result = evaluate_run(str(run.root))
    assert result["target"] == {"a": 0.5, "b": 0.5, "c": 0.0}
    assert (result["run"], result["divergence"], result["form"], result["epsilon"]) == ("run", "rkl", "additive", 0.001)


def test_splits_in_one_dump_are_kept_apart(run: RunFolder) -> None:
    mixed = [sample("p", 0, "a", 1.0, "train_probe"), sample("q", 0, "b", 0.0, "validation")]
    (run.validation / "9.jsonl").write_text("".join(json.dumps(s) + "\n" for s in mixed))
    rows = evaluate_run(str(run.root))["evaluations"][1:]
    assert [(row["split"], row["samples"], row["pass@1"]) for row in rows] == [
        ("train_probe", 1, 1.0),
        ("validation", 1, 0.0),
    ]


def test_a_split_of_one_dump_that_nobody_could_classify_does_not_cost_the_others(
    run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    dump = run.validation / "9.jsonl"
    lost = [sample("z", i, None, None, "hard") | {"classified": False} for i in range(4)]
    dump.write_text(dump.read_text() + "".join(json.dumps(s) + "\n" for s in lost))
    assert [one["split"] for one in evaluate_run(run.root)["evaluations"]] == ["s", "s"]
    assert f"{dump}, split hard, is left out" in caplog.text


def test_a_split_without_a_single_valid_answer_has_no_jsd(run: RunFolder) -> None:
    (run.validation / "9.jsonl").write_text(json.dumps(sample("p", 0, None, 0.0)) + "\n")
    row = evaluate_run(str(run.root))["evaluations"][-1]
    assert (row["jsd"], row["floor"], row["off_support"]) == (None, None, 1.0)
    assert {c["share"] for c in row["by_category"].values()} == {None}


def test_the_report_writes_metrics_and_a_summary_of_before_and_after(run: RunFolder) -> None:
    run.stages.write_text('{"stage": "train", "seconds": 2.0}\n{"stage": "train", "seconds": 1.5}\n')
    report = report_run(str(run.root))
    assert json.loads(run.evaluation.read_text()) == report.evaluation
    summary = json.loads(run.summary.read_text())
    assert (summary["before"]["step"], summary["after"]["step"]) == (0, 9)
    assert summary["after"] == {key: report.evaluation["evaluations"][1][key] for key in summary["after"]}
    assert {
        "jsd_interval",
        "floor_p95",
        "off_target",
        "jsd_per_prompt",
        "off_support_interval",
        "pass@1_interval",
    } <= set(summary["after"])
    assert summary["seconds"] == {"train": 3.5}


def training_history(run: RunFolder) -> None:
    run.metrics.mkdir()
    data = {"mad/jsd": 0.2, "mad/jsd_per_prompt": 0.3, "mad/off_support_rate": 0.1}
    data |= {f"mad/share/{name}": 1 / 3 for name in "abc"}
    lines = (json.dumps({"step": step, "data": data}) + "\n" for step in range(1, 10))
    run.attempt_metrics(1).write_text("".join(lines))


def test_a_run_s_outputs_go_into_the_folder_that_is_named(run: RunFolder, tmp_path: Path) -> None:
    training_history(run)
    before = {path.name for path in run.root.iterdir()}
    assert main(["evaluate", str(run.root), "-o", str(tmp_path / "out")]) == 0
    files = {"metrics.json", "evaluation.png", "training.png", "summary.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    assert {path.name for path in run.root.iterdir()} == before


@pytest.mark.parametrize("where", ["in the run", "elsewhere"])
def test_an_evaluation_that_fails_half_way_leaves_nothing(run: RunFolder, tmp_path: Path, where: str) -> None:
    training_history(run)
    # The numbers and the first figure can be made, the second figure meets a share that is no number.
    line = json.dumps({"step": 10, "data": {"mad/jsd": 0.1, "mad/off_support_rate": 0.1, "mad/share/a": "x"}}) + "\n"
    run.attempt_metrics(2).write_text(line)
    before = {path.name for path in run.root.iterdir()}
    output = None if where == "in the run" else tmp_path / "made" / "out"
    with pytest.raises((TypeError, KeyError)):
        report_run(str(run.root), output)
    assert {path.name for path in run.root.iterdir()} == before
    assert not (tmp_path / "made").exists()


def test_the_reward_stage_s_share_of_a_step_worked_by_hand() -> None:
    timed = {"mad/timing/grade_s": 0.1, "mad/timing/score_s": 0.1, "mad/timing/reward_tail_s": 0.3}
    steps = [timed | {"timing_s/step": 4.0}, timed | {"timing_s/step": 6.0}]
    # grade and score: 2 x 0.2 of 10 seconds; tail: 2 x 0.3 of 10
    share = reward_share(steps)
    assert share is not None
    assert share["grade_and_score"] == pytest.approx(0.04)
    assert share["tail"] == pytest.approx(0.06)
    assert reward_share([]) is None


@pytest.mark.parametrize("table", range(5))
def test_the_tables_fit_eighty_columns(run: RunFolder, table: int) -> None:
    # As wide as they get: a long split, thousands of responses, every interval there.
    dumped = [sample(f"p{i}", k, "abc"[(i + k) % 3], float(k % 2), "train_probe") for i in range(300) for k in range(4)]
    (run.validation / "6000.jsonl").write_text("".join(json.dumps(s) + "\n" for s in dumped))
    text = shown(run, table)
    assert "train_probe" in text
    assert "step 6000" in text
    assert "…" not in text


def test_the_tables_show_what_was_measured(run: RunFolder) -> None:
    before = next(line for line in shown(run, 0).splitlines() if "0.3466" in line)
    assert " off " in before  # target
    assert "0.500" in before  # pass@1
    # Before training one prompt has one of the two wanted categories, 0.2158, and one the unwanted c, log 2; after it
    # each has both, q in 2 of its 4.
    lines = [line.strip() for line in shown(run, 1).splitlines()]
    assert any(line.startswith("step 0       0.2158–0.6931") for line in lines)
    assert any(line.startswith("n = 4 (2–4)") for line in lines)
    # Nothing of the wanted b: forward KL is infinite.
    assert "∞" in shown(run, 2)
    # a: target 1/2, share 1/2, 4 responses, too few for an accuracy
    row = next(line.split() for line in shown(run, 4).splitlines() if line.startswith(" s "))
    assert row == ["s", "a", "0.500", "0.500", "0.000–1.000", "4", "—", "4"]


def test_the_change_of_pass_at_1_is_told_apart_by_mix_and_accuracy(run: RunFolder) -> None:
    # Shares of a, b, c and off-support among the graded: 4/8, 0, 4/8, 0, then 2/7, 3/7, 0, 2/7; accuracies 1, 1, 0, 0
    # on both sides, as no category was tried on both with another outcome. All of 5/7 - 1/2 is the mix.
    lines = shown(run, 3).splitlines()
    before = next(line.split() for line in lines if line.startswith(" s "))
    assert before == ["s", "0.500", "—", "—", "—", "—"]
    assert any("no graded b" in line for line in lines)
    after = [line.split() for line in lines if line.startswith(" s ")][1]
    assert after == ["s", "0.714", "1.000", "+0.214", "+0.214", "+0.000"]
    report_run(str(run.root))
    summary = json.loads(run.summary.read_text())
    assert "pass@1_change" not in summary["before"]
    change = summary["after"]["pass@1_change"]
    assert [change[part] for part in ("total", "mix", "within")] == pytest.approx([5 / 7 - 1 / 2, 5 / 7 - 1 / 2, 0.0])


def test_a_single_evaluation_has_no_change_to_show(run: RunFolder) -> None:
    (run.validation / "0.jsonl").unlink()
    text = shown(run, 3)
    assert "at the" in text
    assert "change" not in text.lower()


def test_a_jsd_that_is_off_target_for_these_problems_only_is_marked(run: RunFolder) -> None:
    # 13 of 20 problems always a, the others always b: see test_samples.
    dumped = [sample(f"p{i}", k, "a" if i < 13 else "b", 1.0) for i in range(20) for k in range(4)]
    (run.validation / "0.jsonl").unlink()
    (run.validation / "9.jsonl").write_text("".join(json.dumps(s) + "\n" for s in dumped))
    text = shown(run, 0)
    assert text.count("(*)") == 2  # beside the verdict and in the note


def test_the_figure_of_any_evaluation_is_a_whole_png(run: RunFolder) -> None:
    # The second split has no on-support response and so no JSD, no shares and no intervals to draw.
    (run.validation / "9.jsonl").write_text(
        "".join(json.dumps(s) + "\n" for s in (sample("p", 0, "a", 1.0), sample("q", 0, None, 0.0, "nothing")))
    )
    figure = report_run(str(run.root)).files[1]
    assert figure.name == "evaluation.png"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert figure.stat().st_size > 20_000


def test_a_folder_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"is not a run folder: it has no config.yaml"):
        evaluate_run(str(tmp_path))


def test_a_run_has_its_folder_s_name_also_from_inside(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.root)
    assert evaluate_run(".")["run"] == "run"


def test_a_file_beside_the_dumps_that_is_not_named_after_a_step_is_left_alone(run: RunFolder) -> None:
    (run.validation / "reclassified.jsonl").write_text((run.validation / "9.jsonl").read_text())
    assert [row["step"] for row in evaluate_run(str(run.root))["evaluations"]] == [0, 9]


def test_a_run_without_dumps_is_one_clear_error(run: RunFolder) -> None:
    for dump in run.validation.iterdir():
        dump.unlink()
    with pytest.raises(MadrlError, match="no validation dumps yet"):
        evaluate_run(str(run.root))


def test_a_run_of_which_nothing_is_classified_is_one_clear_error(run: RunFolder) -> None:
    for dump in run.validation.iterdir():
        dump.write_text(json.dumps({**sample("p", 0, None, 1.0), "classified": False}) + "\n")
    with pytest.raises(MadrlError, match="run: nobody could say the category of any response: classify them again"):
        evaluate_run(str(run.root))


def test_a_further_attribute_of_which_nothing_is_known_is_left_out(run: RunFolder) -> None:
    attributes = "attributes: {size: {classifier: length, categories: [short, long], classifier_args: {unit: words,"
    attributes += " buckets: {short: 9, long: null}}}}"
    run.config.write_text(run.config.read_text().replace("  naming: null", f"  naming: null\n  {attributes}"))
    nothing = json.dumps({"size": {"category": None, "classified": False, "divergence_reward": 0.0}})
    for dump in run.validation.iterdir():
        lines = [json.loads(line) | {"attributes": nothing} for line in dump.read_text().splitlines()]
        dump.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = report_run(str(run.root))
    assert "attributes" not in report.evaluation
    assert len(report.tables) == 5


@pytest.mark.parametrize("text", ["madrl: [", "a: [", "x: 1\n", ""])
def test_a_damaged_config_is_one_clear_error(run: RunFolder, text: str) -> None:
    run.config.write_text(text)
    with pytest.raises(MadrlError, match=r"run/config.yaml (is damaged \(.*: put back a copy|has no madrl in it)"):
        evaluate_run(str(run.root))


def test_a_damaged_list_of_attempts_is_one_clear_error(run: RunFolder) -> None:
    run.facts.write_text('{"attempts": [')
    with pytest.raises(MadrlError, match=r"run/run.json is damaged, no JSON \(.*\): put back a copy"):
        evaluate_run(str(run.root))


def test_a_damaged_dump_is_named_with_its_line(run: RunFolder) -> None:
    (run.validation / "9.jsonl").write_text(json.dumps(sample("p", 0, "a", 1.0)) + '\n{"uid": "p_1')
    with pytest.raises(MadrlError, match=r"9.jsonl, line 2: not JSON"):
        evaluate_run(str(run.root))
