"""A cell's folder is named after everything that decides its outcome, and after nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stub_grid
from scripted_engine import safetensors

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grid import identity, source
from madrl.grid.cells import Cell, filters_of, sweep, warm_start_cell
from madrl.grid.identity import identities
from madrl.grid.ledger import Ledger
from madrl.grid.plan import Plan, composed, config_facts, load_plan, make_plan, placeless
from madrl.grid.supervise import supervise
from madrl.recipe import Recipe
from madrl.source import imported_by

CELLS = [Cell("math", "add70", "peak", "rkl", 42), Cell("math", "add70", "peak", "rkl", 123)]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan whose data are there."""
    plan = Plan(tmp_path, "tiny")
    write_data(plan, "1111")
    return plan


def write_data(plan: Plan, sha256: str) -> None:
    folder = plan.shared_recipe("math").data
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"madrl_version": "any", "files": {"train.parquet": {"sha256": sha256}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def names(plan: Plan) -> list[str]:
    return [found.run_name for found in identities(make_plan(plan, CELLS, stub_grid.compose), CELLS)]


def write_model(folder: Path, weights: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(safetensors(weights))
    return str(folder)


def test_the_name_is_readable_and_ends_in_a_hash(plan: Plan) -> None:
    first, second = names(plan)
    assert first.startswith("math_peak_rkl_add70_seed42_tiny-")
    assert second.startswith("math_peak_rkl_add70_seed123_tiny-")
    assert first[-8:] != second[-8:]


def test_another_config_data_code_or_model_gives_another_name(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [names(plan)[0]]
    seen.append(names(replace(plan, overrides=["trainer.total_training_steps=2"]))[0])
    model = write_model(tmp_path / "model", b"one")
    seen.append(names(replace(plan, models={"math": model}))[0])
    write_model(tmp_path / "model", b"two")
    seen.append(names(replace(plan, models={"math": model}))[0])
    write_data(plan, "2222")
    seen.append(names(plan)[0])
    monkeypatch.setattr(identity, "code_hash", lambda *roots: "other code")
    seen.append(names(plan)[0])
    assert len(set(seen)) == len(seen) == 6


def test_neither_the_place_nor_the_manifest_s_other_facts_matter(plan: Plan, tmp_path: Path) -> None:
    elsewhere = replace(plan, out=tmp_path / "elsewhere")
    write_data(elsewhere, "1111")
    assert names(elsewhere) == names(plan)
    manifest = plan.shared_recipe("math").data / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"madrl_version": "9.9"}))
    assert names(elsewhere) == names(plan)


def test_a_model_that_does_not_exist_is_an_error(plan: Plan) -> None:
    with pytest.raises(MadrlError, match="/nowhere does not exist"):
        names(replace(plan, models={"math": "/nowhere"}))


def test_a_manifest_that_is_just_being_replaced_is_waited_for(plan: Plan) -> None:
    folder = plan.shared_recipe("math").data
    before = names(plan)
    content = (folder / "manifest.json").read_text()
    (folder / "manifest.json").unlink()
    code = "import sys, time; time.sleep(0.5); open(sys.argv[1], 'w').write(sys.argv[2])"
    with locked(folder / ".lock", "busy"):
        child = subprocess.Popen([sys.executable, "-c", code, str(folder / "manifest.json"), content])
        assert names(plan) == before
    child.wait()
    (folder / "manifest.json").unlink()
    assert [found.parts["data"] for found in identities(load_plan(plan.out))] == [None, None]
    # Data of one's own have no manifest.
    (folder / "train.parquet").write_bytes(b"rows")
    mine = names(plan)
    (folder / "train.parquet").write_bytes(b"other rows")
    assert len({*before, *mine, *names(plan)}) == 6


def test_a_cell_whose_code_has_changed_since_is_not_run_under_its_old_name(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(plan, CELLS, stub_grid.compose)
    (found, _) = identities(plan)
    monkeypatch.setattr(identity, "code_hash", lambda *roots: "other code")
    ledger = Ledger(plan.out, found.run_name)
    ledger.describe(plan, found)
    with pytest.raises(MadrlError, match="code, model changed since"):
        supervise(plan.out, found.run_name, stub_grid.stub)
    facts = ledger.read_facts()
    ledger.facts.write_text(json.dumps({**facts, "config_key": "of another veRL"}))
    with pytest.raises(MadrlError, match="config, code, model changed since"):
        supervise(plan.out, found.run_name, stub_grid.stub)


def test_configs_are_composed_once_and_again_when_what_they_follow_from_has_changed(plan: Plan) -> None:
    asked: list[Recipe] = []

    def compose(recipe: Recipe) -> Mapping[str, Any]:
        asked.append(recipe)
        return stub_grid.compose(recipe)

    make_plan(plan, CELLS, compose), make_plan(plan, CELLS, compose)
    assert len(asked) == 1, "the seeds of a setting share a config, and the second call asks for none"
    make_plan(replace(plan, overrides=["trainer.total_training_steps=2"]), CELLS, compose)
    assert len(asked) == 2


def test_verbs_that_compose_nothing_say_when_the_plan_is_of_other_configs(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    make_plan(plan, CELLS, stub_grid.compose)
    content = json.loads(plan.file.read_text())
    content["cells"][0]["resolved"][0] = "of another veRL"
    plan.file.write_text(json.dumps(content))
    said = "changed since 1 of 2 cells were planned: call madrl grid plan"
    for verb in ("run", "retry"):
        assert main(["grid", verb, "-o", str(plan.out)]) == 2
        assert said in capsys.readouterr().err
    assert main(["grid", "status", "-o", str(plan.out)]) == 0
    shown = capsys.readouterr()
    assert said in shown.err
    assert "2 cells: 2 planned" in shown.out


def test_a_plan_that_is_killed_loses_no_config_that_it_has_resolved(plan: Plan, tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
import stub_grid
from madrl.grid.cells import filters_of, sweep
from madrl.grid.plan import Plan, make_plan

def held(recipe):
    if recipe.divergence == "rkl":
        time.sleep(1000)
    return stub_grid.compose(recipe)
make_plan(Plan(Path(sys.argv[1]), "tiny"), sweep(filters_of(sys.argv[2:])), held)
"""
    words = ["task=math", "form=add70", "target=peak", "seed=42"]
    environment = os.environ | {"PYTHONPATH": f"{Path(stub_grid.__file__).parent}:{os.environ.get('PYTHONPATH', '')}"}
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), *words], env=environment)
    file = tmp_path / "grid" / "configs.json"
    while not file.exists() or len(json.loads(file.read_text())) < 2:
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not plan.file.exists()
    asked: list[str] = []

    def compose(recipe: Recipe) -> Mapping[str, Any]:
        asked.append(recipe.divergence)
        return stub_grid.compose(recipe)

    make_plan(plan, sweep(filters_of(words)), compose)
    assert asked == ["rkl", "jsd"], "l2 and fkl were there already"


def test_the_code_that_counts_is_what_training_imports() -> None:
    modules = set(imported_by(source.OF_A_RUN, without=source.ONLY_WATCHING))
    assert {
        "madrl.reward",
        "madrl.divergence",
        "madrl.grading.math_answers.symbolic",
        "madrl.grading.languages.language",
    } <= modules
    assert not {
        name for name in modules if name.startswith(("madrl.grid", "madrl.cli", "madrl.commands", "madrl.report"))
    }
    assert not modules & {"madrl.run_folder", "madrl.trainer.launch", "madrl.evaluation.metrics"}, "they only watch"
    assert "madrl.miniature.model" in imported_by(source.MINIATURE)


def test_the_hash_of_a_config_is_that_of_what_it_decides(plan: Plan) -> None:
    def hash_of(config: Mapping[str, Any]) -> str:
        return config_facts(config, plan.recipe(CELLS[0]))[0]

    trainer = {"total_training_steps": 40, "logger": ["file"], "device": "cpu"}
    config = {"trainer": trainer, "ray_kwargs": {"num_cpus": 1}}
    assert config_facts(config, plan.recipe(CELLS[0]))[1] == 40
    assert hash_of(config) == hash_of({"trainer": trainer | {"logger": ["file", "wandb"]}, "ray_kwargs": {}})
    assert hash_of(config) != hash_of({"trainer": trainer | {"device": "cuda"}})
    # What is done when the first batch looks bad changes nothing of what a run is that goes on.
    stops, warns = ({"madrl": {"launch_check": check}, "trainer": trainer} for check in ("stop", "warn"))
    assert hash_of(stops) == hash_of(warns)


def test_a_recipe_s_config_is_verl_s_own_checked(plan: Plan) -> None:
    rkl, jsd = (placeless(plan.recipe(cell)) for cell in (CELLS[0], CELLS[0]._replace(divergence="jsd")))
    facts = [config_facts(composed(recipe), recipe) for recipe in (rkl, rkl, jsd)]
    assert facts[0] == facts[1] != facts[2]
    assert facts[0][1] == 60
    with pytest.raises(MadrlError, match="total_trainin_steps"):
        composed(replace(rkl, overrides=("trainer.total_trainin_steps=3",)))
    start = placeless(Plan(plan.out).recipe(warm_start_cell("math")))
    assert config_facts(composed(start), start)[1] is None
    split = replace(start, overrides=(*start.overrides, "++warm_start.tensor_model_parallel_size=2"))
    assert config_facts(composed(split), split) == config_facts(composed(start), start)
    with pytest.raises(MadrlError, match=r"optim\.rate"):
        composed(replace(start, overrides=("++sft.optim.rate=1",)))


def test_a_cell_is_named_after_the_warm_start_that_it_waits_for(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(Plan(plan.out), "1111")
    plan = make_plan(Plan(plan.out), CELLS, stub_grid.compose)
    start, first, second = identities(plan)
    assert start.run_name.startswith("math_warm_start_seed42_gpu-")
    assert start.waits_for is None
    assert first.waits_for == second.waits_for == first.parts["model"] == start.run_name
    # As it stands alone, and after a change of what makes it.
    assert identities(plan, CELLS[:1]) == [first]
    monkeypatch.setattr(identity, "code_hash", lambda *roots: f"other code of {roots}")
    other = identities(plan, CELLS[:1])[0]
    assert other.waits_for != start.run_name
    assert other.run_name != first.run_name
    # A model that is named needs none.
    named = make_plan(replace(plan, models={"math": "hub/mine"}), CELLS, stub_grid.compose)
    assert identities(named)[0].waits_for is None
