"""A cell's folder is named after everything that decides its outcome, and after nothing else."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grid import composed, identity, source
from madrl.grid.cells import Cell, warm_start_cell
from madrl.grid.composed import Config, hash_of, overrides_of
from madrl.grid.identity import check_unchanged, identities, shared_recipe
from madrl.grid.plan import Plan
from madrl.source import imported_by

CELLS = (Cell("math", "add70", "peak", "rkl", 42), Cell("math", "add70", "peak", "rkl", 123))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan whose data are there."""
    plan = Plan(tmp_path, CELLS, "tiny", {})
    write_data(plan, "1111")
    return plan


@pytest.fixture(autouse=True)
def config(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configs without importing veRL: a hash of the overrides."""
    monkeypatch.setattr(composed, "_compose_in_child", lambda missing: {k: Config(f"config {k}", 40) for k in missing})


def write_data(plan: Plan, sha256: str) -> None:
    folder = shared_recipe(plan, "math").data
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"madrl_version": "any", "files": {"train.parquet": {"sha256": sha256}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def names(plan: Plan) -> list[str]:
    return [found.run_name for found in identities(plan, plan.cells)]


def write_model(folder: Path, weights: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
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
    seen.append(names(replace(plan, overrides=("trainer.total_training_steps=2",)))[0])
    model = write_model(tmp_path / "model", b"one")
    seen.append(names(replace(plan, models={"math": model}))[0])
    write_model(tmp_path / "model", b"two")
    seen.append(names(replace(plan, models={"math": model}))[0])
    write_data(plan, "2222")
    seen.append(names(plan)[0])
    monkeypatch.setattr(identity, "code_hash", lambda roots: "other code")
    seen.append(names(plan)[0])
    assert len(set(seen)) == len(seen) == 6


def test_neither_the_place_nor_the_manifest_s_other_facts_matter(plan: Plan, tmp_path: Path) -> None:
    elsewhere = replace(plan, out=tmp_path / "elsewhere")
    write_data(elsewhere, "1111")
    assert names(elsewhere) == names(plan)
    manifest = shared_recipe(plan, "math").data / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"madrl_version": "9.9"}))
    assert names(elsewhere) == names(plan)


def test_a_model_that_does_not_exist_is_an_error(plan: Plan) -> None:
    with pytest.raises(MadrlError, match="/nowhere does not exist"):
        names(replace(plan, models={"math": "/nowhere"}))


def test_a_manifest_that_is_just_being_replaced_is_waited_for(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared_recipe(plan, "math").data
    before = names(plan)
    content = (folder / "manifest.json").read_text()
    (folder / "manifest.json").unlink()
    monkeypatch.setattr(
        "madrl.grid.identity.time.sleep", lambda seconds: (folder / "manifest.json").write_text(content)
    )
    with locked(folder / ".lock", "busy"):
        assert names(plan) == before
    (folder / "manifest.json").unlink()
    assert [found.parts["data"] for found in identities(plan, plan.cells)] == [None, None]


def test_a_cell_whose_code_has_changed_since_is_not_run_under_its_old_name(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found, _) = identities(plan, plan.cells)
    check_unchanged(plan, found.parts)
    with pytest.raises(MadrlError, match="config changed since this cell was planned"):
        check_unchanged(replace(plan, overrides=("trainer.total_training_steps=2",)), found.parts)
    monkeypatch.setattr(identity, "code_hash", lambda roots: "other code")
    with pytest.raises(MadrlError, match="code, model changed since"):
        check_unchanged(plan, found.parts)


def test_configs_are_composed_once_and_again_when_a_config_file_has_changed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def compose(missing: dict[str, Any]) -> dict[str, Config]:
        asked.append(len(missing))
        return {key: Config(key, 40) for key in missing}

    monkeypatch.setattr(composed, "_compose_in_child", compose)
    names(plan), names(plan)
    assert asked == [1], "the seeds of a setting share a config, and the second call asks for none"
    monkeypatch.setattr(composed, "config_state", lambda: "a yaml file has changed")
    names(plan)
    assert asked == [1, 1]


def test_the_code_that_counts_is_what_training_imports() -> None:
    modules = set(imported_by(source.OF_A_RUN, without=source.ONLY_WATCHING))
    assert {
        "madrl.reward",
        "madrl.divergence",
        "madrl.grading.math_answers.symbolic",
        "madrl.grading.languages.language",
    } <= modules
    assert not {name for name in modules if name.startswith(("madrl.grid", "madrl.cli", "madrl.report"))}
    assert not modules & {"madrl.run_folder", "madrl.trainer.launch", "madrl.evaluation.metrics"}, "they only watch"
    assert "madrl.miniature.model" in imported_by(source.MINIATURE)


def test_the_hash_of_a_config_is_that_of_what_it_decides() -> None:
    trainer = {"total_training_steps": 40, "logger": ["file"], "device": "cpu"}
    found = hash_of({"trainer": trainer, "ray_kwargs": {"num_cpus": 1}})
    assert found == hash_of({"trainer": trainer | {"logger": ["file", "wandb"]}, "ray_kwargs": {}})
    assert found.steps == 40
    assert found.sha256 != hash_of({"trainer": trainer | {"device": "cuda"}}).sha256
    # What is done when the first batch looks bad changes nothing of what a run is that goes on.
    stops, warns = ({"madrl": {"launch_check": check}, "trainer": trainer} for check in ("stop", "warn"))
    assert hash_of(stops) == hash_of(warns)


def test_the_child_answers_each_line_with_verl_s_own_resolved_config(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rkl, jsd = (overrides_of(plan, replace(CELLS[0], divergence=name)) for name in ("rkl", "jsd"))
    gpus = replace(plan, profile="gpu")
    warm_start = overrides_of(gpus, warm_start_cell("math"))
    asked = [rkl, jsd, rkl, [*rkl, "trainer.total_trainin_steps=3"], warm_start, [*warm_start, "++sft.optim.rate=1"]]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(overrides) + "\n" for overrides in asked)))
    composed.main()
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert answers[0] == answers[2] != answers[1]
    assert answers[0]["steps"] == 60
    assert "total_trainin_steps" in answers[3]["error"]
    assert answers[4]["steps"] is None
    assert "optim.rate" in answers[5]["error"]


def test_a_cell_is_named_after_the_warm_start_that_it_waits_for(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(plan, profile="gpu")
    write_data(plan, "1111")
    start, first, second = identities(plan, [warm_start_cell("math"), *plan.cells])
    assert start.run_name.startswith("math_warm_start_seed42_gpu-")
    assert start.waits_for is None
    assert first.waits_for == second.waits_for == first.parts["model"] == start.run_name
    # As it stands alone, and after a change of what makes it.
    assert identities(plan, plan.cells[:1]) == [first]
    monkeypatch.setattr(identity, "code_hash", lambda roots: f"other code of {roots}")
    other = identities(plan, plan.cells[:1])[0]
    assert other.waits_for != start.run_name
    assert other.run_name != first.run_name
    # A model that is named needs none.
    assert identities(replace(plan, models={"math": "hub/mine"}), plan.cells[:1])[0].waits_for is None
