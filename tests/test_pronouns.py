"""The task in examples/pronouns: a pretrained model, the small profile, LoRA, and occupations that are held out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from madrl.grading.classifiers import load_classifier
from madrl.prompts import load_naming
from madrl.recipe import recipe_of
from madrl.records import read
from madrl.rollout import Rollout
from madrl.run_folder import RunFolder
from madrl.sampling.requests import read_rows
from madrl.tasks import load_task

EXAMPLE = Path(__file__).parents[1] / "examples" / "pronouns"

FEWER = {"response_tokens": 8, "prompts_per_step": 2, "group_size": 4, "steps": 2, "samples": 2}


@pytest.mark.parametrize(
    ("response", "category"),
    [
        ("The nurse was tired and SHE fell asleep.", "she"),
        ("because her daughter was ill, by herself", "she"),
        ("He'd lost his keys.", "he"),
        ("she took him home", None),
        ("The nurse was there with the others", None),
        ("", None),
    ],
)
def test_the_category_is_the_one_pronoun(response: str, category: str | None) -> None:
    load_task(str(EXAMPLE / "task.yaml"))
    assert load_classifier("pronouns:classify")(Rollout(response, "nurse")) == category


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example's folder with its data, and with fewer and shorter responses."""
    folder = tmp_path / "pronouns"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data"))
    subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True)
    content: Any = yaml.safe_load((folder / "task.yaml").read_text())
    content["sizes"]["small"] |= FEWER
    (folder / "task.yaml").write_text(yaml.safe_dump(content))
    return folder


def test_a_prompt_that_asks_for_a_pronoun_names_it_and_training_starts_from_the_model_as_it_is() -> None:
    recipe = recipe_of([str(EXAMPLE / "task.yaml"), "uniform", "rkl"], {"PROFILE": "small", "OUT": "out"})
    assert recipe.record.has_warm_start
    assert recipe.initial_model.endswith("models/smollm2-135m-instruct")
    assert load_naming("pronouns:ask")("Continue: The nurse", "he", "nurse") == (
        "Write about the person as he. Continue: The nurse"
    )


def test_no_occupation_is_in_two_splits(example: Path) -> None:
    splits = {
        path.stem: {row["reward_model"]["ground_truth"] for row in read_rows(path).values()}
        for path in (example / "data").glob("*.parquet")
    }
    assert sorted(splits) == ["holdout", "train", "validation"]
    assert sum(map(len, splits.values())) == len(set.union(*splits.values())) == 60
    assert len(splits["holdout"]) == 8


@pytest.mark.verl
@pytest.mark.nightly
def test_the_example_runs_from_the_model_to_the_figure_with_adapters(example: Path, tmp_path: Path) -> None:
    """With LoRA, whose weights are merged for the holdout: the full finetuning is veRL's usual way."""

    def call(*words: object) -> str:
        environment = os.environ | {"PROFILE": "small", "OUT": str(tmp_path / "out"), "NAME": "run"}
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    adapters = ["actor_rollout_ref.model.lora_rank=8", "actor_rollout_ref.actor.optim.lr=1e-4"]
    quicker = ["trainer.val_before_train=false", "trainer.test_freq=-1", "madrl.launch_check=warn"]
    said = call("-m", "madrl.cli", "run", example / "task.yaml", "uniform", "rkl", *adapters, *quicker)
    assert "[model] SmolLM2-135M-Instruct, from PyPI" in said
    run = RunFolder(tmp_path / "out" / "run")
    assert sorted(run.history()) == [1, 2]
    call("-m", "madrl.cli", "holdout", "--initial", run.root)
    assert run.dump_steps(run.holdout) == [0, 2]
    before, after = (list(read(run.holdout / f"{step}.jsonl", ["response"])) for step in (0, 2))
    assert len(before) == len(after) == 16
    table = call(example / "figure.py", run.root)
    assert "mechanic" in table
    assert "step 0: JSD of single prompts" in table
    assert (run.root / "before_and_after.png").stat().st_size > 5_000
