"""What Slurm is given; a stand-in for sbatch runs the arrays that it gets."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
import stub_grid

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid.cells import warm_start_cell
from madrl.grid.identity import identities
from madrl.grid.ledger import Ledger, Standing, standings_of
from madrl.grid.plan import Plan, load_plan
from madrl.grid.slurm import scripts, submit
from madrl.grid.supervise import supervise

TWO_CELLS = ("task=math", "form=add70", "target=peak", "divergence=rkl", "seed=42,123")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Two cells, on GPUs, from a model that is named."""
    monkeypatch.setattr("madrl.install.STAMP", tmp_path / "no stack")
    return stub_grid.planned(Plan(tmp_path / "out", "gpu", {"math": "hub/mine"}), *TWO_CELLS)


def standings(plan: Plan) -> list[Standing]:
    return standings_of(plan.out, identities(plan))


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an sbatch on the PATH."""
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/bash\n{script}\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")


def test_slurm_gets_one_job_array_whose_tasks_are_the_cells(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = standings(plan)
    # Each task twice, as when two arrays of the same cells wait in the queue.
    run_all = 'for task in 0 0 1 1; do SLURM_ARRAY_TASK_ID=$task bash "$1"; done 2>&1; exit 0'
    stand_in(tmp_path, monkeypatch, run_all)
    submit(plan, cells, 1, supervisor=stub_grid.SUPERVISOR)
    text = (plan.folder / "slurm" / "array.sbatch").read_text()
    assert "#SBATCH --array=0-1%1\n" in text
    assert "#SBATCH --gpus-per-node=8\n" in text
    for cell in cells:
        trace = (plan.out / cell.run_name / "trace").read_text().splitlines()
        assert trace == ["start math hub/mine", "step 1", "step 2", "step 3", "end"]
        assert "is done already" in Ledger(plan.out, cell.run_name).log.read_text()
    assert main(["grid", "run", "--backend", "slurm", "--dry-run", "-o", str(plan.out)]) == 0
    assert "nothing else is planned" in capsys.readouterr().out


def test_a_folder_with_a_space_in_its_name_stays_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madrl.install.STAMP", tmp_path / "no stack")
    plan = stub_grid.planned(Plan(tmp_path / "my runs", "gpu", {"math": "hub/mine"}), *TWO_CELLS)
    [text, _] = scripts(plan, standings(plan), None).values()
    [line] = [line for line in text.splitlines() if line.startswith("#SBATCH --output=")]
    assert shlex.split(line.removeprefix("#SBATCH ")) == [f"--output={tmp_path}/my runs/grid/slurm/%A_%a.log"]


def test_the_scripts_are_bash_and_start_our_own_supervisor(plan: Plan) -> None:
    files = scripts(plan, standings(plan), None)
    assert [path.name for path in files] == ["array.sbatch", "submit.sh"]
    for text in files.values():
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert f'-m madrl.grid.supervise {plan.out} "$cell"' in next(iter(files.values()))


def test_a_cell_that_waits_in_a_queue_stays_what_it_was_when_it_was_submitted(plan: Plan) -> None:
    cell = standings(plan)[0]
    Ledger(plan.out, cell.run_name).describe(plan, cell.identity)
    stub_grid.planned(Plan(plan.out, "tiny", overrides=["trainer.total_training_steps=2"]), *TWO_CELLS)
    assert supervise(plan.out, cell.run_name, stub_grid.stub) == 0
    assert (plan.out / cell.run_name / "trace").read_text().startswith("start math hub/mine\n")


def test_nodes_with_gpus_do_not_get_the_stack_of_a_machine_without(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = plan.out / "stack"
    stamp.write_text("cpu 0123")
    monkeypatch.setattr("madrl.install.STAMP", stamp)
    with pytest.raises(MadrlError, match="after madrl install gpu"):
        scripts(plan, standings(plan), None)


def test_slurm_in_the_tiny_profile_asks_for_cores(plan: Plan) -> None:
    tiny = stub_grid.planned(Plan(plan.out, "tiny"), *TWO_CELLS)
    text = next(iter(scripts(tiny, standings(tiny), None).values()))
    assert "#SBATCH --cpus-per-task=2\n" in text
    assert "#SBATCH --array=0-1\n" in text
    assert "gpus" not in text


def test_slurm_holds_only_the_cells_back_whose_warm_start_is_made_with_them(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(tmp_path, monkeypatch, f'echo "$@" >>{tmp_path}/submitted; echo "71;cluster"')
    # GSM8K's cells start from a model that is named, MATH's from its warm start.
    out, folder = tmp_path / "two", tmp_path / "two" / "grid" / "slurm"
    two = stub_grid.planned(Plan(out, "gpu", {"gsm8k": "hub/mine"}), "task=math,gsm8k", "form=rlvr")
    submit(two, standings(two), None)
    assert (tmp_path / "submitted").read_text().splitlines() == [
        f"{folder}/array.sbatch",
        f"--parsable {folder}/math_warm_start.sbatch",
        f"--dependency=afterany:71 {folder}/math.sbatch",
    ]
    assert "gsm8k_rlvr" in (folder / "array.sbatch").read_text()
    assert "math_" not in (folder / "array.sbatch").read_text().partition("cells=")[2].partition(")")[0]
    assert (folder / "math.sbatch").read_text().count("math_rlvr") == 3
    # While it runs, or after it has failed, nothing is submitted that could only end at once.
    start = identities(two, [warm_start_cell("math")])[0]
    Ledger(out, start.run_name).record("started", pid=0)
    Ledger(out, start.run_name).record("ended", exit=2, reason="no")
    (tmp_path / "submitted").unlink()
    capsys.readouterr()
    submit(two, [s for s in standings(two) if s.identity.cell.task == "math"], None)
    assert "3 cells wait for a warm start that is not done" in capsys.readouterr().out
    assert not (tmp_path / "submitted").exists()


def test_a_scheduler_that_is_not_there_is_an_error(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(MadrlError, match="sbatch is not on the PATH"):
        submit(plan, standings(plan), None)


def test_cells_that_would_share_one_ray_cluster_are_not_run_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert main(["grid", "run", "--dry-run", "-n", "2", "-o", str(plan.out)]) == 2
    assert "-n 2 with RAY_ADDRESS=10.0.0.1:6379: a Ray cluster trains one run at a time" in capsys.readouterr().err
    assert main(["grid", "run", "--dry-run", "-o", str(plan.out)]) == 0


def test_the_dry_run_of_slurm_prints_its_scripts_and_writes_nothing(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grid", "run", "--backend", "slurm", "--dry-run", "-o", str(plan.out)]) == 0
    assert "#SBATCH --array=0-1" in capsys.readouterr().out
    assert sorted(path.name for path in plan.folder.iterdir()) == ["configs.json", "plan.json", "planning"]
    assert load_plan(plan.out) == plan
