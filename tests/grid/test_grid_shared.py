"""What the cells of a task share is made once, by the recipes' own stages, before the first cell starts."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid import composed, local
from madrl.grid.cells import Cell
from madrl.grid.composed import Config
from madrl.grid.identity import data_folder
from madrl.grid.local import prepare
from madrl.grid.plan import RECIPES, Plan


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that recipes take for installed: our own python, and a madrl that only writes down its calls."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    for name, text in (
        ("python", f'exec "{sys.executable}" "$@"'),
        ("madrl", f'echo "$@" >>{tmp_path}/calls'),
    ):
        (venv / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (venv / "bin" / name).chmod(0o755)
    stamp = (
        "{ echo cpu; cat pyproject.toml recipes/requirements-cpu.txt recipes/install.sh; } | sha256sum | cut -d' ' -f1"
    )
    installed = subprocess.run(["bash", "-c", stamp], cwd=RECIPES.parent, capture_output=True, check=True)
    (venv / ".madrl-stack").write_bytes(installed.stdout)
    monkeypatch.setenv("VENV", str(venv))
    return tmp_path


def test_the_data_are_made_and_the_miniature_only_where_the_recipe_would_build_one(stack: Path) -> None:
    out = stack / "out"
    plan = Plan(out, (Cell("math", "add70", "peak", "rkl", 42),), "tiny", {"math": "/a/model"})
    prepare(plan, ["math"])
    manifest = json.loads((data_folder(plan, "math") / "manifest.json").read_text())
    assert set(manifest["files"]) == {f"{split}.parquet" for split in ("train", "selection", "validation", "holdout")}
    assert not (stack / "calls").exists()
    stages = (out / "grid" / "shared" / "math" / "stages.jsonl").read_text()
    assert json.loads(stages)["stage"] == "data"
    prepare(Plan(out, plan.cells, "tiny", {}), ["math"])
    called = (stack / "calls").read_text()
    assert called == f"miniature --task math --data {out}/data/math_miniature -o {out}/models/math\n"


def test_a_cell_is_its_recipe_on_the_shared_data_in_a_folder_of_its_own_name(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(composed, "_compose_in_child", lambda missing: {key: Config(key, 40) for key in missing})
    out, model = stack / "out", stack / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"weights")
    options = ["--profile", "tiny", "--model", str(model), "-o", str(out)]
    assert main(["grid", "plan", "task=math", "form=gated", "target=peak", "divergence=jsd", "seed=123", *options]) == 0
    assert main(["grid", "run", "--dry-run", "-o", str(out)]) == 0
    assert "is not prepared yet" in capsys.readouterr().err
    assert main(["grid", "run", "-o", str(out)]) == 0
    (run,) = out.glob("math_peak_jsd_gated_seed123_tiny-*")
    (train, holdout, evaluate) = (stack / "calls").read_text().splitlines()
    assert f"paths.run='{run}' paths.data='{out}/data/math_miniature'" in train
    assert f"paths.model='{model}'" in train
    assert "madrl.target=peak madrl.reward.divergence=jsd seed=123" in train
    assert (holdout, evaluate) == (f"holdout {run}", f"evaluate {run}")
    assert main(["grid", "run", "-o", str(out)]) == 0
    assert len((stack / "calls").read_text().splitlines()) == 3, "finished cells never run again"
    shutil.rmtree(run)
    assert main(["grid", "status", "-o", str(out)]) == 0
    assert "its run folder was removed" in capsys.readouterr().out
    assert main(["grid", "run", "-o", str(out)]) == 0
    assert len((stack / "calls").read_text().splitlines()) == 6


def test_a_stage_that_fails_stops_the_grid(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = stack / "broken.sh"
    broken.write_text("echo no such dataset >&2; exit 4\n")
    monkeypatch.setattr(local, "SHARED", broken)
    plan = Plan(stack / "out", (), "gpu", {})
    plan.folder.mkdir(parents=True)
    with pytest.raises(MadrlError, match="preparing math ended with exit code 4"):
        prepare(plan, ["math"])
    assert "no such dataset" in capfd.readouterr().err
    prepare(Plan(plan.out, (), "gpu", {}, command=("true",)), ["math"])
