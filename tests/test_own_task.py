"""The task in examples/own_task, whose categories, classifier, verifier and naming are its own, through every stage."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from madrl.recipe import recipe_of
from madrl.records import read
from madrl.run_folder import RunFolder

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_task"

SMALL = {"prompt_tokens": 48, "response_tokens": 12, "prompts_per_step": 4, "group_size": 4, "steps": 2, "samples": 1}
WARM_START = {"per_category": 16, "rows_per_round": 32, "epochs": 4, "checkpoints": 1, "selection_samples": 8}
FINETUNING = ["sft.data.train_batch_size=16", "sft.data.micro_batch_size_per_gpu=8", "sft.optim.lr=4e-3"]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """The example with its data, and with fewer steps."""
    folder = tmp_path / "own_task"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data"))
    subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True)
    content = yaml.safe_load((folder / "task.yaml").read_text())
    content["sizes"]["tiny"] |= SMALL
    content["miniature"] |= {"steps": 150}
    (folder / "task.yaml").write_text(yaml.safe_dump(content))
    return folder / "task.yaml"


def madrl(folder: Path, *words: object) -> str:
    """What the command line prints, called from a folder that has none of the task's modules."""
    command = [sys.executable, "-m", "madrl.cli", *map(str, words)]
    environment = os.environ | {"PROFILE": "tiny", "OUT": str(folder / "out")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_file_of_rows_that_is_not_there_is_told_before_anything_is_made(task: Path, tmp_path: Path) -> None:
    (task.parent / "data" / "holdout.parquet").unlink()
    command = [sys.executable, "-m", "madrl.cli", "run", str(task), "uniform", "rkl", "profile=tiny"]
    environment = os.environ | {"OUT": str(tmp_path / "out"), "DRY_RUN": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "data/holdout.parquet: cannot be read as parquet (no such file): prepare the data" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.verl
@pytest.mark.nightly
def test_a_task_of_the_user_s_own_goes_from_a_warm_start_to_a_report(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    smaller = [f"warm_start.{key}={value}" for key, value in WARM_START.items()]
    said = madrl(tmp_path, "run", task, "warm_start", *smaller, *FINETUNING)
    assert "[miniature]" in said
    assert "[data]" not in said, "the data are the user's"
    start = out / "greeting_warm_start_tiny_seed42"
    sampled = json.loads((start / "sampling.json").read_text())["categories"]
    assert list(sampled) == ["english", "spanish", "french"]
    asked = {line["prompt"] for line in read(start / "samples.jsonl", ["prompt"])}
    assert all(prompt.endswith((" Use English.", " Use Spanish.", " Use French.")) for prompt in asked)

    cell = [f"task={task}", "form=add70", "target=uniform", "divergence=rkl", "seed=42"]
    faster = [f"--override={text}" for text in ("trainer.val_before_train=false", "madrl.launch_check=warn")]
    model = ["--profile", "tiny", "--model", str(start / "model")]
    madrl(tmp_path, "grid", "plan", "-o", out, *model, *faster, *cell)
    madrl(tmp_path, "grid", "run", "-o", out)
    [run] = [RunFolder(path) for path in out.glob("greeting_uniform_rkl_*")]
    config = yaml.safe_load(run.config.read_text())
    assert {key: config["madrl"][key] for key in ("task", "profile", "naming")} == {
        "task": "greeting", "profile": "tiny", "naming": "greeting:ask",
    }  # fmt: skip
    [holdout] = run.holdout.glob("*.jsonl")
    assert {line["category"] for line in read(holdout, ["category"])} <= {"english", "spanish", "french", None}
    assert (run.root / "metrics.json").exists()
    madrl(tmp_path, "report", out, "-o", tmp_path / "report")
    assert "greeting" in (tmp_path / "report" / "index.html").read_text()


def test_a_recipe_of_a_task_file_starts_from_its_miniature_or_its_warm_start(task: Path, tmp_path: Path) -> None:
    gpu = recipe_of([str(task), "uniform", "rkl"], {"OUT": str(tmp_path)})
    assert gpu.starts_from_warm_start
    assert gpu.data == task.parent / "data"
    assert gpu.warm_start.run == tmp_path / "greeting_warm_start_gpu_seed42"
    tiny = recipe_of([str(task), "uniform", "rkl"], {"OUT": str(tmp_path), "PROFILE": "tiny"})
    assert tiny.miniature == tmp_path / "models" / "greeting"
    assert tiny.run_name == "greeting_uniform_rkl_tiny_seed42"
