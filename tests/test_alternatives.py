"""`madrl alternatives`: which rows there are and what makes them, and the table of what they answered."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from scripted_engine import write_rows

from madrl import alternatives
from madrl.alternatives import plan_of
from madrl.errors import MadrlError
from madrl.run import Stage
from madrl.run_folder import RunFolder
from madrl.trainer.compose import compose
from madrl.warm_start.config import compose as compose_warm_start

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def composed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which is quicker."""
    monkeypatch.setattr(
        alternatives, "resolved_config", lambda recipe: OmegaConf.to_yaml(compose(recipe.hydra_overrides()))
    )


def own_task(folder: Path, **fields: Any) -> Path:
    """The task file of examples/own_task with other fields, beside a row of each split."""
    content: Any = yaml.safe_load((EXAMPLES / "own_task" / "task.yaml").read_text())
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(content | {"name": "mine"} | fields, sort_keys=False))
    (folder / "greeting.py").write_text((EXAMPLES / "own_task" / "greeting.py").read_text())
    (folder / "data").mkdir()
    for split in ("train", "validation", "holdout"):
        write_rows(folder / "data" / f"{split}.parquet", 1)
    return file


def plan(folder: Path, *words: str, profile: str = "tiny", **variables: str) -> alternatives.Plan:
    return plan_of(words, {"PROFILE": profile, "OUT": str(folder), **variables})


def test_every_row_starts_from_the_model_that_it_says(tmp_path: Path) -> None:
    found = plan(tmp_path, "gsm8k", "peak", "trainer.total_training_steps=7")
    assert found.folder == tmp_path / "gsm8k_alternatives_peak_tiny_seed42"
    assert [stage.name for stage in found.first] == ["data", "miniature"]
    rows = {row.name: row for row in found.rows}
    assert list(rows) == [
        "as it is", "temperature", "named", "verbalized", "finetuned", "RLVR", "entropy", "GAPO, l2", "ours",
        "ours, alpha 0.9", "ours, gated",
    ]  # fmt: skip
    base = str(tmp_path / "models" / "gsm8k_base" / "model")
    assert found.warm_start is not None
    assert found.warm_start.initial_model == base
    for name in ("as it is", "temperature", "named", "verbalized"):
        (stage,) = rows[name].stages
        assert stage.command[stage.command.index("--model") + 1] == base
        assert rows[name].trained == ()
    assert [name for name, row in rows.items() if row.changes_prompt] == ["named", "verbalized"]
    asked = rows["named"].stages[0].command
    assert json.loads(asked[asked.index("--target") + 1]) == pytest.approx(dict.fromkeys(("es", "hi", "fr"), 1 / 3))
    assert found.finetuning is not None
    assert "warm_start.target=peak" in found.finetuning.hydra_overrides()
    assert str(found.finetuning.run / "model") in rows["finetuned"].stages[0].command
    for name, own in {
        "RLVR": "madrl.reward.form=rlvr",
        "entropy": "actor_rollout_ref.actor.entropy_coeff=0.01",
        "GAPO, l2": "madrl.reward.divergence=l2",
        "ours": "madrl.reward.divergence=rkl",
        "ours, alpha 0.9": "madrl.reward.alpha=0.9",
        "ours, gated": "madrl.reward.form=gated",
    }.items():
        train, holdout = rows[name].stages
        assert own in train.command
        assert "trainer.total_training_steps=7" in train.command
        assert f"paths.model='{found.warm_start.run}/model'" in train.command
        assert holdout.command[-1] == str(rows[name].trained[-1])
        assert rows[name].responses == rows[name].trained[-1] / "holdout" / "7.jsonl"
        assert rows[name].trained[0] == found.warm_start.run


def test_the_uniform_target_needs_no_finetuning_of_its_own(tmp_path: Path) -> None:
    found = plan(tmp_path, "math")
    assert found.finetuning is None
    assert found.warm_start is not None
    rows = {row.name: row for row in found.rows}
    assert str(found.warm_start.run / "model") in rows["finetuned"].stages[0].command
    assert "madrl.reward.form=gapo" in rows["GAPO"].stages[0].command, "whose own target it is"


def test_a_task_without_correctness_has_one_form_of_ours_and_no_rlvr(tmp_path: Path) -> None:
    found = plan(tmp_path, "synthetic_closed", "peak", profile="small")
    names = [row.name for row in found.rows]
    assert names == ["as it is", "temperature", "named", "verbalized", "finetuned", "GAPO, l2", "ours"]


def test_settings_that_a_row_cannot_have_are_told_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(
        MadrlError, match=r"the row 'RLVR' cannot have the settings of all: calibrate=True with form=rlvr"
    ):
        plan(tmp_path, "gsm8k", "peak", "madrl.reward.calibrate=true")
    with pytest.raises(MadrlError, match=r"the row .RLVR. cannot have the settings of all: .*hints"):
        plan(tmp_path, "gsm8k", "uniform", "madrl.hints=2")
    plan(tmp_path, "gsm8k", "{en: 3, es: 1}", NAME="skewed")


def test_the_finetuned_row_has_the_target_s_mix_whatever_the_task_s_warm_start_has(tmp_path: Path) -> None:
    file = own_task(tmp_path, warm_start={"target": {"english": 8, "spanish": 1, "french": 1}})
    found = plan(tmp_path, str(file))
    assert found.finetuning is not None
    assert "warm_start.target=uniform" in found.finetuning.overrides
    finetuned = next(row for row in found.rows if row.name == "finetuned")
    assert str(found.finetuning.run / "model") in finetuned.stages[0].command


def test_with_further_attributes_gapo_is_its_generalisation_also_towards_uniform(tmp_path: Path) -> None:
    length = {"classifier": "length", "classifier_args": {"unit": "words", "buckets": {"short": 9, "long": None}}}
    file = own_task(tmp_path, attributes={"length": {**length, "categories": ["short", "long"]}})
    names = [row.name for row in plan(tmp_path, str(file)).rows]
    assert "GAPO, l2" in names
    assert "GAPO" not in names, "which has no rule for several"


def test_a_task_without_a_naming_is_neither_named_nor_finetuned(tmp_path: Path) -> None:
    found = plan(tmp_path, str(own_task(tmp_path, naming=None)))
    assert not {"named", "finetuned"} & {row.name for row in found.rows}
    assert found.warm_start is None
    train, _ = found.rows[-1].stages
    assert f"paths.model='{tmp_path}/models/mine/model'" in train.command


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"PROFILE": "tiny", "OUT": str(tmp_path / "out"), "DRY_RUN": "1"}
    assert alternatives.alternatives(["gsm8k", "peak"], variables) is None
    said = capsys.readouterr().out
    assert "[named]" in said
    assert "[ours, gated, train] GRPO with the rkl reward" in said
    assert not (tmp_path / "out").exists()


def test_a_form_that_is_the_task_s_own_is_not_run_twice(tmp_path: Path) -> None:
    found = plan(tmp_path, "gsm8k", "peak", "madrl.reward.alpha=0.9")
    assert "ours, alpha 0.9" not in {row.name for row in found.rows}


def test_an_override_of_all_changes_nothing_of_what_makes_a_row(tmp_path: Path) -> None:
    words = ("gsm8k", "peak", "madrl.reward.alpha=0.8", "actor_rollout_ref.actor.entropy_coeff=0.05")
    rows = {row.name: row.stages[0].command for row in plan(tmp_path, *words).rows}
    own = {name: [word for word in rows[name] if "alpha" in word or "entropy" in word] for name in rows}
    alpha, entropy = words[2:]
    assert [word for word in own["ours"] if "paths" not in word and "name" not in word] == [alpha, entropy]
    assert alpha not in own["ours, alpha 0.9"]
    assert "madrl.reward.alpha=0.9" in own["ours, alpha 0.9"]
    assert entropy not in own["entropy"]
    assert "actor_rollout_ref.actor.entropy_coeff=0.01" in own["entropy"]


def test_all_rows_are_sampled_at_the_temperature_of_the_trainings(tmp_path: Path) -> None:
    rows = plan(tmp_path, "gsm8k", "peak", "actor_rollout_ref.rollout.temperature=0.7").rows
    sampled = {row.name: row.stages[0].command for row in rows if not row.is_run}
    found = {name: command[command.index("--temperature") + 1] for name, command in sampled.items()}
    assert found == {"as it is": "0.7", "temperature": "1.4", "named": "0.7", "verbalized": "0.7", "finetuned": "0.7"}


def test_all_rows_are_sampled_from_the_tokens_that_the_trainings_sample_from(tmp_path: Path) -> None:
    words = ("actor_rollout_ref.rollout.top_p=0.9", "actor_rollout_ref.rollout.top_k=20")
    rows = plan(tmp_path, "gsm8k", "peak", *words).rows
    for command in (" ".join(row.stages[0].command) for row in rows if not row.is_run):
        assert "--top-p 0.9 --top-k 20" in command


def test_no_row_is_taken_for_done_by_its_file_alone(tmp_path: Path) -> None:
    # Each stage's own command looks whether what is there is of the same settings.
    assert [stage.done for row in plan(tmp_path, "gsm8k", "peak").rows for stage in row.stages] == [None] * 17


@pytest.mark.parametrize("which", ["warm_start", "finetuning"])
def test_a_warm_start_of_another_model_is_refused_before_anything_is_made(which: str, tmp_path: Path) -> None:
    made = getattr(plan(tmp_path, "gsm8k", "peak"), which)
    (made.run / "model").mkdir(parents=True)
    _, config = compose_warm_start(made.hydra_overrides())
    (made.run / "config.yaml").write_text(yaml.safe_dump(config))
    plan(tmp_path, "gsm8k", "peak")
    config["paths"]["model"] = "hub/other"
    (made.run / "config.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(MadrlError, match=f"{made.run} holds a warm start with paths.model='hub/other', not '"):
        plan(tmp_path, "gsm8k", "peak")


def test_an_own_task_without_a_holdout_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    file = own_task(tmp_path, data="nowhere")
    with pytest.raises(MadrlError, match=r"train.parquet: cannot be read as parquet \(no such file\)"):
        plan(tmp_path, str(file))


def test_a_reward_function_of_verl_s_kind_is_refused_as_it_cannot_grade_what_is_not_trained(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return 0.0\n")
    own = ("madrl.verifier=compute_score", f"reward.custom_reward_function.path={file}")
    with pytest.raises(MadrlError, match=r"^madrl\.verifier=compute_score, whose function only a training has"):
        plan(tmp_path, "gsm8k", *own)


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        (["gsm8k", "peak", "rkl"], {}, "'gsm8k peak rkl' names no alternatives: write TASK, or TASK TARGET"),
        (["gsm8k"], {"MODEL": "base"}, "MODEL=base: the alternatives choose it themselves: leave it unset"),
        (["gsm8k"], {"ALPHA": "0.5"}, "ALPHA=0.5: the alternatives choose it themselves"),
        (["synthetic_open"], {}, "synthetic_open has no holdout in the tiny profile: use PROFILE=small, or gpu"),
        (["gsm8k", "{en: 1}"], {}, "is named by you: set NAME="),
    ],
)
def test_a_mistake_is_one_clear_line(words: list[str], variables: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=message.replace("{", r"\{")):
        plan(tmp_path, *words, **variables)


def answers(row: alternatives.Row) -> list[dict[str, Any]]:
    """To 40 problems, 4 each: on the peaked target where it is asked for it, and English where nothing asks for it."""
    targeted = row.name in ("named", "finetuned") or row.name.startswith("ours")
    lines = []
    for problem in range(40):
        for session in range(4):
            category: str | None = ("es", "hi", "fr")[(problem + session) % 3] if targeted else "en"
            if row.name == "temperature":
                category = None  # nothing on-support
            lines.append(
                {
                    "group": str(problem), "session": session, "turn": 0, "row": problem, "split": "holdout",
                    "response": "42", "ground_truth": "42", "category": category,
                    "correct": float(session < 3), "response_tokens": 300 if row.name == "verbalized" else 30,
                    "asked": ("es", "hi")[session == 0] if row.name == "named" else None,
                }
                | ({"verbalized": 5 * (problem == 0)} if row.name == "verbalized" else {})
            )  # fmt: skip
    return lines


def test_the_table_says_what_every_row_comes_to_and_what_it_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stages are not run: their responses are written down here."""
    found = plan(tmp_path, "gsm8k", "peak")
    called: list[str] = []

    def made(stages: Sequence[Stage], folder: Path, ray_address: str = "") -> None:
        called.extend(stage.name for stage in stages)
        if any(stage.name == "warm_start" for stage in stages):
            (folder / "model").mkdir(parents=True)
            (folder / "samples.jsonl").write_text(f"what {folder.name} was answered")
            (folder / "samples.jsonl.settings.json").write_text("{}")
            (folder / "stages.jsonl").write_text('{"stage": "warm_start", "seconds": 120.0}\n')
        for row in found.rows if any(stage.name == "as it is" for stage in stages) else []:
            row.responses.parent.mkdir(parents=True, exist_ok=True)
            row.responses.write_text("".join(json.dumps(line) + "\n" for line in answers(row)))
            if row.is_run:
                _write_run(row, found)

    def _write_run(row: alternatives.Row, found: alternatives.Plan) -> None:
        run = RunFolder(row.trained[-1])
        words = next(stage for stage in row.stages if stage.name.endswith("train")).command[4:]
        OmegaConf.save(compose(words), run.config)
        run.facts.write_text(json.dumps({"attempts": [{"status": "finished", "overrides": []}]}))
        run.metrics.mkdir()
        steps = [{"step": step, "data": {"timing_s/step": 30.0}} for step in range(1, 41)]
        run.attempt_metrics(1).write_text("".join(json.dumps(step) + "\n" for step in steps))

    monkeypatch.setattr(alternatives, "run_stages", made)
    table = alternatives.alternatives(["gsm8k", "peak"], {"PROFILE": "tiny", "OUT": str(tmp_path)})
    assert table is not None
    assert called[:5] == ["data", "miniature", "warm_start", "warm_start", "as it is"]
    assert found.finetuning is not None
    samples = found.finetuning.run / "samples.jsonl"
    assert samples.exists()
    rows = {line[0].text: [cell.text for cell in line[1:]] for line in table.sections[0].rows}
    jsd, single, off, accuracy, at_target, followed, minutes, tokens, may_stay = rows["ours"]
    assert (float(jsd) < 1e-3, off, accuracy, at_target) == (True, "0.0%", "0.750", "0.750")
    assert single == "−0.167", "unbiased: more even than by chance"
    assert (followed, minutes, tokens, may_stay) == ("—", "22", "30", "yes"), "2 of the warm start, 40 half minutes"
    assert rows["as it is"][0] == "0.6931"
    assert rows["as it is"][4] == "—", "nothing is known of the categories that are wanted"
    assert (rows["as it is"][6], rows["finetuned"][6]) == ("0", "2")
    assert rows["named"][5:] == ["33.1%", "0", "30", "no"]
    assert rows["named"][0] == rows["verbalized"][0] == "not applicable", "less than half do what they are asked for"
    assert rows["verbalized"][5:] == ["2.5%", "0", "300", "no"]
    folder = found.folder
    assert {row["name"] for row in json.loads((folder / "table.json").read_text())["rows"]} == set(rows)
    assert "| ours, gated |" in (folder / "table.md").read_text()
    assert (folder / "alternatives.png").stat().st_size > 5_000
    numbers = [alternatives.measure(row, found.settings) for row in found.rows]
    without_correctness = replace(found.settings, reward=replace(found.settings.reward, alpha=0.0))
    shown = alternatives._panels(found.settings, numbers) + alternatives._panels(without_correctness, numbers)
    assert [panel.y.partition(":")[0] for panel in shown] == [
        "pass@1", "off-support rate", "single prompts", "off-support rate",
    ]  # fmt: skip
    [ours] = [dot for dot in shown[2].series if dot.name == "ours"]
    assert list(ours.y) == pytest.approx([-1 / 6])
    assert not {"named", "verbalized"} & {dot.name for panel in shown for dot in panel.series}
    report = (folder / "report" / "report.md").read_text()
    assert all(name in report for name in ("as it is", "named", "finetuned", "RLVR", "rkl"))
