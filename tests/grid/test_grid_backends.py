"""What Slurm, Ray and SkyPilot are given; a stand-in for sbatch runs the array that it gets."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid import composed
from madrl.grid.cells import Cell, warm_start_cell
from madrl.grid.composed import Config
from madrl.grid.identity import identities
from madrl.grid.ledger import Ledger, Standing, standing_of
from madrl.grid.plan import Plan, load_plan
from madrl.grid.submit import Submission, ray, skypilot, slurm
from madrl.grid.supervise import supervise
from madrl.run import CHECKOUT

STUB = Path(__file__).parent / "stub_recipe.sh"
CELLS = tuple(Cell("math", "add70", "peak", "rkl", seed) for seed in (42, 123))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Two cells of the stub recipe."""
    plan = Plan(tmp_path / "out", CELLS, "gpu", {}, (), ("bash", str(STUB)))
    plan.save()
    return plan


def standings(plan: Plan) -> list[Standing]:
    return [standing_of(plan, identity) for identity in identities(plan, plan.cells)]


def test_slurm_gets_one_job_array_whose_tasks_are_the_cells(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = standings(plan)
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    # Each task twice, as when two arrays of the same cells wait in the queue.
    sbatch.write_text('#!/bin/bash\nfor task in 0 0 1 1; do SLURM_ARRAY_TASK_ID=$task bash "$1"; done 2>&1; exit 0\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    assert main(["grid", "run", "--backend", "slurm", "-n", "1", "-o", str(plan.out)]) == 0
    text = (plan.folder / "slurm" / "array.sbatch").read_text()
    assert "#SBATCH --array=0-1%1\n" in text
    assert "#SBATCH --gpus-per-node=8\n" in text
    for cell in cells:
        trace = (plan.out / cell.run_name / "trace").read_text().splitlines()
        assert trace == ["start math  ", "step 1", "step 2", "step 3", "end"]
    assert main(["grid", "run", "--backend", "slurm", "-o", str(plan.out)]) == 0
    assert "nothing is planned" in capsys.readouterr().out


def test_a_cell_that_waits_in_a_queue_stays_what_it_was_when_it_was_submitted(plan: Plan) -> None:
    cell = standings(plan)[0]
    Ledger(plan, cell.run_name).describe(cell.identity)
    replace(plan, overrides=("a=b",), profile="tiny").save()
    assert supervise(plan.out, cell.run_name) == 0
    assert (plan.out / cell.run_name / "trace").read_text().startswith("start math  \n")


@pytest.mark.parametrize("backend", [slurm, ray])
def test_nodes_with_gpus_do_not_get_the_stack_of_a_machine_without(
    plan: Plan, backend: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, recipes = standings(plan), replace(plan, command=None)
    monkeypatch.setenv("STACK", "cpu")
    with pytest.raises(MadrlError, match="STACK=gpu bash recipes"):
        backend(recipes, cells, None)
    monkeypatch.setenv("STACK", "gpu")
    assert backend(recipes, cells, None).commands


def test_slurm_in_the_tiny_profile_asks_for_cores(plan: Plan) -> None:
    (text,) = slurm(replace(plan, profile="tiny"), standings(plan), None).files.values()
    assert "#SBATCH --cpus-per-task=2\n" in text
    assert "#SBATCH --array=0-1\n" in text
    assert "gpus" not in text


def test_slurm_holds_only_the_cells_back_whose_warm_start_is_made_with_them(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(composed, "_compose_in_child", lambda missing: {key: Config(key, 40) for key in missing})
    monkeypatch.setattr("madrl.grid.command_line.prepare", lambda *arguments: None)
    monkeypatch.setenv("STACK", "gpu")
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f'#!/bin/bash\necho "$@" >>{tmp_path}/submitted\necho "71;cluster"\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    out, folder = tmp_path / "two", tmp_path / "two" / "grid" / "slurm"
    # GSM8K's cells start from a model that is named, MATH's from its warm start.
    options = ["task=math,gsm8k", "form=rlvr", "--model", "gsm8k=hub/mine", "-o", str(out)]
    assert main(["grid", "plan", *options]) == 0
    assert main(["grid", "run", "--backend", "slurm", "-o", str(out)]) == 0
    assert (tmp_path / "submitted").read_text().splitlines() == [
        f"{folder}/array.sbatch",
        f"--parsable {folder}/math_warm_start.sbatch",
        f"--dependency=afterany:71 {folder}/math.sbatch",
    ]
    assert "gsm8k_rlvr" in (folder / "array.sbatch").read_text()
    assert "math_" not in (folder / "array.sbatch").read_text().partition("cells=")[2].partition(")")[0]
    assert (folder / "math.sbatch").read_text().count("math_rlvr") == 3
    # While it runs, or after it has failed, nothing is submitted that could only end at once.
    two = load_plan(out)
    start = identities(two, [warm_start_cell("math")])[0]
    Ledger(two, start.run_name).record("started", pid=0)
    Ledger(two, start.run_name).record("ended", exit=2, reason="no")
    (tmp_path / "submitted").unlink()
    capsys.readouterr()
    for backend in ("slurm", "skypilot"):
        assert main(["grid", "run", "task=math", "--backend", backend, "-o", str(out)]) == 0
        assert "3 cells wait for a warm start that is not done" in capsys.readouterr().out
    assert not (tmp_path / "submitted").exists()


def test_a_scheduler_that_is_not_there_is_an_error(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert main(["grid", "run", "--backend", "slurm", "-o", str(plan.out)]) == 2
    assert "sbatch is not on the PATH" in capsys.readouterr().err


def test_ray_gets_one_job_a_cell_that_waits_for_a_slot(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.runtime_env.runtime_env import _merge_runtime_env

    monkeypatch.setenv("NNODES", "4")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setenv("WANDB_API_KEY", "a secret")
    commands = ray(plan, standings(plan), None).commands
    assert len(commands) == 2
    options, entrypoint = commands[0][: commands[0].index("--")], commands[0][commands[0].index("--") + 1 :]
    assert entrypoint[1:] == ["-m", "madrl.grid.supervise", str(plan.out), standings(plan)[0].run_name]
    assert options[options.index("--entrypoint-resources") + 1] == '{"madrl_cell": 1}'
    environment = json.loads(options[options.index("--runtime-env-json") + 1])["env_vars"]
    assert environment["NNODES"] == "4"
    assert "WANDB_API_KEY" not in environment
    # madrl train gives its actors a PYTHONPATH, as every job has one, and Ray takes no variable twice but on request.
    assert {"PYTHONPATH", "RAY_OVERRIDE_JOB_RUNTIME_ENV"} <= set(environment)
    override = environment["RAY_OVERRIDE_JOB_RUNTIME_ENV"] == "1"
    driver = {"env_vars": {"PYTHONPATH": "/elsewhere"}}
    assert _merge_runtime_env({"env_vars": environment}, driver, override=override) is not None
    with pytest.raises(MadrlError, match="one run at a time; start its head with --resources"):
        ray(plan, standings(plan), 2)
    with pytest.raises(MadrlError, match="brings a Ray of its own"):
        ray(replace(plan, profile="tiny", command=None), standings(plan), None)


def test_cells_that_would_share_one_ray_cluster_are_not_run_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(plan, command=None).save()
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert main(["grid", "run", "--dry-run", "-n", "2", "-o", str(plan.out)]) == 2
    assert "-n 2 with RAY_ADDRESS=10.0.0.1:6379: a Ray cluster trains one run at a time" in capsys.readouterr().err
    assert main(["grid", "run", "--dry-run", "-o", str(plan.out)]) == 0


def test_ray_s_command_line_knows_the_options(plan: Plan) -> None:
    (command, _) = ray(plan, standings(plan), None).commands
    # Options are checked before the cluster is asked, and there is none.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"RAY_API_SERVER_ADDRESS": "http://127.0.0.1:9", "PATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "No such option" not in done.stderr
    assert "connect" in done.stderr.lower()


def test_skypilot_gets_a_task_and_a_launch_for_each_cell(plan: Plan) -> None:
    submission = skypilot(plan, standings(plan), None)
    (task_file, task_text), (script, launches) = submission.files.items()
    task = yaml.safe_load(task_text)
    assert task["envs"] == {"CELL": None, "BUCKET": None}
    assert task["resources"] == {"accelerators": "H100:8"}
    assert task["workdir"] == str(CHECKOUT)
    assert task["file_mounts"] == {str(plan.out): {"source": "${BUCKET}", "mode": "MOUNT_CACHED"}}
    assert shlex.split(task["run"].splitlines()[-1])[-4:] == ["-m", "madrl.grid.supervise", str(plan.out), "$CELL"]
    assert f"uv python install 3.{sys.version_info.minor}\n" in task["setup"], "code hashes are of one Python"
    assert submission.commands == []
    for cell in standings(plan):
        assert cell.run_name in launches
    for text in (launches, task["run"], task["setup"]):
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert str(script) in submission.advice
    assert str(task_file) in launches


def test_skypilot_s_machines_see_no_model_outside_of_out(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match="which is all that the machines see"):
        skypilot(replace(plan, models={"math": str(tmp_path)}), standings(plan), None)


def test_the_dry_run_of_a_scheduler_writes_nothing(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grid", "run", "--backend", "skypilot", "--dry-run", "-o", str(plan.out)]) == 0
    assert "sky jobs launch" in capsys.readouterr().out
    assert [path.name for path in plan.folder.iterdir()] == ["plan.json"]
    assert load_plan(plan.out) == plan
