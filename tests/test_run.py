"""Recipes as stages: which there are, from which model, and how they are run, shared, stopped and gone on with."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from madrl.errors import MadrlError
from madrl.recipe import Recipe, recipe_of, switched_on
from madrl.run import Stage, check_dataset, check_warm_start, plan_lines, run, run_stages, stages_of
from madrl.tasks import TASKS
from madrl.trainer.compose import compose
from madrl.warm_start.config import compose as warm_start_compose

HUB = "Qwen/Qwen3-4B-Instruct-2507"
FAR = 300.0
"""Seconds after which something hangs."""


def recipe(words: str, out: Path, **variables: str) -> Recipe:
    return recipe_of(words.split(), {"OUT": str(out), **variables})


def names(made: Recipe) -> list[str]:
    return [stage.name for stage in stages_of(made)]


def model_of(made: Recipe) -> str:
    (found,) = (override for override in made.hydra_overrides() if override.startswith("paths.model="))
    return found.removeprefix("paths.model=").strip("'")


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if not task.is_synthetic])
def test_on_gpus_a_real_task_starts_from_its_warm_start_which_is_made_first(task: str, tmp_path: Path) -> None:
    made = recipe(f"{task} peak rkl", tmp_path, SEED="123")
    assert names(made) == ["data", "check", "warm_start", "train", "holdout", "evaluate"]
    # One for all seeds of the task.
    assert model_of(made) == f"{tmp_path}/{task}_warm_start_gpu_seed42/model"
    warm_start = stages_of(made)[2]
    assert f"paths.model='{HUB}'" in warm_start.command
    assert warm_start.done == Path(model_of(made))
    assert f"from {model_of(made)}" in plan_lines(made, stages_of(made))[4]


def test_the_data_that_a_run_trains_on_are_checked_before_its_warm_start_is_made(tmp_path: Path) -> None:
    made = recipe("math peak rkl data.max_prompt_length=900", tmp_path)
    check, warm_start = stages_of(made)[1:3]
    assert check.command[3:5] == ["train", "--check-data"]
    config = compose(check.command[5:])
    assert (config.data.max_prompt_length, config.paths.data) == (900, str(made.data))
    assert config.paths.model == HUB, "whose tokenizer the warm start's model will have"
    assert check.done == warm_start.done, "training itself checks them soon enough then"


@pytest.mark.parametrize(
    ("override", "variables", "message"),
    [
        ("madrl.reward.form=gated", {"FORM": "rlvr"}, "^madrl.reward.form=gated is no .*: leave it out, or FORM=rlvr$"),
        ("+madrl.reward.alpha=1", {"ALPHA": "0.9"}, r"^\+madrl.reward.alpha=1 .*: leave it out, or ALPHA=0.9$"),
        ("actor_rollout_ref.actor.entropy_coeff=0", {"ENTROPY": "0.1"}, "leave it out, or ENTROPY=0.1$"),
        ("madrl.reward={form:gated}", {}, r"recipe \(it sets madrl.reward.divergence\): name the divergence in"),
        ("paths.run=/x", {}, "^paths.run=/x is no override of a recipe: set OUT= and NAME=$"),
    ],
)
def test_what_a_recipe_sets_itself_is_no_override_of_it(
    override: str, variables: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(MadrlError, match=message):
        recipe(f"math peak rkl {override}", tmp_path, **variables)


def test_a_form_that_the_recipe_leaves_to_the_task_may_be_an_override(tmp_path: Path) -> None:
    config = compose(recipe("math peak rkl madrl.reward.form=gated", tmp_path).hydra_overrides())
    assert config.madrl.reward.form == "gated"


def test_the_warm_start_takes_the_chat_template_s_arguments_of_the_training(tmp_path: Path) -> None:
    word = "data.apply_chat_template_kwargs.enable_thinking=false"
    made = recipe(f"math peak rkl +{word}", tmp_path)
    assert made.warm_start.hydra_overrides()[-1] == "++warm_start.chat_template.enable_thinking=false"
    settings, _ = warm_start_compose(made.warm_start.hydra_overrides())
    assert settings.chat_template == {"enable_thinking": False}
    assert warm_start_compose(recipe("math peak rkl", tmp_path).warm_start.hydra_overrides())[0].chat_template == {}


TINY = {"PROFILE": "tiny"}
SMALL = {"PROFILE": "small"}
SMALL_MODEL = "{}/models/smollm2-135m-instruct"
SMALL_WARM_START = "{}/synthetic_open_warm_start_small_seed42/model"
BASE_MINIATURE = "{}/models/math_base/model"
WARM_START = "{}/math_warm_start_gpu_seed42/model"


@pytest.mark.parametrize(
    ("words", "variables", "stages", "model"),
    [
        ("math peak rkl", {"MODEL": "base"}, "data train holdout evaluate", HUB),
        ("math peak rkl", {"MODEL": "hub/other"}, "data train holdout evaluate", "hub/other"),
        ("math uniform rkl", {"FORM": "rlvr"}, "data check warm_start train holdout evaluate", WARM_START),
        ("synthetic_open peak l2", {}, "data train holdout evaluate", HUB),
        ("math peak rkl", TINY, "data miniature train holdout evaluate", "{}/models/math/model"),
        ("math peak l2 profile=tiny", {"MODEL": "base"}, "data miniature train holdout evaluate", BASE_MINIATURE),
        ("synthetic_open peak l2", TINY, "data miniature train evaluate", "{}/models/synthetic_open/model"),
        ("synthetic_open peak l2", SMALL, "data model check warm_start train holdout evaluate", SMALL_WARM_START),
        ("synthetic_open peak l2", SMALL | {"MODEL": "base"}, "data model train holdout evaluate", SMALL_MODEL),
        ("synthetic_open warm_start", SMALL, "data model warm_start", SMALL_MODEL),
        ("synthetic_open warm_start", {}, "data warm_start", HUB),
        ("synthetic_open peak l2 profile=small", {"MODEL": "hub/other"}, "data train holdout evaluate", "hub/other"),
        ("math warm_start", {}, "data warm_start", HUB),
        ("math warm_start", TINY, "data miniature warm_start", BASE_MINIATURE),
    ],
)  # fmt: skip
def test_model_says_what_a_recipe_starts_from(
    words: str, variables: dict[str, str], stages: str, model: str, tmp_path: Path
) -> None:
    made = recipe(words, tmp_path, **variables)
    assert names(made) == stages.split()
    assert model_of(made) == model.format(tmp_path)


def test_a_folder_as_model_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "base").mkdir()
    monkeypatch.chdir(tmp_path)
    assert model_of(recipe("math peak rkl", tmp_path, MODEL="mine")) == str(tmp_path / "mine")
    assert model_of(recipe("math peak rkl", tmp_path, MODEL="base")) == HUB, "a folder of that name is ./base"


def test_the_warm_start_takes_as_many_gpus_as_the_training(tmp_path: Path) -> None:
    made = recipe("gsm8k peak rkl trainer.n_gpus_per_node=4 trainer.total_epochs=1", tmp_path)
    warm_start = stages_of(made)[2]
    assert warm_start.command[-1] == "++sft.trainer.n_gpus_per_node=4"
    assert not [word for word in warm_start.command if "total_epochs" in word]


def test_the_warm_start_splits_its_model_over_as_many_gpus_as_the_rollouts(tmp_path: Path) -> None:
    made = recipe("math peak rkl actor_rollout_ref.rollout.tensor_model_parallel_size=2", tmp_path)
    settings, _ = warm_start_compose(made.warm_start.hydra_overrides())
    assert settings.tensor_model_parallel_size == 2
    plain, _ = warm_start_compose(recipe("math peak rkl", tmp_path).warm_start.hydra_overrides())
    assert plain.tensor_model_parallel_size == 1


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        ("gsm8k peak", {}, "'gsm8k peak' names no recipe: write TASK TARGET DIVERGENCE, or TASK warm_start"),
        ("gsm9k peak rkl", {}, "there is no task 'gsm9k'"),
        ("gsm8k peak rkl", {"PROFILE": "cpu"}, "PROFILE='cpu' does not exist: use one of gpu, small, tiny"),
        ("math peak rkl", {"PROFILE": "small"}, "PROFILE=small: a model of 135 million parameters solves next to noth"),
        ("code_contests peak rkl", {"PROFILE": "small"}, "PROFILE=small: .* writes no program"),
        ("gsm8k peak rkl DRY_RUN=1", {}, "'DRY_RUN=1' is no key=value of a config: write a variable before the comma"),
        ("gsm8k peak rkl", {"SEED": "many"}, "SEED='many' is not a whole number"),
        ("gsm8k peak rkl paths.model=mine", {}, "set MODEL="),
        ("gsm8k peak rkl madrl.target=uniform", {}, "name the target in the command"),
        ("synthetic_open warm_start", {"PROFILE": "tiny"}, "no base model of synthetic_open"),
        ("gsm8k {en:1,hi:2} rkl", {}, "named by you: set NAME="),
        ("synthetic_open peak rkl", {"PROFILE": "tiny", "MODEL": "base"}, "no base model of synthetic_open"),
        ("gsm8k peak rkl", {"NNODES": "2"}, "NNODES=2 without a Ray cluster .*: set RAY_ADDRESS to the cluster's head"),
        ("gsm8k peak rkl", {"WANDB": "madrl"}, "WANDB='madrl' is neither on nor off: set it to 1, or leave it out"),
    ],
)
def test_a_recipe_that_cannot_be_run_is_one_clear_line(
    words: str, variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(MadrlError, match=said):
        recipe(words, tmp_path, **variables)


def test_a_switch_that_says_no_is_off(tmp_path: Path) -> None:
    for word, on in {"1": True, "true": True, "0": False, "False": False, "no": False, "": False}.items():
        assert recipe("gsm8k peak rkl", tmp_path, WANDB=word, NNODES="1").wandb is on
        assert switched_on("DRY_RUN", {"DRY_RUN": word}) is on
    assert not switched_on("DRY_RUN", {})


def test_names_and_paths_reach_hydra_whatever_they_hold(tmp_path: Path) -> None:
    made = recipe("gsm8k {en:1,hi:2} rkl", tmp_path / "it's mine", NAME="a=b")
    config = compose(made.hydra_overrides())
    assert config.madrl.target == {"en": 1, "hi": 2}
    assert config.trainer.experiment_name == "a=b"
    assert config.paths.run == str(tmp_path / "it's mine" / "a=b")
    config = compose(recipe("gsm8k peak rkl", tmp_path, RAY_ADDRESS="[fd00::1]:6379", NNODES="2").hydra_overrides())
    assert config.ray_kwargs.ray_init.address == "[fd00::1]:6379"


def test_a_sandbox_is_for_the_recipes_whose_verifier_needs_one(tmp_path: Path) -> None:
    def grading(words: str) -> set[str]:
        return {stage.name for stage in stages_of(recipe(words, tmp_path, MODEL="hub/mine")) if stage.runs_programs}

    assert grading("code_contests peak rkl") == {"data", "train", "holdout"}
    assert grading("code_contests peak rkl madrl.verifier=mine:fn") == {"data"}, "its references are programs"
    assert grading("math peak rkl madrl.verifier=code") == {"train", "holdout"}
    assert grading("math peak rkl") == set()


def test_what_cannot_run_on_this_machine_is_said_before_the_first_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for words in ("gsm8k peak rkl", "gsm8k warm_start", "synthetic_open peak rkl"):
        with pytest.raises(MadrlError, match=r"^there is no GPU here, and PROFILE=gpu .*: set PROFILE=tiny or .*RAY_"):
            run(recipe(words, tmp_path))
    with pytest.raises(MadrlError, match=r"gsm8k_warm_start_gpu_seed42/model.* is not there, and there are no GPUs"):
        run(recipe("gsm8k peak rkl", tmp_path, RAY_ADDRESS="head:6379", NNODES="2"))
    monkeypatch.setenv("STACK", "gpu")
    for words in ("gsm8k peak rkl profile=tiny", "synthetic_open peak rkl profile=small"):
        with pytest.raises(MadrlError, match=r"PROFILE=\w+ runs on the CPU's stack, and this is STACK=gpu"):
            run(recipe(words, tmp_path))
    assert list(tmp_path.iterdir()) == []


def finished(warm_start: Recipe) -> Path:
    """The folder that a warm start leaves behind, with no model in its model."""
    (warm_start.run / "model").mkdir(parents=True)
    _, config = warm_start_compose(warm_start.hydra_overrides())
    (warm_start.run / "config.yaml").write_text(yaml.safe_dump(config))
    return warm_start.run


def test_a_warm_start_from_another_model_is_not_taken_for_this_one_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recipe("gsm8k peak rkl", tmp_path)
    monkeypatch.setattr("madrl.run.resolved_config", lambda recipe: "")
    folder = finished(made.warm_start)
    run(made, dry_run=True)
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace(HUB, "hub/smaller"))
    message = f"{folder} holds a warm start with paths.model='hub/smaller', not '{HUB}': go on with it as it was begun"
    with pytest.raises(MadrlError, match=f"^{message}, .*; a run starts from it as it is with MODEL={folder}/model$"):
        run(made, dry_run=True)
    run(recipe("gsm8k peak rkl", tmp_path, MODEL=f"{folder}/model"), dry_run=True)
    (folder / "config.yaml").unlink()
    run(made, dry_run=True)  # it does not say what it was made from


def test_a_warm_start_of_before_a_category_was_added_is_not_taken_for_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madrl.run.resolved_config", lambda recipe: "")
    file, out = tmp_path / "mine.yaml", tmp_path / "out"
    plugins = {"classifier": "choice", "verifier": "listed_option", "naming": "option", "data": "rows"}
    file.write_text(yaml.safe_dump({**plugins, "categories": ["rank_1", "rank_2", "rank_3"]}))
    finished(recipe(f"{file} uniform rkl profile=small", out).warm_start)
    ending = {"classifier": "regex", "classifier_args": {"patterns": {"a": "a", "b": "b"}}, "categories": ["a", "b"]}
    training = {"sizes": {"small": {"steps": 9}}, "attributes": {"ending": ending}}
    file.write_text(yaml.safe_dump({**plugins, **training, "categories": ["rank_1", "rank_2", "rank_3"]}))
    check_warm_start(recipe(f"{file} uniform rkl profile=small", out).warm_start)  # what a training alone reads
    file.write_text(yaml.safe_dump({**plugins, "categories": ["rank_1", "rank_2", "rank_3", "rank_4"]}))
    for words in ("uniform rkl", "warm_start"):
        with pytest.raises(
            MadrlError, match=r"holds a warm start with madrl.categories=\['rank_1', .* not \['rank_1', "
        ):
            run(recipe(f"{file} {words} profile=small", out), dry_run=words == "uniform rkl")


def test_a_warm_start_that_is_there_is_not_done_for_one_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madrl.run.resolved_config", lambda recipe: "")
    finished(recipe("gsm8k warm_start", tmp_path))
    run(recipe("gsm8k warm_start", tmp_path), dry_run=True)
    with pytest.raises(MadrlError, match=r"holds a warm start with warm_start.epochs=2, not 9: go on"):
        run(recipe("gsm8k warm_start warm_start.epochs=9", tmp_path), dry_run=True)
    # What made it leaves nothing in it: another split, fewer GPUs.
    split = "actor_rollout_ref.rollout.tensor_model_parallel_size=2"
    run(recipe(f"gsm8k peak rkl trainer.n_gpus_per_node=4 {split}", tmp_path), dry_run=True)


def test_a_warm_start_may_be_moved_with_its_data_and_lack_settings_that_came_later(tmp_path: Path) -> None:
    old, new = (recipe("synthetic_closed peak rkl profile=small", tmp_path / name) for name in ("old", "new"))
    folder = finished(old.warm_start)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert config["paths"]["model"].startswith(f"{tmp_path}/old/")
    del config["warm_start"]["target"]
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    folder.parent.rename(tmp_path / "new")
    check_warm_start(new.warm_start)
    logged = recipe("synthetic_closed warm_start profile=small ++sft.trainer.project_name=mine", tmp_path / "new")
    check_warm_start(logged)
    for key, other in (("target", "peak"), ("temperature", 0.7)):
        changed = config | {"warm_start": config["warm_start"] | {key: other}}
        (new.warm_start.run / "config.yaml").write_text(yaml.safe_dump(changed))
        with pytest.raises(MadrlError, match=f"warm_start.{key}={other!r}, not "):
            check_warm_start(new.warm_start)


def test_a_warm_start_made_first_has_the_chat_template_s_arguments_that_its_task_gives_the_training(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.yaml"
    plugins = {"classifier": "choice", "verifier": "listed_option", "naming": "option", "data": "rows"}
    template = {"data": {"apply_chat_template_kwargs": {"enable_thinking": False}}}
    file.write_text(yaml.safe_dump({**plugins, "categories": ["a", "b"], "config": template}))
    first = recipe(f"{file} warm_start profile=small", tmp_path / "out")
    assert warm_start_compose(first.hydra_overrides())[0].chat_template == {"enable_thinking": False}
    finished(first)
    check_warm_start(recipe(f"{file} uniform rkl profile=small", tmp_path / "out").warm_start)


def test_data_from_elsewhere_than_dataset_says_are_not_trained_on(tmp_path: Path) -> None:
    """As after a dry run on a sample."""
    source = tmp_path / "sample"
    source.mkdir()
    for split in ("train", "test"):
        lines = [{"question": f"What is {i}, {split}?", "answer": f"#### {i}"} for i in range(300)]
        (source / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    on_hub, on_sample = recipe("gsm8k peak rkl", tmp_path), recipe("gsm8k peak rkl", tmp_path, DATASET=str(source))
    subprocess.run(stages_of(on_sample)[0].command, check=True, capture_output=True)
    check_dataset(on_sample)
    with pytest.raises(MadrlError, match=r"gsm8k was made from test.jsonl of local files \(\w{64}\), not from the Hug"):
        check_dataset(on_hub)
    source.rename(tmp_path / "elsewhere")
    check_dataset(on_sample)  # as on a node that does not see it
    (tmp_path / "elsewhere").rename(source)
    (source / "train.jsonl").write_text("")
    with pytest.raises(MadrlError, match=r"train.jsonl of local files \(\w+\), not from DATASET=.*/sample \(e3b0c4"):
        check_dataset(on_sample)
    manifest = tmp_path / "data" / "gsm8k" / "manifest.json"
    hub = [{"name": "openai/gsm8k/main/train", "split": "train", "revision": "740312"}]
    manifest.write_text(json.dumps({"source": "openai/gsm8k", "inputs": hub}))
    check_dataset(on_hub)
    source.rename(tmp_path / "elsewhere")
    with pytest.raises(MadrlError, match=r"of openai/gsm8k \(740312\), not from DATASET=.* \(no such file\): say in"):
        run(on_sample, dry_run=True)


def test_what_is_there_is_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "made"
    made.mkdir()
    run_stages([Stage("model", "a model", ["false"], makes=made, done=made)], tmp_path / "run")
    assert capsys.readouterr().out == f"[model] done already: {made}\n"
    assert not (tmp_path / "run" / "stages.jsonl").exists()


def test_each_stage_leaves_its_time_and_one_that_fails_ends_the_recipe_with_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = [
        Stage("one", "first", ["true"]),
        Stage("two", "then", ["bash", "-c", "exit 7"]),
        Stage("three", "", ["true"]),
    ]
    with pytest.raises(SystemExit) as failed:
        run_stages(stages, tmp_path)
    assert failed.value.code == 7
    assert re.fullmatch(r"\[one\] first\n\[one\] done in \d+ s\n\[two\] then\n", capsys.readouterr().out)
    lines = (tmp_path / "stages.jsonl").read_text().splitlines()
    assert [json.loads(line)["stage"] for line in lines] == ["one", "two"], "what failed has taken its time too"


MAKING = """
import sys
from pathlib import Path
from madrl.run import Stage, run_stages
made, name = Path(sys.argv[1]), sys.argv[2]
script = "echo $$ >>%s.makers; while [ -e %s.hold ]; do sleep 0.05; done; mkdir %s" % (made, made, made)
run_stages([Stage("model", "makes it", ["bash", "-c", script], makes=made, done=made)], made.parent / name)
"""


def wait_for(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + FAR
    while not found():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def making(made: Path, name: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", MAKING, str(made), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_recipes_that_need_one_model_at_once_make_it_once(tmp_path: Path) -> None:
    made, hold = tmp_path / "model", tmp_path / "model.hold"
    hold.touch()
    first = making(made, "first")
    wait_for((tmp_path / "model.makers").exists)
    second = making(made, "second")
    assert second.stdout is not None
    assert second.stdout.readline() == f"[model] waits for another recipe that makes {made}\n"
    hold.unlink()
    assert [first.wait(FAR), second.wait(FAR)] == [0, 0]
    assert second.stdout.readline() == f"[model] done already: {made}\n"
    assert not (tmp_path / "second" / "stages.jsonl").exists(), "it has taken no time of its own"
    assert len((tmp_path / "model.makers").read_text().splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stage_ends_with_a_recipe_that_is_stopped_or_killed_and_is_done_by_the_next(
    number: signal.Signals, tmp_path: Path
) -> None:
    made, hold = tmp_path / "model", tmp_path / "model.hold"
    hold.touch()
    first = making(made, "first")
    wait_for(lambda: (tmp_path / "model.makers").exists() and (tmp_path / "model.makers").read_text().strip())
    stage = int((tmp_path / "model.makers").read_text())
    first.send_signal(number)
    assert first.wait(FAR) == (128 + number if number is signal.SIGTERM else -number)
    wait_for(lambda: not Path(f"/proc/{stage}").exists())
    assert not made.exists()
    hold.unlink()
    assert making(made, "first").wait(FAR) == 0
    assert made.exists()


def test_a_sandbox_that_is_named_is_given_to_the_stages_that_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_URL", "http://node1:8080")
    monkeypatch.delenv("MADRL_SANDBOX_URLS", raising=False)
    write = ["bash", "-c", f'echo "$MADRL_SANDBOX_URLS" >{tmp_path}/told']
    run_stages([Stage("train", "programs", write, runs_programs=True)], tmp_path / "run")
    assert (tmp_path / "told").read_text() == "http://node1:8080\n"
    assert "MADRL_SANDBOX_URLS" not in os.environ
