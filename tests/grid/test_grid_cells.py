"""The paper's grid as data, and what a cell becomes: a recipe's variables, and the config that follows from them."""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid.cells import FORMS, Cell, paper_grid, select
from madrl.grid.composed import OWN_KEYS, overrides_of
from madrl.grid.identity import builds_miniature, data_folder
from madrl.grid.plan import RECIPE, Plan, load_plan, models_of
from madrl.grid.supervise import variables_of


def test_the_paper_s_grid_has_417_runs_123_on_each_real_task() -> None:
    counts = Counter(cell.task for cell in paper_grid())
    assert counts == {"gsm8k": 123, "math": 123, "code_contests": 123, "synthetic_closed": 24, "synthetic_open": 24}
    assert counts.total() == 417
    assert len({cell.name for cell in paper_grid()}) == 417
    # 4 divergences x 5 forms x 2 targets x 3 seeds, and rlvr x 3 seeds
    math = Counter(cell.form for cell in paper_grid() if cell.task == "math")
    assert math == {"gated": 24, "add90": 24, "add80": 24, "add70": 24, "add55": 24, "rlvr": 3}


def test_filters_name_a_part_of_the_grid() -> None:
    # rlvr x 3 seeds, and 4 divergences x 2 targets x 3 seeds
    assert len(select(paper_grid(), ["task=math", "form=rlvr,add70"])) == 27
    assert [cell.name for cell in select(paper_grid(), ["task=math", "form=add55", "target=peak", "seed=42"])] == [
        f"math_peak_{divergence}_add55_seed42" for divergence in ("l2", "fkl", "rkl", "jsd")
    ]
    assert not any(cell.form == "rlvr" for cell in select(paper_grid(), ["target=peak,uniform"]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("divergence=kl", "no cell has divergence=kl: there are fkl, jsd, l2, rkl"),
        ("colour=red", "'colour=red' is not FIELD=VALUE"),
        ("math", "'math' is not FIELD=VALUE"),
    ],
)
def test_a_filter_that_can_select_nothing_is_an_error(text: str, said: str) -> None:
    with pytest.raises(MadrlError, match=re.escape(said)):
        select(paper_grid(), [text])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--override", "seed=5"), "every cell has a seed of its own"),
        (("--override", "++paths.run=/one"), "every cell has a paths.run of its own"),
        (("--command", ""), "--command is empty"),
        (("--command", "bash 'mine.sh"), "no command of a shell: No closing quotation"),
    ],
)
def test_a_plan_whose_cells_could_not_run_or_would_be_one_run_is_not_written(
    options: tuple[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grid", "plan", "task=math", "form=rlvr", *options, "-o", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "grid").exists()


def test_a_plan_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    models = models_of(["hub/model", f"math={tmp_path}"])
    plan = Plan(tmp_path, tuple(paper_grid()), "tiny", models, ("trainer.n_gpus_per_node=4",), ("bash", "mine.sh"))
    plan.save()
    assert load_plan(tmp_path) == plan
    assert (models["math"], models["gsm8k"]) == (str(tmp_path), "hub/model")
    with pytest.raises(MadrlError, match="has no grid: declare one"):
        load_plan(tmp_path / "elsewhere")


KINDS = [
    Cell("math", "gated", "peak", "jsd", 123),
    Cell("math", "rlvr", None, None, 200),
    Cell("code_contests", "add55", "uniform", "l2", 42),
    Cell("synthetic_open", "alone", "uniform", "fkl", 42),
]


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
@pytest.mark.parametrize("cell", KINDS, ids=lambda cell: cell.name)
def test_the_config_that_is_hashed_is_the_one_that_the_recipe_trains_with(
    cell: Cell, profile: str, tmp_path: Path
) -> None:
    for models in ({}, {cell.task: "/a/model"}):
        plan = Plan(tmp_path, (cell,), profile, models, ("trainer.n_gpus_per_node=4",))
        named = trained_with(plan, cell)
        # Only what says where the run lies, and which seed it has, is another.
        own = {
            "paths.run": (f"'{tmp_path}/the_run'", "'/run'"),
            "paths.data": (f"'{data_folder(plan, cell.task)}'", "'/data'"),
            "trainer.experiment_name": ("the_run", "cell"),
            "seed": (str(cell.seed), "0"),
        }
        if profile == "tiny" or models:
            built = f"{tmp_path}/models/{cell.task}/model"
            assert builds_miniature(plan, cell.task) == (not models)
            own["paths.model"] = (f"'{models.get(cell.task, built)}'", "'/model'")
        if profile == "tiny" and cell.task.startswith("synthetic"):
            probe = "train_probe.parquet"
            own["data.val_files"] = (f"'{data_folder(plan, cell.task)}/{probe}'", f"'/data/{probe}'")
        hashed = dict(override.split("=", 1) for override in overrides_of(plan, cell))
        assert {key: (named[key], hashed[key]) for key in own} == own
        assert set(own) - {"paths.model", "data.val_files"} <= set(OWN_KEYS)
        assert named | {key: fixed for key, (_, fixed) in own.items()} == hashed


def trained_with(plan: Plan, cell: Cell) -> dict[str, str]:
    """What recipes/body.sh passes to ``madrl train`` for the cell: in an environment whose madrl only writes that
    down."""
    venv = plan.out / "venv"
    (venv / "bin").mkdir(parents=True, exist_ok=True)
    script = venv / "bin" / "madrl"
    script.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" >{plan.out}/arguments\n')
    script.chmod(0o755)
    stamp = (
        "{ echo cpu; cat pyproject.toml recipes/requirements-cpu.txt recipes/install.sh; } | sha256sum | cut -d' ' -f1"
    )
    installed = subprocess.run(["bash", "-c", stamp], cwd=RECIPE.parents[1], capture_output=True, check=True)
    (venv / ".madrl-stack").write_bytes(installed.stdout)
    environment = {"PATH": os.environ["PATH"], "DRY_RUN": "1", "STACK": "cpu", "VENV": str(venv)}
    subprocess.run(
        ["bash", str(RECIPE), *plan.overrides], env=environment | variables_of(plan, cell, "the_run"), check=True
    )
    train, dry, *overrides = (plan.out / "arguments").read_text().splitlines()
    assert (train, dry) == ("train", "--dry-run")
    return dict(override.split("=", 1) for override in overrides)


def test_every_form_has_the_variables_of_its_name() -> None:
    assert {name: variables.get("ALPHA") for name, variables in FORMS.items() if name.startswith("add")} == {
        "add90": "0.9",
        "add80": "0.8",
        "add70": "0.7",
        "add55": "0.55",
    }
    # As in recipes/math_rlvr.sh.
    assert Cell("math", "rlvr", None, None, 42).variables() == {
        "TASK": "math",
        "TARGET": "uniform",
        "DIVERGENCE": "rkl",
        "FORM": "rlvr",
        "SEED": "42",
    }
