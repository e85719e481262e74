"""Every recipe resolves against the installed veRL without a GPU, and is nothing but its variables."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from madrl import cli
from madrl.report.cells import is_run
from madrl.trainer.compose import compose
from madrl.warm_start.config import compose as compose_warm_start

RECIPES = Path(__file__).parents[2] / "recipes"
SYNTHETIC = ("synthetic_closed", "synthetic_open")
REAL = ("gsm8k", "math", "code_contests")
GRID = {
    f"{task}_{target}_{divergence}.sh": f"TASK={task} TARGET={target} DIVERGENCE={divergence}"
    for task in (*SYNTHETIC, *REAL)
    for target in ("uniform", "peak")
    for divergence in ("l2", "fkl", "rkl", "jsd")
} | {
    f"{task}_{baseline}.sh": f"TASK={task} TARGET=uniform {variables}"
    for task in REAL
    for baseline, variables in (
        ("rlvr", "DIVERGENCE=rkl FORM=rlvr"),
        ("gapo", "DIVERGENCE=l2 FORM=gapo"),
        ("entropy", "DIVERGENCE=rkl FORM=rlvr ENTROPY=${ENTROPY:-0.01}"),
    )
}
"""Recipe -> what it sets."""

WARM_STARTS = {f"{task}_warm_start.sh": f"TASK={task}" for task in REAL}


def test_there_is_one_recipe_for_each_cell_of_the_grid() -> None:
    found = {path.name for path in RECIPES.glob("*.sh") if path.name.startswith((*SYNTHETIC, *REAL))}
    assert found == {*GRID, *WARM_STARTS}
    assert len(GRID) == 16 + 24 + 9


@pytest.mark.parametrize("name", [*GRID, *WARM_STARTS])
def test_a_recipe_only_names_its_cell_and_calls_the_shared_body(name: str) -> None:
    lines = [line for line in (RECIPES / name).read_text().splitlines() if not line.startswith("#")]
    body = "warm_start_body.sh" if name in WARM_STARTS else "body.sh"
    assert lines == [
        "set -euo pipefail",
        f"export {(GRID | WARM_STARTS)[name]}",
        f'exec bash "$(dirname "${{BASH_SOURCE[0]}}")/{body}" "$@"',
    ]


@pytest.fixture
def spy(tmp_path: Path) -> Path:
    """An environment whose ``madrl`` only writes down how it was called, so that a hundred dry runs do not import veRL
    as often: what they would then have done is done in this process."""
    stack = tmp_path / "venv"
    (stack / "bin").mkdir(parents=True)
    script = stack / "bin" / "madrl"
    script.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" >{tmp_path}/arguments\n')
    script.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", ". recipes/environment.sh; " + STAMP, "_", str(stack)],
        cwd=RECIPES.parent,
        env=os.environ | {"STACK": "cpu"},
        check=True,
    )
    assert done.returncode == 0
    return tmp_path


STAMP = """{ echo cpu; cat pyproject.toml recipes/requirements-cpu.txt recipes/install.sh; } |
sha256sum | cut -d' ' -f1 >"$1/.madrl-stack\""""
"""As recipes/install.sh marks an environment that is up to date."""


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
@pytest.mark.parametrize("name", GRID)
def test_every_recipe_resolves_in_both_profiles(name: str, profile: str, spy: Path) -> None:
    done = dry_run(name, PROFILE=profile, VENV=str(spy / "venv"), SEED="123")
    assert done.returncode == 0, done.stderr
    train, dry, *overrides = (spy / "arguments").read_text().splitlines()
    assert (train, dry) == ("train", "--dry-run")
    config = compose(overrides)
    cell = dict(variable.split("=", 1) for variable in GRID[name].split())
    assert config.madrl.reward.divergence == cell["DIVERGENCE"]
    assert config.madrl.target == cell["TARGET"]
    assert config.madrl.reward.form == cell.get("FORM", "additive")
    synthetic = cell["TASK"] in SYNTHETIC
    assert config.madrl.reward.alpha == (0.0 if synthetic else 0.7), "SYNTHETIC trains on the divergence alone"
    assert config.actor_rollout_ref.rollout.n == (32 if synthetic else 16)
    assert config.trainer.experiment_name.startswith(name.removesuffix(".sh"))
    data = cell["TASK"] + ("_miniature" if profile == "tiny" and not synthetic else "")
    assert config.data.train_files.endswith(f"/data/{data}/train.parquet")
    assert config.seed == 123
    assert config.actor_rollout_ref.actor.entropy_coeff == (0.01 if "ENTROPY" in cell else 0)
    if profile == "gpu":
        assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == (8192 if "ENTROPY" in cell else 16384)
        assert config.trainer.total_training_steps == (6000 if synthetic else 1200)
        assert config.trainer.test_freq == (500 if synthetic else 100)
        assert config.actor_rollout_ref.actor.optim.lr == 5e-6


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
@pytest.mark.parametrize("name", WARM_STARTS)
def test_every_warm_start_resolves_in_both_profiles(name: str, profile: str, spy: Path) -> None:
    done = dry_run(name, PROFILE=profile, VENV=str(spy / "venv"), SEED="123")
    assert done.returncode == 0, done.stderr
    command, dry, *overrides = (spy / "arguments").read_text().splitlines()
    assert (command, dry) == ("warm-start", "--dry-run")
    settings, _ = compose_warm_start(overrides)
    task = WARM_STARTS[name].removeprefix("TASK=")
    assert settings.data.name == (f"{task}_miniature" if profile == "tiny" else task)
    assert settings.model == "Qwen/Qwen3-4B-Instruct-2507" or profile == "tiny"
    assert settings.seed == 123


def test_the_variables_of_the_paper_s_grid_reach_the_config_and_the_run_s_name(spy: Path) -> None:
    for variables, reward, name in (
        ({"FORM": "additive", "ALPHA": "0.55"}, ("additive", 0.55, 1.0), "math_peak_l2_additive_alpha0.55_gpu_seed42"),
        ({"FORM": "gated", "LAMBDA_G": "0.5"}, ("gated", 0.7, 0.5), "math_peak_l2_gated_lambda0.5_gpu_seed42"),
    ):
        done = dry_run("math_peak_l2.sh", PROFILE="gpu", VENV=str(spy / "venv"), **variables)
        assert done.returncode == 0, done.stderr
        config = compose((spy / "arguments").read_text().splitlines()[2:])
        node = config.madrl.reward
        assert (node.form, node.alpha, node.lambda_g) == reward
        assert config.trainer.experiment_name == name


def test_a_cluster_by_address_needs_its_number_of_nodes(spy: Path) -> None:
    environment = {"PROFILE": "gpu", "VENV": str(spy / "venv"), "RAY_ADDRESS": "head:6379"}
    assert "RAY_ADDRESS needs NNODES" in dry_run("math_peak_l2.sh", **environment).stderr
    assert dry_run("math_peak_l2.sh", **environment, NNODES="4").returncode == 0
    config = compose((spy / "arguments").read_text().splitlines()[2:])
    assert (config.ray_kwargs.ray_init.address, config.trainer.nnodes) == ("head:6379", 4)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A trained run, its config changed where the sweep might take a default."""
    root = tmp_path / "run"
    changes = ["+data.apply_chat_template_kwargs.enable_thinking=false", "madrl.target={en: 3, hi: 1}", "seed=7"]
    changes += ["actor_rollout_ref.rollout.tensor_model_parallel_size=2", "actor_rollout_ref.rollout.val_kwargs.n=5"]
    config = compose(["task=math", "trainer.experiment_name=x", f"paths.run={root}", "paths.data=/data/math", *changes])
    model = root / "checkpoints" / "global_step_40" / "actor" / "huggingface"
    model.mkdir(parents=True)
    (model / "model.safetensors").touch()
    (root / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("40")
    OmegaConf.save(config, root / "config.yaml")
    return root


def sweep(source: str, spy: Path, cwd: Path = RECIPES, **variables: str) -> "subprocess.CompletedProcess[str]":
    (spy / "venv" / "bin" / "python").write_text(f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    (spy / "venv" / "bin" / "python").chmod(0o755)
    script = spy / "venv" / "bin" / "madrl"
    script.write_text(f"""#!/bin/bash
if [ "$1" = train ]; then cat {spy}/run/config.yaml; fi
{{ printf "%s\\n" "$@"; echo; }} >>{spy}/calls\n""")
    return subprocess.run(
        ["bash", str(RECIPES / "temperature_sweep.sh"), source],
        env=os.environ | {"STACK": "cpu", "VENV": str(spy / "venv")} | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def calls_of(spy: Path) -> list[list[str]]:
    return [call.splitlines() for call in (spy / "calls").read_text().strip().split("\n\n")]


def test_a_temperature_sweep_samples_a_run_as_its_holdout_is_sampled(run_folder: Path, spy: Path) -> None:
    done = sweep("run", spy, cwd=run_folder.parent, TEMPERATURES="0.6 1.0")
    assert done.returncode == 0, done.stderr
    calls = calls_of(spy)
    assert [call[0] for call in calls] == ["generate", "evaluate"] * 2
    parser = argparse.ArgumentParser()
    cli._generate_options(parser)
    for call, temperature in zip(calls[::2], (0.6, 1.0), strict=True):
        out = run_folder / "temperatures" / f"temperature_{temperature}.jsonl"
        assert vars(parser.parse_args(call[1:])) == {
            "model": str(run_folder / "checkpoints" / "global_step_40" / "actor" / "huggingface"),
            "data": "/data/math/holdout.parquet",
            "output": str(out),
            "classifier": "language",
            "verifier": "math",
            "categories": "en,zh,es,hi,fr",
            "samples": 5,
            "temperature": temperature,
            "max_response_tokens": 4096,
            "seed": 7,
            "ask_category": False,
            "chat_template": '{"enable_thinking": false}',
            "tensor_parallel_size": 2,
        }
    assert calls[1][1:] == [
        *(str(run_folder / "temperatures" / "temperature_0.6.jsonl"), "--categories", "en,zh,es,hi,fr"),
        *("--target", '{"en": 3, "hi": 1}'),
    ]


def test_a_temperature_sweep_of_a_run_without_a_checkpoint_is_one_clear_line(run_folder: Path, spy: Path) -> None:
    shutil.rmtree(run_folder / "checkpoints")
    done = sweep(str(run_folder), spy)
    assert done.returncode == 1
    assert re.fullmatch(r"madrl: error: .*/run has no checkpoint: train it first, .*\n", done.stderr)


@pytest.mark.parametrize(
    ("profile", "task", "data"),
    [("tiny", "math", "math_miniature"), ("gpu", "math", "math"), ("tiny", "synthetic_open", "synthetic_open")],
)
@pytest.mark.usefixtures("run_folder")
def test_a_temperature_sweep_of_a_model_finds_the_task_s_data_and_leaves_no_run(
    profile: str, task: str, data: str, spy: Path
) -> None:
    done = sweep("Qwen/Qwen3-4B", spy, PROFILE=profile, TASK=task, OUT=str(spy / "out"), TEMPERATURES="1.0")
    assert done.returncode == 0, done.stderr
    train, generate, _ = calls_of(spy)
    assert train[:3] == ["train", "--dry-run", f"task={task}"]
    assert f"paths.data='outputs/data/{data}'" in train
    assert generate[1:3] == ["--model", "Qwen/Qwen3-4B"]
    assert not is_run(spy / "out")
    assert "a model needs TASK" in sweep("no/run", spy, PROFILE=profile).stderr


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
