"""All stages of `madrl warm-start` with responses and checkpoints made by the test, stopped in each and started again;
and the config of every task, checked against the installed veRL."""

import json
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from scripted_engine import ScriptedEngines, write_model, write_rows

import madrl.trainer.sft
from madrl import cli
from madrl.errors import MadrlError
from madrl.sampling.engine import Generated
from madrl.sampling.requests import Request
from madrl.trainer.sft import Finetuning
from madrl.warm_start import run as stages
from madrl.warm_start.config import compose

TEXTS = {
    "en": "We have to add {a} and {b}. So the answer is \\boxed{{{answer}}}.",
    "zh": "我们需要把 {a} 和 {b} 加起来。所以答案是 \\boxed{{{answer}}}。",
    "es": "Tenemos que sumar {a} y {b}. Por lo tanto, la respuesta es \\boxed{{{answer}}}.",
    "hi": "हमें {a} और {b} को जोड़ना है। इसलिए उत्तर \\boxed{{{answer}}} है।",
    "fr": "Nous devons additionner {a} et {b}. La réponse est donc \\boxed{{{answer}}}.",
}


def reply(request: Request) -> Generated:
    """Asked for a category, it obeys; asked for none, it answers in all of them in turn. Every third is wrong."""
    category = request.asked or list(TEXTS)[(request.row + request.sample) % len(TEXTS)]
    answer = request.row if (request.row + request.sample) % 3 else -1
    return Generated(TEXTS[category].format(a=request.row, b=request.sample, answer=answer), "stop", 20, 2)


class Stage:
    """The stages, with a trainer that only leaves checkpoints."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.data, self.run, self.model = folder / "data", folder / "run", write_model(folder / "base")
        self.data.mkdir()
        write_rows(self.data / "train.parquet", 40)
        write_rows(self.data / "selection.parquet", 10)
        self.engines = ScriptedEngines(reply)
        self.finetunings: list[Finetuning] = []
        monkeypatch.setattr(madrl.trainer.sft, "finetune", self.finetune)

    def finetune(self, wanted: Finetuning) -> Path:
        self.finetunings.append(wanted)
        checkpoints = wanted.work_dir / "checkpoints"
        for step in range(wanted.save_every, wanted.steps + 1, wanted.save_every):
            if not (checkpoints / f"global_step_{step}").exists():
                write_model(checkpoints / f"global_step_{step}" / "huggingface", f"step {step}".encode())
                (checkpoints / f"global_step_{step}" / "optim.pt").write_text("large")
        (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(wanted.steps))
        return checkpoints / f"global_step_{wanted.steps}" / "huggingface"

    def call(self, *more: str) -> int:
        """What the command line does with these overrides; its exit code."""
        overrides = ["task=math", "profile=tiny", f"paths.run={self.run}", f"paths.data={self.data}"]
        overrides += [f"paths.model={self.model}", "warm_start.per_category=20", "warm_start.rows_per_round=25"]
        try:
            stages.warm_start([*overrides, *more], start=self.engines.start)
        except MadrlError as error:
            print(error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130
        return 0


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_the_whole_warm_start_leaves_a_model_and_says_how_it_came_about(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stage.call() == 0
    assert (stage.run / "model" / "config.json").exists()
    report = json.loads((stage.run / "sampling.json").read_text())
    for found in report["categories"].values():
        assert found["used"] == 20
        # Asked 25, of which a third is wrong: not enough, so once more, 64 at least but 25 a round.
        assert (found["asked"], found["on_category"], found["ungraded"]) == (50, 50, 0)
        assert found["kept"] == found["correct"] == 33 or found["kept"] == found["correct"] == 34
    learnt = pq.read_table(stage.run / "sft.parquet").to_pylist()
    assert len(learnt) == 100
    assert {row["messages"][0]["content"] for row in learnt} == {"Add."}
    selection = json.loads((stage.run / "selection.json").read_text())
    assert [checkpoint["step"] for checkpoint in selection["checkpoints"]] == [0, 3, 6, 9, 12]
    assert selection["chosen"] == 3, "all reach as much, so the earliest"
    out = capsys.readouterr().out
    assert "Rejection sampling" in out
    assert "the checkpoint of step 3, by coverage" in out
    [finetuning] = stage.finetunings
    assert (finetuning.steps, finetuning.save_every, finetuning.config_name) == (12, 3, "miniature_sft")
    assert not list((stage.run / "sft").rglob("optim.pt")), "only models are left of the checkpoints"
    assert len(list((stage.run / "sft").rglob("model.safetensors"))) == 4


def test_a_target_of_its_own_is_learnt_and_only_what_it_wants_is_asked_for(stage: Stage) -> None:
    assert stage.call("warm_start.target={en: 1, es: 3}", "sft.data.train_batch_size=8") == 0
    assert {request.asked for request in stage.engines.asked} == {"en", "es", None}, "None: the selection"
    learnt = Counter(row["category"] for row in pq.read_table(stage.run / "sft.parquet").to_pylist())
    assert learnt == {"es": 20, "en": 6}
    assert stage.finetunings[0].steps == 12  # 26 responses, four epochs, batches of 8, four checkpoints


def test_called_again_it_starts_nothing_and_shows_the_same_table(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stage.call() == 0
    first = capsys.readouterr().out
    starts, before = stage.engines.starts, {path: path.stat().st_mtime_ns for path in stage.run.rglob("*.json*")}
    assert stage.call() == 0
    assert first.endswith(capsys.readouterr().out)
    assert (stage.engines.starts, len(stage.finetunings)) == (starts, 1)
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("stopped_in", ["mixed", "write_examples", "_finetune", "_select", "_prune"])
def test_stopped_in_any_stage_it_goes_on_and_ends_with_the_same_files(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_in: str
) -> None:
    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    original = getattr(stages, stopped_in)
    monkeypatch.setattr(stages, stopped_in, stop)
    assert stage.call() == 130
    assert not (stage.run / "model").exists()
    asked = len(stage.engines.asked)
    monkeypatch.setattr(stages, stopped_in, original)
    assert stage.call() == 0
    assert len(stage.engines.asked) == len(set(_unique(stage.engines.asked))), "nothing is asked twice"
    assert asked > 0
    resumed = _contents(stage.run)
    stage.run = tmp_path / "undisturbed"
    assert stage.call() == 0
    assert _contents(stage.run) == resumed


def _unique(asked: list[Request]) -> list[tuple[Request, int]]:
    """Requests with how often they were seen: a checkpoint is asked what the others are."""
    seen: dict[Request, int] = {}
    for request in asked:
        seen[request] = seen.get(request, 0) + 1
    return [(request, n) for request, count in seen.items() for n in range(count)]


def _contents(run: Path) -> dict[str, bytes]:
    names = ("samples.jsonl", "sampling.json", "sft.parquet", "selection.json", "model/model.safetensors")
    return {name: (run / name).read_bytes() for name in names}


def test_a_folder_of_another_warm_start_is_refused(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert stage.call() == 0
    assert stage.call("warm_start.epochs=5") == 2
    error = capsys.readouterr().err
    assert "holds a warm start with warm_start.epochs=4, not 5: go on with it as it was" in error
    assert error.endswith(f"; a run starts from it as it is with MODEL={stage.run}/model\n")


def test_what_comes_after_the_sampling_may_change_while_there_is_no_model(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stage.call("sft.data.train_batch_size=512") == 2
    assert "or lower sft.data.train_batch_size" in capsys.readouterr().err
    samples, asked = (stage.run / "samples.jsonl").read_bytes(), len(stage.engines.asked)

    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stages, "_select", stop)
        assert stage.call() == 130
    assert "sft.data.train_batch_size is another than before: the samples are kept" in capsys.readouterr().out
    assert stage.call("warm_start.epochs=2") == 0
    assert stage.finetunings[-1].steps == 8  # 100 responses, two epochs, batches of 32: 6.25, in four equal parts
    assert (stage.run / "samples.jsonl").read_bytes() == samples
    assert [request for request in stage.engines.asked[asked:] if request.asked is not None] == []


def test_what_decides_the_samples_may_not_change(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert stage.call("sft.data.train_batch_size=512") == 2
    assert stage.call("warm_start.temperature=0.5") == 2
    assert "holds a warm start with warm_start.temperature=1.0, not 0.5" in capsys.readouterr().err


def test_its_engines_take_as_many_gpus_as_the_config_says_which_may_change_at_any_time(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stages, "choose", stop)
        assert stage.call("warm_start.tensor_model_parallel_size=2") == 130
    assert stage.engines.gpus_per_engine == [2] * 6, "the samples, and the base model with four checkpoints"
    config = yaml.safe_load((stage.run / "config.yaml").read_text())
    del config["warm_start"]["tensor_model_parallel_size"]  # one of before the key existed
    (stage.run / "config.yaml").write_text(yaml.safe_dump(config))
    assert stage.call() == 0
    assert stage.call("warm_start.tensor_model_parallel_size=4") == 0
    assert len(stage.finetunings) == 2, "the second found its checkpoints"
    assert "starts afresh" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("warm_start.tensor_model_parallel_size=0", "warm_start.tensor_model_parallel_size=0 is not a whole number ab"),
        ("warm_start.epochs=0", "warm_start.epochs=0 is not a whole number above 0"),
        ("warm_start.min_yield=1", "warm_start.min_yield=1 is not a number in [0, 1)"),
        ("warm_start.min_yield=low", "warm_start.min_yield='low' is not a number in [0, 1)"),
        ("warm_start.temperature=0", "warm_start.temperature=0 is not a number above 0"),
        ("warm_start.temperature=warm", "warm_start.temperature='warm' is not a number above 0"),
        ("sft.data.train_batch_size=many", "sft.data.train_batch_size='many' is not a whole number above 0"),
        ("sft.data.train_batch_size=0", "sft.data.train_batch_size=0 is not a whole number above 0"),
        ("warm_start.target=flat", "unknown target 'flat'"),
        ("seed=true", "seed=True is not a whole number"),
        ("madrl.categories=en", "madrl.categories='en' is not a list: write madrl.categories=[a,b,c]"),
        ("madrl.verifier=maths", "unknown verifier 'maths'"),
        ("+paths.foo=1", "unknown key paths.foo: the keys are run, data, model, task"),
        ("+warm_start.judge=1", "unknown key warm_start.judge"),
        ("warm_start.epoch=2", "there is no config key 'warm_start.epoch'"),
        ("+warm_start.epoch=2", "unknown key warm_start.epoch"),
        ("+sft.optim.lrr=1", "there is no config key 'optim.lrr'"),
        ("sft.data.train_batch_size=512", "100 responses to learn from are less than one batch of 512"),
        ("warm_start.min_yield=0.9", "below warm_start.min_yield=90.0%"),
    ],
)
def test_a_mistake_is_one_clear_line(
    stage: Stage, capsys: pytest.CaptureFixture[str], override: str, message: str
) -> None:
    assert stage.call(override) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error
    assert not (stage.run / "model").exists()


def test_a_category_that_cannot_be_asked_for_ends_the_sampling_after_its_first_round(stage: Stage) -> None:
    assert stage.call("warm_start.min_yield=0.9") == 2
    assert len(stage.engines.asked) == 5 * 25


@pytest.mark.parametrize("override", ["++sft.optim.lrr=1", "madrl.classifier=tongue"])
def test_a_mistake_in_the_config_does_not_claim_the_folder(stage: Stage, override: str) -> None:
    assert stage.call(override) == 2
    assert not (stage.run / "config.yaml").exists()
    assert stage.call() == 0


@pytest.mark.parametrize("split", ["train", "selection"])
def test_bad_rows_are_named_before_anything_is_asked(
    stage: Stage, capsys: pytest.CaptureFixture[str], split: str
) -> None:
    file = stage.data / f"{split}.parquet"
    file.write_bytes(b"PAR1")
    assert stage.call() == 2
    assert f"{file}: cannot be read as parquet" in capsys.readouterr().err
    assert stage.engines.asked == []
    assert not (stage.run / "config.yaml").exists()
    write_rows(file, 40)
    assert stage.call() == 0
    file.unlink()
    assert stage.call() == 0, "what is done looks at no rows"


@pytest.mark.parametrize("task", ["gsm8k", "math", "code_contests"])
def test_a_dry_run_of_the_gpu_profile_prints_both_configs(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["warm-start", "--dry-run", f"task={task}", f"paths.run={tmp_path}/run", "paths.data=x"]) == 0
    config = yaml.safe_load(capsys.readouterr().out)
    assert config["paths"]["model"] == config["sft"]["model"]["path"] == "Qwen/Qwen3-4B-Instruct-2507"
    sft, size = config["sft"], config["size"]["gpu"]
    assert (sft["optim"]["lr"], sft["engine"]["strategy"]) == (1e-5, "fsdp2")
    assert (sft["trainer"]["device"], sft["trainer"]["n_gpus_per_node"]) == ("cuda", 8)
    assert (sft["trainer"]["total_training_steps"], sft["trainer"]["save_freq"]) == (155, 31)
    assert sft["trainer"]["max_ckpt_to_keep"] is None, "all checkpoints are there to select from"
    assert "hf_model" in sft["checkpoint"]["save_contents"]
    assert sft["data"]["max_length"] == size["prompt_tokens"] + size["response_tokens"] + 64
    assert sft["data"]["max_length"] <= sft["data"]["max_token_len_per_gpu"]
    assert not (tmp_path / "run").exists()


def test_a_task_file_presets_keys_of_its_warm_start_which_the_command_line_changes(tmp_path: Path) -> None:
    fields = {"categories": ["rank_1", "rank_5"], "data": "rows"}
    plugins = {"classifier": "choice", "verifier": "listed_option", "naming": "option"}
    for preset, message in (({"response_tokens": 33}, ""), ({"epoch": 2}, "unknown key warm_start.epoch")):
        mine = {**fields, **plugins, "warm_start": preset}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
        words = [f"task={tmp_path}/mine.yaml", "profile=small", f"paths.run={tmp_path}/run", "paths.model=x"]
        with pytest.raises(MadrlError, match=message) if message else nullcontext():
            assert compose(words)[0].response_tokens == 33
            assert compose([*words, "warm_start.response_tokens=40"])[0].response_tokens == 40


def test_a_mix_on_the_command_line_takes_the_place_of_the_task_file_s(tmp_path: Path) -> None:
    plugins = {"classifier": "choice", "verifier": "listed_option", "naming": "option", "data": "rows"}
    mine = {**plugins, "categories": ["rank_1", "rank_5"], "warm_start": {"target": {"rank_1": 1, "rank_5": 3}}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    words = [f"task={tmp_path}/mine.yaml", "profile=small", f"paths.run={tmp_path}/run", "paths.model=x"]
    assert compose(words)[0].target.tolist() == [0.25, 0.75]
    assert compose([*words, "warm_start.target={rank_1: 1}"])[0].target.tolist() == [1.0, 0.0]


def test_only_complete_checkpoints_count(tmp_path: Path) -> None:
    for step in (5, 10, 15):
        write_model(tmp_path / "checkpoints" / f"global_step_{step}" / "huggingface")
    assert madrl.trainer.sft.checkpoints(tmp_path) == {}
    (tmp_path / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("10")
    assert list(madrl.trainer.sft.checkpoints(tmp_path)) == [5, 10]
