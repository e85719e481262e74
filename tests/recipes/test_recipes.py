"""Every recipe resolves against the installed veRL without a GPU, and is nothing but its variables."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from madrl.trainer.compose import compose

RECIPES = Path(__file__).parents[2] / "recipes"
GRID = {
    f"synthetic_{form}_{target}_{divergence}.sh": (f"synthetic_{form}", target, divergence)
    for form in ("closed", "open")
    for target in ("uniform", "peak")
    for divergence in ("l2", "fkl", "rkl", "jsd")
}


def test_there_is_one_recipe_for_each_cell_of_the_grid() -> None:
    assert {path.name for path in RECIPES.glob("synthetic_*.sh")} == set(GRID)


@pytest.mark.parametrize("name", GRID)
def test_a_recipe_only_names_its_cell_and_calls_the_shared_body(name: str) -> None:
    task, target, divergence = GRID[name]
    lines = [line for line in (RECIPES / name).read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        "set -euo pipefail",
        f"export TASK={task} TARGET={target} DIVERGENCE={divergence}",
        'exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"',
    ]


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
@pytest.mark.parametrize("cell", GRID.values(), ids=["_".join(cell) for cell in GRID.values()])
def test_every_cell_composes_in_both_profiles(cell: tuple[str, str, str], profile: str) -> None:
    task, target, divergence = cell
    config = compose(
        [
            f"task={task}",
            f"profile={profile}",
            f"madrl.target={target}",
            f"madrl.reward.divergence={divergence}",
            "trainer.experiment_name=x",
            "paths.model=x",
        ]
    )
    assert config.madrl.reward.alpha == 0.0, "SYNTHETIC trains on the divergence reward alone"
    assert config.actor_rollout_ref.rollout.n == 32
    assert config.data.train_files.endswith(f"{task}/train.parquet")


def dry_run(recipe: str, *overrides: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"DRY_RUN": "1", "STACK": "cpu"} | variables
    return subprocess.run(
        ["bash", str(RECIPES / recipe), *overrides], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def installed() -> None:
    """Recipes bring their own environment; a suite that runs in another one must not install a second."""
    if not (RECIPES.parent / os.environ.get("VENV", ".venv") / ".madrl-stack").exists():
        pytest.skip("no environment installed by recipes/install.sh")


@pytest.mark.usefixtures("installed")
def test_a_dry_run_of_the_gpu_profile_prints_the_paper_settings() -> None:
    done = dry_run("synthetic_open_peak_fkl.sh", PROFILE="gpu", SEED="123")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    actor, rollout = config["actor_rollout_ref"]["actor"], config["actor_rollout_ref"]["rollout"]
    assert config["actor_rollout_ref"]["model"]["path"] == "Qwen/Qwen3-4B-Instruct-2507"
    assert (rollout["n"], rollout["temperature"]) == (32, 1.0)
    assert (actor["optim"]["lr"], actor["kl_loss_coef"], actor["use_kl_loss"]) == (5e-6, 0.04, True)
    assert (config["trainer"]["total_training_steps"], config["trainer"]["test_freq"]) == (6000, 500)
    assert config["seed"] == config["data"]["seed"] == rollout["seed"] == actor["data_loader_seed"] == 123


@pytest.mark.usefixtures("installed")
def test_overrides_after_a_recipe_reach_the_config() -> None:
    done = dry_run("synthetic_closed_uniform_l2.sh", "trainer.total_training_steps=7", PROFILE="tiny")
    assert yaml.safe_load(done.stdout)["trainer"]["total_training_steps"] == 7


@pytest.mark.usefixtures("installed")
def test_a_misspelt_override_is_one_clear_line() -> None:
    done = dry_run("synthetic_closed_uniform_l2.sh", "trainer.totl_steps=7", PROFILE="tiny")
    assert done.returncode == 2
    assert re.search(r"^madrl: error: .*totl_steps", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
