"""Every recipe resolves against the installed veRL without a GPU, and is nothing but its variables."""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from madrl import cli, temperature_sweep
from madrl.errors import MadrlError
from madrl.grading.grader import GraderSpec
from madrl.recipe import Recipe, recipe_of
from madrl.run import Stage
from madrl.sampling.engine import Sampling
from madrl.sampling.generate import Sampled
from madrl.trainer.compose import compose
from madrl.warm_start.config import compose as compose_warm_start

RECIPES = Path(__file__).parents[2] / "recipes"
SYNTHETIC = ("synthetic_closed", "synthetic_open")
REAL = ("gsm8k", "math", "code_contests")
GRID = {
    f"{task}_{target}_{divergence}.sh": ("", f"{task} {target} {divergence}")
    for task in (*SYNTHETIC, *REAL)
    for target in ("uniform", "peak")
    for divergence in ("l2", "fkl", "rkl", "jsd")
} | {
    f"{task}_{baseline}.sh": (variables, f"{task} uniform {divergence}")
    for task in REAL
    for baseline, variables, divergence in (
        ("rlvr", "FORM=rlvr", "rkl"),
        ("gapo", "FORM=gapo", "l2"),
        ("entropy", "FORM=rlvr ENTROPY=${ENTROPY:-0.01}", "rkl"),
    )
}
"""Recipe -> the variables that it sets, and what it asks ``madrl run`` for."""

WARM_STARTS = {f"{task}_warm_start.sh": ("", f"{task} warm_start") for task in REAL}


def test_there_is_one_recipe_for_each_cell_of_the_grid() -> None:
    found = {path.name for path in RECIPES.glob("*.sh") if path.name.startswith((*SYNTHETIC, *REAL))}
    assert found == {*GRID, *WARM_STARTS}
    assert len(GRID) == 16 + 24 + 9


@pytest.mark.parametrize("name", [*GRID, *WARM_STARTS])
def test_a_recipe_only_names_its_cell_and_calls_madrl_run(name: str) -> None:
    lines = [line for line in (RECIPES / name).read_text().splitlines() if not line.startswith("#")]
    variables, words = (GRID | WARM_STARTS)[name]
    assert lines == [
        "set -euo pipefail",
        *([f"export {variables}"] if variables else []),
        f'exec bash "$(dirname "$0")/lib/run.sh" "$0" {words} "$@"',
    ]


def published(*key: str, weight: str = "") -> float:
    """The number under (dataset, target, row, metric) in the paper's main table, or in the one of SYNTHETIC; or of one
    weight of correctness, in the grid's."""
    with (RECIPES.parent / "madrl/report/paper/mad_rl.csv").open(encoding="utf-8") as file:
        numbers: dict[tuple[str, ...], float] = {
            (line["dataset"], line["target"], line["row"], line["metric"]): float(line["value"])
            for line in csv.DictReader(file)
            if line["table"] in (("table:rl-grid",) if weight else ("table:rl-main", "table:closedset"))
            and line["weight"] == weight
        }
    return numbers[key]


@pytest.mark.parametrize("name", [*GRID, *WARM_STARTS])
def test_a_recipe_s_head_says_its_hardware_its_time_and_what_to_expect(name: str) -> None:
    what, hardware, expected = (line for line in (RECIPES / name).read_text().splitlines()[1:] if line.startswith("#"))
    words = (GRID | WARM_STARTS)[name][1].split()
    task = {"code_contests": "CodeContests"}.get(words[0], words[0].partition("_")[0].upper())
    assert what.startswith(f"# {task}")
    assert hardware.startswith("# 8 x 80 GB GPUs, ")
    assert re.search(r"PROFILE=tiny: 2 CPU cores, \d+ minutes\.$", hardware)
    assert expected.startswith("# Expect ")
    if name in WARM_STARTS or "rlvr" in name:
        row = "SFT init" if name in WARM_STARTS else "rlvr"
        numbers = [f"{published(words[0], 'uniform', row, 'jsd'):.4f} nats to uniform"]
        numbers.append(f"pass@1 {published(words[0], 'uniform', row, 'pass@1'):.2f}")
    elif words[0] in SYNTHETIC:
        numbers = [f"{published(*words, 'train_jsd'):.3f} nats in training, {published(*words, 'jsd'):.3f} on new"]
    elif "gapo" in name or "entropy" in name:
        numbers = []
    else:
        own = f"a JSD of {published(*words, 'jsd', weight='add70'):.4f} nats to the target"
        numbers = [f"{own} (over all weights {published(*words, 'jsd'):.4f}, pass@1 {published(*words, 'pass@1'):.2f})"]
    for number in numbers:
        assert number in expected


def of_recipe(name: str, **variables: str) -> Recipe:
    """What the recipe of that name asks ``madrl run`` for, with these variables in its environment."""
    own, words = (GRID | WARM_STARTS)[name]
    set_here = dict(variable.replace("${ENTROPY:-0.01}", "0.01").split("=", 1) for variable in own.split())
    return recipe_of(words.split(), set_here | variables)


@pytest.mark.parametrize(
    ("name", "profile"),
    # Of the tiny profile one of each task and form: composing takes a second.
    [(name, "gpu") for name in GRID]
    + [(name, "tiny") for name in GRID if not name.endswith(("_l2.sh", "_fkl.sh", "_jsd.sh", "_peak_rkl.sh"))],
)
def test_every_recipe_resolves_in_both_profiles(name: str, profile: str) -> None:
    recipe = of_recipe(name, PROFILE=profile, SEED="123")
    config = compose(recipe.hydra_overrides())
    assert config.madrl.reward.divergence == recipe.divergence
    assert config.madrl.target == recipe.target
    assert config.madrl.reward.form == (recipe.form or "additive")
    synthetic = recipe.task in SYNTHETIC
    assert config.madrl.reward.alpha == (0.0 if synthetic else 0.7), "SYNTHETIC trains on the divergence alone"
    assert config.actor_rollout_ref.rollout.n == (32 if synthetic and profile == "gpu" else 16)
    assert config.trainer.experiment_name.startswith(name.removesuffix(".sh"))
    data = recipe.task + ("_miniature" if profile == "tiny" and not synthetic else "")
    assert config.data.train_files.endswith(f"/data/{data}/train.parquet")
    assert config.seed == 123
    assert config.actor_rollout_ref.actor.entropy_coeff == (0.01 if "entropy" in name else 0)
    if profile == "gpu":
        # Without flash-attn. With an entropy bonus as few as hold the longest response.
        tokens = config.data.max_prompt_length + config.data.max_response_length if "entropy" in name else 8192
        assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == tokens
        assert config.trainer.total_training_steps == (6000 if synthetic else 1200)
        assert config.trainer.test_freq == (500 if synthetic else 100)
        assert config.actor_rollout_ref.actor.optim.lr == 5e-6


@pytest.mark.parametrize("name", [*GRID, *WARM_STARTS])
def test_every_recipe_takes_the_small_profile_or_says_in_a_line_why_not(name: str) -> None:
    if (GRID | WARM_STARTS)[name][1].split()[0] not in SYNTHETIC:
        with pytest.raises(MadrlError, match=r"^PROFILE=small: a model of 135 million parameters .*; use gpu, or tiny"):
            of_recipe(name, PROFILE="small")
        return
    recipe = of_recipe(name, PROFILE="small")
    config = compose(recipe.hydra_overrides())
    assert config.paths.model.endswith(f"/outputs/{recipe.task}_warm_start_small_seed42/model")
    assert [Path(file).stem for file in config.data.val_files] == ["train_probe", "validation"], "topics held out"


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
@pytest.mark.parametrize("name", WARM_STARTS)
def test_every_warm_start_resolves_in_both_profiles(name: str, profile: str) -> None:
    recipe = of_recipe(name, PROFILE=profile, SEED="123")
    settings, _ = compose_warm_start(recipe.hydra_overrides())
    assert settings.data.name == (f"{recipe.task}_miniature" if profile == "tiny" else recipe.task)
    assert settings.model == "Qwen/Qwen3-4B-Instruct-2507" or profile == "tiny"
    assert settings.run.name == f"{recipe.task}_warm_start_{profile}_seed123"
    assert settings.seed == 123


def test_an_override_that_is_forced_or_added_counts_as_one_that_is_not(tmp_path: Path) -> None:
    for prefix in ("", "+", "++"):
        words = [f"{prefix}{word}" for word in ("seed=7", "trainer.n_gpus_per_node=4", "madrl.verifier=code")]
        made = recipe_of(["math", "uniform", "rkl", *words], {"OUT": str(tmp_path)})
        assert made.seed == 7
        assert "++sft.trainer.n_gpus_per_node=4" in made.warm_start.overrides
        assert made.runs_programs


def test_the_variables_of_the_paper_s_grid_reach_the_config_and_the_run_s_name() -> None:
    for variables, reward, name in (
        ({"FORM": "additive", "ALPHA": "0.55"}, ("additive", 0.55, 1.0), "math_peak_l2_additive_alpha0.55_gpu_seed42"),
        ({"FORM": "gated", "LAMBDA_G": "0.5"}, ("gated", 0.7, 0.5), "math_peak_l2_gated_lambda0.5_gpu_seed42"),
    ):
        config = compose(of_recipe("math_peak_l2.sh", PROFILE="gpu", **variables).hydra_overrides())
        node = config.madrl.reward
        assert (node.form, node.alpha, node.lambda_g) == reward
        assert config.trainer.experiment_name == name


@pytest.mark.parametrize(
    ("name", "variables", "message"),
    [
        ("math_peak_l2.sh", {"FORM": "gated", "ALPHA": "0.9"}, "^ALPHA=0.9 with the form gated, which has no alpha"),
        ("math_peak_l2.sh", {"FORM": "rlvr", "ALPHA": "0.2"}, "^ALPHA=0.2 with the form rlvr"),
        ("math_peak_l2.sh", {"LAMBDA_G": "3"}, "^LAMBDA_G=3 with the form additive, which has no lambda_g: leave it"),
        ("math_peak_l2.sh", {"ENTROPY": "x"}, "^ENTROPY='x' is not a number of 0 or more$"),
        ("math_peak_l2.sh", {"ENTROPY": "-1"}, "^ENTROPY='-1' is not a number"),
        ("math_peak_l2.sh", {"MODEL": "/nowhere"}, "^model /nowhere does not exist: name a folder, or a model on"),
        ("math_peak_l2.sh", {"MODEL": "no/such/model"}, "^model no/such/model does not exist: name a folder, or a"),
        (
            "math_peak_l2.sh",
            {"PROFILE": "tiny", "DATASET": "/d"},
            "^DATASET=/d with math, tiny: a miniature's problems",
        ),
        ("synthetic_closed_peak_l2.sh", {"DATASET": "/d"}, "^DATASET=/d with synthetic_closed, gpu: its prompts are"),
    ],
)
def test_a_variable_that_would_change_nothing_or_makes_no_sense_is_refused(
    name: str, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(MadrlError, match=message):
        of_recipe(name, **variables)
    assert of_recipe("math_peak_l2.sh", DATASET="/d", ENTROPY="0.01", FORM="gapo", ALPHA="0.9").dataset == "/d"


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ({"seed": 7}, "config.seed=7 has no effect on a recipe: set SEED="),
        ({"madrl": {"profile": "tiny"}}, "config.madrl.profile='tiny' has no effect on a recipe: set PROFILE="),
        ({"madrl": {"categories": ["a"]}}, "config.madrl.categories=['a'] has no effect on a recipe: set categories"),
        ({"profile": "tiny"}, "config.profile='tiny' has no effect on a recipe: set PROFILE="),
        ({"paths": {"model": "some/model"}}, "config.paths.model='some/model' has no effect on a recipe: set MODEL="),
        ({"paths": {"data": "rows"}}, "config.paths.data='rows' has no effect on a recipe: set data in the task file"),
        ({"madrl": {"target": "peak"}}, "config.madrl.target='peak' has no effect on a recipe: name the target in the"),
        ({"madrl": {"target": {"a": 2}}}, "config.madrl.target.a=2 has no effect on a recipe: name the target in the"),
        (
            {"madrl": {"reward": {"divergence": "l2"}}},
            "config.madrl.reward.divergence='l2' has no effect on a recipe: ",
        ),
        (
            {"trainer": {"experiment_name": "x"}},
            "config.trainer.experiment_name='x' has no effect on a recipe: set NAME=",
        ),
    ],
)
def test_what_a_recipe_sets_itself_is_no_preset_of_a_task_file(
    preset: dict[str, Any], said: str, tmp_path: Path
) -> None:
    content = {"categories": ["a", "b"], "classifier": "mine:classify", "verifier": "math", "data": "rows"}
    task = tmp_path / "own.yaml"
    task.write_text(yaml.safe_dump(content | {"config": {"madrl": {"reward": {"alpha": 0}}}}))
    assert recipe_of([str(task), "uniform", "rkl"], {}).target == "uniform"
    task.write_text(yaml.safe_dump(content | {"config": preset}))
    with pytest.raises(MadrlError, match=rf"^{task}: {re.escape(said)}"):
        recipe_of([str(task), "uniform", "rkl"], {})


def test_a_cluster_by_address_needs_its_number_of_nodes() -> None:
    with pytest.raises(MadrlError, match="RAY_ADDRESS needs NNODES"):
        of_recipe("math_peak_l2.sh", RAY_ADDRESS="head:6379")
    config = compose(of_recipe("math_peak_l2.sh", RAY_ADDRESS="head:6379", NNODES="4").hydra_overrides())
    assert (config.ray_kwargs.ray_init.address, config.trainer.nnodes) == ("head:6379", 4)


def test_help_prints_the_recipe_s_head_and_the_variables_and_does_nothing_else(tmp_path: Path) -> None:
    """An empty environment, in which anything else would begin with an installation."""
    nothing = {"PATH": os.environ["PATH"], "VENV": str(tmp_path / "venv"), "STACK": "cpu"}
    scripts = ("gsm8k_peak_rkl.sh", "quickstart.sh", "math_warm_start.sh", "lib/run.sh", "alternatives.sh")
    for name in (*scripts, "../examples/pronouns/run.sh", "../examples/chances/run.sh"):
        for option in ("--help", "-h"):
            command = ["bash", str(RECIPES / name), option]
            done = subprocess.run(command, env=nothing, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")
            first = (RECIPES / name).read_text().splitlines()[1]
            assert done.stdout.startswith(first.removeprefix("# "))
            said = "madrl alternatives TASK [TARGET]" if name == "alternatives.sh" else "MODEL=PATH|base"
            assert said in done.stdout
            assert "exec bash" not in done.stdout
    assert list(tmp_path.iterdir()) == []


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


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines of the stages that a sweep would run, filled when it runs them."""
    commands: list[list[str]] = []

    def note(stages: Sequence[Stage], folder: Path) -> None:
        commands.extend(stage.command[3:] for stage in stages)

    monkeypatch.setattr(temperature_sweep, "run_stages", note)
    return commands


def test_a_temperature_sweep_samples_a_run_as_its_holdout_is_sampled(
    run_folder: Path,
    swept: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    temperature_sweep.sweep(str(run_folder), {"TEMPERATURES": "0.6 1.0"})
    assert [call[0] for call in swept] == ["generate", "evaluate"] * 2
    asked: list[Any] = []

    def note(*arguments: Any) -> Sampled:
        asked.append(arguments)
        return Sampled([{"category": None, "correct": 1.0, "finish_reason": "stop"}], 0, arguments[1], ())

    monkeypatch.setattr("madrl.sampling.generate.generate_file", note)
    model = str(run_folder / "checkpoints" / "global_step_40" / "actor" / "huggingface")
    grader = GraderSpec("language", "math", ("en", "zh", "es", "hi", "fr"))
    for call, temperature in zip(swept[::2], (0.6, 1.0), strict=True):
        assert cli.main(call) == 2, "a run of GPUs is not sampled on a CPU"
        assert "--on-gpus: there is no GPU here" in capsys.readouterr().err
        assert cli.main([word for word in call if word != "--on-gpus"]) == 0
        out = run_folder / "temperatures" / f"temperature_{temperature}.jsonl"
        sampling = Sampling(model, temperature, 4096, 7, {"enable_thinking": False})
        assert asked.pop() == (Path("/data/math/holdout.parquet"), out, sampling, grader, 5, None, 2, None)
    assert swept[1][1:] == [
        *(str(run_folder / "temperatures" / "temperature_0.6.jsonl"), "--categories", "en,zh,es,hi,fr"),
        *("--target", '{"en": 3, "hi": 1}', "--epsilon", "0.001"),
    ]


def test_a_temperature_sweep_of_a_run_without_a_checkpoint_is_one_clear_line(run_folder: Path) -> None:
    shutil.rmtree(run_folder / "checkpoints")
    with pytest.raises(MadrlError, match="run has no checkpoint: train it first"):
        temperature_sweep.sweep(str(run_folder), {})


@pytest.mark.parametrize(
    ("profile", "task", "data"),
    [("tiny", "math", "math_miniature"), ("gpu", "math", "math"), ("tiny", "synthetic_open", "synthetic_open")],
)
def test_a_temperature_sweep_of_a_model_finds_the_task_s_data(
    profile: str, task: str, data: str, tmp_path: Path, swept: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        temperature_sweep, "resolved_config", lambda recipe: OmegaConf.to_yaml(compose(recipe.hydra_overrides()))
    )
    variables = {"PROFILE": profile, "TASK": task, "OUT": str(tmp_path / "out"), "TEMPERATURES": "1.0"}
    temperature_sweep.sweep("Qwen/Qwen3-4B", variables)
    generate, _ = swept
    assert generate[1:5] == ["--model", "Qwen/Qwen3-4B", "--data", f"{Path.cwd()}/outputs/data/{data}/holdout.parquet"]
    with pytest.raises(MadrlError, match="a model needs TASK"):
        temperature_sweep.sweep("no/run", {"PROFILE": profile})


def dry_run(
    recipe: str, *overrides: str, cwd: Path | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"DRY_RUN": "1", "STACK": "cpu"} | variables
    command = ["bash", str(RECIPES / recipe), *overrides]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def installed() -> None:
    """Recipes bring their own environment; a suite that runs in another one must not install a second."""
    if not (RECIPES.parent / os.environ.get("VENV", ".venv") / ".madrl-stack").exists():
        pytest.skip("no environment installed by recipes/lib/install.sh")


@pytest.mark.usefixtures("installed")
def test_a_dry_run_of_the_gpu_profile_prints_the_paper_settings() -> None:
    done = dry_run("synthetic_open_peak_fkl.sh", PROFILE="gpu", SEED="123")
    assert done.returncode == 0, done.stderr
    assert "synthetic_open_peak_fkl_gpu_seed123, starting from Qwen/Qwen3-4B-Instruct-2507\n" in done.stdout
    config = yaml.safe_load(done.stdout)
    actor, rollout = config["actor_rollout_ref"]["actor"], config["actor_rollout_ref"]["rollout"]
    assert config["actor_rollout_ref"]["model"]["path"] == "Qwen/Qwen3-4B-Instruct-2507"
    assert (rollout["n"], rollout["temperature"]) == (32, 1.0)
    assert (actor["optim"]["lr"], actor["kl_loss_coef"], actor["use_kl_loss"]) == (5e-6, 0.04, True)
    assert (config["trainer"]["total_training_steps"], config["trainer"]["test_freq"]) == (6000, 500)
    assert config["seed"] == config["data"]["seed"] == rollout["seed"] == actor["data_loader_seed"] == 123


@pytest.mark.usefixtures("installed")
def test_relative_paths_are_those_of_the_folder_that_a_recipe_is_called_in_and_overrides_after_it_reach_the_config(
    tmp_path: Path,
) -> None:
    words = ("synthetic_closed_uniform_l2.sh", "trainer.total_training_steps=7")
    config = yaml.safe_load(dry_run(*words, cwd=tmp_path, PROFILE="tiny", OUT="results").stdout)
    assert config["paths"]["data"] == f"{tmp_path}/results/data/synthetic_closed"
    assert config["trainer"]["total_training_steps"] == 7


@pytest.mark.usefixtures("installed")
def test_a_misspelt_override_is_one_clear_line() -> None:
    done = dry_run("synthetic_closed_uniform_l2.sh", "trainer.totl_steps=7", PROFILE="tiny")
    assert done.returncode == 2
    assert re.search(r"^madrl: error: .*totl_steps", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("installed")
def test_a_dry_run_shows_the_stages_with_the_model_of_each(tmp_path: Path) -> None:
    done = dry_run("gsm8k_peak_rkl.sh", PROFILE="gpu", OUT=str(tmp_path))
    assert done.returncode == 0, done.stderr
    plan = [line for line in done.stdout.splitlines() if line.startswith("#")]
    model = f"{tmp_path}/gsm8k_warm_start_gpu_seed42/model"
    assert plan[0] == f"# gsm8k_peak_rkl_gpu_seed42, starting from {model}"
    assert plan[3].startswith("# 3. [warm_start] from Qwen/Qwen3-4B-Instruct-2507: ")
    assert plan[3].endswith(f" to {model}")
    assert f" from {model}, to {tmp_path}/gsm8k_peak_rkl_gpu_seed42" in plan[4]
    assert yaml.safe_load(done.stdout)["actor_rollout_ref"]["model"]["path"] == model
    assert list(tmp_path.iterdir()) == []
