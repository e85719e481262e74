"""What the cells of a task share is made once, by the recipes' own stages, before the first cell starts."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import stub_grid
from scripted_engine import safetensors

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid import supervise
from madrl.grid.cells import warm_start_cell
from madrl.grid.identity import identities
from madrl.grid.ledger import Ledger
from madrl.grid.local import prepare
from madrl.grid.plan import Plan


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment like ours on a machine with GPUs. Its interpreter only writes down what the command line would do
    to train and to finetune: everything else is run."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (venv / "lib").symlink_to(Path(sys.prefix) / "lib")
    python = venv / "bin" / "python"
    python.write_text(f"""#!/bin/bash
case "$2 $3" in
  "madrl.cli grid" | "madrl.cli run") ;;
  madrl.cli*)
    if [ "$4" = --dry-run ]; then exit; fi
    echo "${{@:3}}" >>{tmp_path}/calls
    for word in "$@"; do
      case $word in paths.run=*) run=${{word#paths.run=}} ;; esac
    done
    if [ "$3" = warm-start ]; then eval "mkdir -p $run/model"; fi
    exit ;;
esac
exec -a "{python}" {Path(sys.executable).resolve()} "$@"
""")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (venv / "bin" / "nvidia-smi").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{venv}/bin:{os.environ['PATH']}")
    for name in ("DRY_RUN", "SANDBOX_URL", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def calls(stack: Path) -> list[str]:
    file = stack / "calls"
    return file.read_text().splitlines() if file.exists() else []


def test_the_data_are_made_and_the_miniature_only_where_the_recipe_would_build_one(stack: Path) -> None:
    out = stack / "out"
    plan = Plan(out, "tiny", {"math": "/a/model"})
    prepare(plan, ["math"])
    manifest = json.loads((plan.shared_recipe("math").data / "manifest.json").read_text())
    assert set(manifest["files"]) == {f"{split}.parquet" for split in ("train", "selection", "validation", "holdout")}
    assert calls(stack) == []
    stages = (out / "grid" / "shared" / "math" / "stages.jsonl").read_text()
    assert json.loads(stages)["stage"] == "data"
    prepare(Plan(out, "tiny"), ["math"])
    assert calls(stack) == [f"miniature --task math --data {out}/data/math_miniature -o {out}/models/math"]


def test_a_cell_is_its_recipe_on_the_shared_data_in_a_folder_of_its_own_name(
    stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = stack / "out", stack / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(safetensors(b"weights"))
    words = ["task=math", "form=gated", "target=peak", "divergence=jsd", "seed=123"]
    stub_grid.planned(Plan(out, "tiny", {"math": str(model)}), *words)
    assert main(["grid", "run", "-o", str(out)]) == 0
    (run,) = out.glob("math_peak_jsd_gated_seed123_tiny-*")
    (train, holdout, evaluate) = calls(stack)
    assert f"paths.run='{run}' paths.data='{out}/data/math_miniature' paths.model='{model}'" in train
    assert "madrl.target=peak madrl.reward.divergence=jsd" in train
    assert "madrl.reward.form=gated" in train
    assert (holdout, evaluate) == (f"holdout {run}", f"evaluate {run}")
    assert main(["grid", "run", "-o", str(out)]) == 0
    assert len(calls(stack)) == 3, "finished cells never run again"
    shutil.rmtree(run)
    assert main(["grid", "status", "-o", str(out)]) == 0
    assert "its run folder was removed" in capsys.readouterr().out
    assert main(["grid", "run", "-o", str(out)]) == 0
    assert len(calls(stack)) == 6


def test_the_warm_start_is_one_cell_that_the_others_wait_for(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = stack / "out"
    # Data that are there.
    (out / "data" / "math").mkdir(parents=True)
    (out / "data" / "math" / "manifest.json").write_text('{"files": {}}')
    stub_grid.planned(Plan(out), "task=math", "form=rlvr")
    assert main(["grid", "status", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "3 cells: waits for math_warm_start_seed42_gpu-" in said
    assert "4 cells: 1 planned  3 waiting" in said
    assert main(["grid", "run", "-n", "4", "seed=123,200", "-o", str(out)]) == 0
    made = calls(stack)
    assert made[0].startswith("warm-start task='math' profile=gpu seed=42 ")
    (start,) = out.glob("math_warm_start_seed42_gpu-*")
    trains = [call for call in made if call.startswith("train ")]
    assert len(trains) == 2
    assert all(f"paths.model='{start}/model'" in call for call in trains)
    # It is there for the cells that are run later.
    assert main(["grid", "run", "-o", str(out)]) == 0
    assert [call.split()[0] for call in calls(stack)].count("warm-start") == 1
    assert main(["grid", "status", "-o", str(out)]) == 0
    assert "4 cells: 4 done" in capsys.readouterr().out


def test_cells_whose_warm_start_failed_are_not_run(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = stack / "out"
    (out / "data" / "math").mkdir(parents=True)
    (out / "data" / "math" / "manifest.json").write_text('{"files": {}}')
    plan = stub_grid.planned(Plan(out), "task=math", "form=rlvr")
    start = identities(plan, [warm_start_cell("math")])[0]
    ledger = Ledger(out, start.run_name)
    ledger.describe(plan, start)
    ledger.record("started", pid=0)
    ledger.record("ended", exit=2, reason="no GPU here")
    capsys.readouterr()
    assert main(["grid", "run", "-o", str(out)]) == 2
    assert calls(stack) == []
    assert main(["grid", "status", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "no GPU here" in said
    assert "4 cells: 1 failed  3 waiting" in said
    # A scheduler that starts one all the same gets a reason.
    cell = identities(plan)[1]
    Ledger(out, cell.run_name).describe(plan, cell)
    assert supervise.main([str(out), cell.run_name]) == 2
    assert f"starts from what {start.run_name} makes, which is not done" in capsys.readouterr().err


def test_a_stage_that_fails_stops_the_grid(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(stack / "out")
    plan.folder.mkdir(parents=True)
    monkeypatch.setenv("DATASET", str(stack / "nowhere"))
    with pytest.raises(MadrlError, match="preparing math ended with exit code 2: see above"):
        prepare(plan, ["math"])
    assert "nowhere" in capfd.readouterr().err
