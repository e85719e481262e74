"""The card of a run's checkpoint, and the checkpoint on a hub, over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import Hub, hub_server
from huggingface_hub import ModelCard, ModelCardData, constants
from made_runs import Made, write_jsonl, write_run

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.evaluation.dumps import Run
from madrl.hub import check_hub_name
from madrl.markdown import markdown_text
from madrl.model_card import model_card

STEPS = 40
FILES = {"config.json": b"{}", "model.safetensors": b"weights", "tokenizer.json": b"{}"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_server() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)  # HF_ENDPOINT, which is read once in a process
        monkeypatch.setenv("HF_TOKEN", "hf_of_mine")
        yield hub


def checkpointed(parent: Path, **more: object) -> Run:
    """A run with a checkpoint of its last step."""
    run = Run.load(write_run(Made(problems=10, **more), parent))  # type: ignore[arg-type]
    model = run.folder.model(STEPS)
    model.mkdir(parents=True)
    for name, content in FILES.items():
        (model / name).write_bytes(content)
    (run.folder.checkpoints / "latest_checkpointed_iteration.txt").write_text(str(STEPS))
    return run


def header_of(card: str) -> ModelCardData:
    """As huggingface_hub reads it."""
    data = ModelCard(card).data
    assert isinstance(data, ModelCardData)
    return data


def test_the_card_s_header_is_one_that_the_hub_understands(tmp_path: Path) -> None:
    run = checkpointed(tmp_path)
    data = header_of(model_card(run, "mine", STEPS, STEPS))
    assert (data.library_name, data.pipeline_tag) == ("transformers", "text-generation")
    assert data.base_model == "Qwen/Qwen3-4B-Instruct-2507"
    last = run.evaluations()[-1]
    found = {(one.dataset_name, one.metric_type): one.metric_value for one in data.eval_results or []}
    assert found == {
        ("gsm8k, holdout", "jsd"): pytest.approx(last["jsd"], abs=1e-6),
        ("gsm8k, holdout", "jsd_floor"): pytest.approx(last["floor"], abs=1e-6),
        ("gsm8k, holdout", "pass@1"): pytest.approx(last["pass@1"], abs=1e-6),
    }
    assert data.model_name == "mine"


def test_the_card_says_target_jsd_with_interval_and_floor_and_pass_at_1_before_and_after(tmp_path: Path) -> None:
    run = checkpointed(tmp_path)
    rows = [line.strip("| ").split(" | ") for line in model_card(run, "mine", STEPS, STEPS).splitlines() if "|" in line]
    found = {cells[0]: cells[1:] for cells in rows}
    evaluations = run.evaluations()
    pair = evaluations[0], evaluations[-1]

    def with_intervals(name: str, form: str) -> list[str]:
        both = [(one[name], *one[f"{name}_interval"]) for one in pair]
        return [f"{value:{form}} ({low:{form}} to {high:{form}})" for value, low, high in both]

    assert found["share of"] == ["target", "validation, step 0", "holdout, step 40"]
    assert found["hi"][:2] == [
        "0.200",
        f"{pair[0]['by_category']['hi']['share']:.3f} " + found["hi"][1].partition(" ")[2],
    ]
    assert found["JSD to the target, nats, of all responses together"] == with_intervals("jsd", ".4f")
    floors = [f"{one['floor']:.4f} to {one['floor_p95']:.4f}" for one in pair]
    assert found["its floor (mean to 95th percentile)"] == floors
    assert found["pass@1"] == with_intervals("pass@1", ".3f")


def test_the_card_has_the_command_and_the_versions_and_no_folder_of_the_machine(tmp_path: Path) -> None:
    run = checkpointed(tmp_path)
    facts = json.loads(run.folder.facts.read_text())
    files = "data.train_files=[/home/me/a.parquet,~/b.parquet]"
    overrides = ["task=gsm8k", "madrl.target={en: 1, fr: 2}", "paths.run=/home/me/run", files, "paths.model=Qwen/Qwen3"]
    overrides += [
        "madrl.classifier_args={model: /home/me/enc, cache: '/home/me/a b/c', n: 2}",
        "paths.data='/home/me/d e'",
    ]
    overrides += ["madrl.verifier_args={base_url: 'http://judge.home/me/v1', key: file:///home/me/k, h: ~/secret/x}"]
    facts["attempts"][-1] |= {"overrides": overrides, "versions": {"madrl": "1.2", "verl": "0.9.1"}}
    run.folder.facts.write_text(json.dumps(facts))
    config = run.folder.config
    config.write_text(config.read_text().replace("Qwen/Qwen3-4B-Instruct-2507", "/home/me/warm_start/model"))
    card = model_card(run, "mine", STEPS, STEPS)
    assert (
        "madrl train task=gsm8k 'madrl.target={en: 1, fr: 2}' paths.run=run 'data.train_files=[a.parquet,b.parquet]' "
        "paths.model=Qwen/Qwen3 "
    ) in card
    assert "{model: enc, cache: " in card
    assert "n: 2}" in card
    assert not any(hidden in card for hidden in ("judge.home", "secret"))
    assert "Versions: madrl 1.2, verl 0.9.1." in card
    assert "/home/me" not in card
    assert header_of(card).base_model is None


def test_the_card_of_a_run_that_goes_on_has_the_evaluations_until_then(tmp_path: Path) -> None:
    run = checkpointed(tmp_path, status="running", holdout=False)
    card = model_card(run, "mine", 20, 19)
    assert "| share of | target | validation, step 0 | validation, step 10 |" in card
    assert "This is step 20 of 40." in card
    for file in run.folder.validation.iterdir():
        file.unlink()
    card = model_card(run, "mine", 20, 19)
    assert "Nothing has been evaluated yet. The target: en 0.2, zh 0.2" in card
    assert header_of(card).eval_results is None


def test_the_card_s_last_numbers_are_of_the_last_step_also_where_the_holdout_was_sampled_at_the_first(
    tmp_path: Path,
) -> None:
    run = checkpointed(tmp_path, holdout=False)
    (run.folder.root / "holdout").mkdir()
    (run.folder.validation / "10.jsonl").rename(run.folder.holdout / "0.jsonl")
    card = model_card(run, "mine", STEPS, STEPS)
    assert "| share of | target | validation, step 0 | validation, step 40 |" in card
    assert {one.dataset_name for one in header_of(card).eval_results or []} == {"gsm8k, validation"}
    card = model_card(run, "mine", 5, 5)  # a checkpoint before the first evaluation of what was trained
    assert header_of(card).eval_results is None


def test_names_are_text_on_the_card(tmp_path: Path) -> None:
    run = checkpointed(tmp_path)
    config = run.folder.config
    config.write_text(config.read_text().replace("en, zh", "'<b>e|n', '[z](h)'"))
    for dump in (*run.folder.validation.iterdir(), *run.folder.holdout.iterdir()):
        dump.write_text(dump.read_text().replace('"en"', '"<b>e|n"').replace('"zh"', '"[z](h)"'))
    card = model_card(Run.load(run.folder.root), "mine", STEPS, STEPS)
    assert r"| \<b\>e\|n | 0.200 |" in card
    assert r"| \[z\](h) | 0.200 |" in card
    config.write_text(config.read_text().replace("Qwen/Qwen3-4B-Instruct-2507", "/home/me/_warm_"))
    run = Run.load(run.folder.root)
    card = model_card(replace(run, key=replace(run.key, reward="rkl, with *length*")), "mine", STEPS, STEPS)
    assert "\n\\_warm\\_, trained by GRPO" in card
    assert r"Reward: rkl, with \*length\* add70;" in card


def test_a_dump_that_nobody_could_classify_is_not_on_the_card(tmp_path: Path) -> None:
    run = checkpointed(tmp_path, holdout=False)
    lost = [{"group": "p", "category": None, "correct": None, "classified": False} for _ in range(4)]
    write_jsonl(run.folder.validation / "40.jsonl", lost)
    card = model_card(run, "mine", STEPS, STEPS)
    assert "| share of | target | validation, step 0 | validation, step 30 |" in card
    for step in (0, 10, 20, 30):
        write_jsonl(run.folder.validation / f"{step}.jsonl", lost)
    assert "Nothing has been evaluated yet" in model_card(run, "mine", STEPS, STEPS)


def test_a_checkpoint_is_on_the_hub_in_one_commit_with_its_card(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = checkpointed(tmp_path)
    assert main(["card", str(run.folder.root)]) == 0
    card = capsys.readouterr().out
    assert main(["card", str(run.folder.root), "--push", "us/mine"]) == 0
    assert capsys.readouterr().out == f"{hub.endpoint}/us/mine\n"
    ((name, message, files),) = hub.commits
    assert (name, message) == ("us/mine", f"Step {STEPS} of {run.name}")
    assert files == FILES | {
        "README.md": card.replace(run.name, "mine", 1).replace(markdown_text(run.name), "mine", 1).encode()
    }
    assert hub.models["us/mine"]["visibility"] == "private"
    assert hub.tokens == {"Bearer hf_of_mine"}
    assert not (run.folder.model(STEPS) / "README.md").exists()
    # Again: the model is there, and stays as it is.
    assert main(["card", str(run.folder.root), "--push", "us/mine", "--public"]) == 0
    assert len(hub.commits) == 2
    assert hub.models["us/mine"]["visibility"] == "private"
    assert main(["card", str(run.folder.root), "--push", "open", "--public"]) == 0
    assert hub.models["me/open"]["visibility"] == "public"


def test_a_hub_that_is_out_of_order_or_gone_is_one_line(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = checkpointed(tmp_path)
    call = ["card", str(run.folder.root), "--push", "us/mine"]
    hub.broken = True
    assert main(call) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("madrl: error: could not push to us/mine: HfHubHTTPError Server error '500")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert main(call) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("madrl: error: could not push to us/mine: ConnectError")
    for file in run.folder.model(STEPS).iterdir():
        file.unlink()
    assert main(call) == 2
    assert "holds no *.safetensors" in capsys.readouterr().err


def test_what_cannot_be_pushed_is_said_before_anybody_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a/b/c", "me/", "white space", ""):
        with pytest.raises(MadrlError, match="is no name of a model on the hub"):
            check_hub_name(name)
    without = str(write_run(Made(), tmp_path))
    assert main(["card", without]) == 2
    assert "has no checkpoint" in capsys.readouterr().err
    assert main(["card", without, "--public"]) == 2
    assert "--push ME/MODEL" in capsys.readouterr().err
