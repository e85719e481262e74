"""The paper's grid as data, and what a cell becomes: a recipe's variables, and the config that follows from them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid.cells import FORMS, Cell, paper_grid, select, warm_start_cell
from madrl.grid.composed import overrides_of
from madrl.grid.identity import Identity
from madrl.grid.plan import Plan, load_plan, models_of
from madrl.grid.supervise import command_of, variables_of
from madrl.recipe import recipe_of


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
    for models in ({}, {cell.task: "/a/model"}, {cell.task: "base"}):
        if profile == "tiny" and "base" in models.values() and cell.task.startswith("synthetic"):
            continue  # there is none
        plan = Plan(tmp_path, (cell,), profile, models, ("trainer.n_gpus_per_node=4",))
        # What a process that runs the cell makes of its command line and variables.
        identity = Identity(cell, cell.name, {}, None)
        run, task, *words = command_of(plan, cell)[3:]
        recipe = recipe_of([task, *words], variables_of(plan, identity))
        assert run == "run"
        named = dict(override.split("=", 1) for override in recipe.hydra_overrides())
        command, *overrides = overrides_of(plan, cell)
        hashed = dict(override.split("=", 1) for override in overrides)
        assert command == "train"
        # Only what says where the run lies, and which seed it has, is another.
        own = {"paths.run", "paths.data", "trainer.experiment_name", "seed", "paths.model", "data.val_files"}
        assert {key for key in named if named[key] != hashed[key]} <= own
        assert named.keys() == hashed.keys()
        assert (hashed["paths.run"], hashed["seed"]) == ("'/out/cell'", "0")
        assert hashed["paths.data"].startswith("'/out/data/")
        assert str(tmp_path) not in " ".join(overrides)
        if models:
            assert (hashed["paths.model"] == "'/model'") == ("base" not in models.values())


def test_the_cells_of_a_real_task_on_gpus_wait_for_its_warm_start_unless_a_model_is_named(tmp_path: Path) -> None:
    cells = tuple(select(paper_grid(), ["task=gsm8k,synthetic_open", "seed=42", "target=peak"]))
    plan = Plan(tmp_path, cells, "gpu", {})
    assert plan.has_warm_start("gsm8k")
    assert not plan.has_warm_start("synthetic_open")
    for other in (
        Plan(tmp_path, cells, "tiny", {}),
        Plan(tmp_path, cells, "gpu", {"gsm8k": "hub/mine"}),
        Plan(tmp_path, cells, "gpu", {"gsm8k": "base"}),
        Plan(tmp_path, cells, "gpu", {}, command=("true",)),
    ):
        assert not other.has_warm_start("gsm8k")
    assert command_of(plan, warm_start_cell("gsm8k"))[-3:] == ["run", "gsm8k", "warm_start"]
    command, *overrides = overrides_of(plan, warm_start_cell("gsm8k"))
    assert command == "warm-start"
    assert "paths.model='Qwen/Qwen3-4B-Instruct-2507'" in overrides


def test_a_plan_declares_each_warm_start_once_and_a_filter_keeps_the_one_that_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grid", "plan", "task=math,gsm8k", "form=add70,rlvr", "-o", str(tmp_path)]) == 0
    assert "54 cells and 2 warm starts, for which they wait" in capsys.readouterr().out
    plan = load_plan(tmp_path)
    assert Counter(cell.task for cell in plan.cells if cell.is_warm_start) == {"math": 1, "gsm8k": 1}
    chosen = select(plan.cells, ["task=math", "target=peak", "seed=123"])
    assert [cell.name for cell in chosen if cell.is_warm_start] == ["math_warm_start_seed42"]
    assert len(chosen) == 1 + 4
    assert [cell.name for cell in select(plan.cells, ["form=warm_start"])] == [
        "gsm8k_warm_start_seed42",
        "math_warm_start_seed42",
    ]


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
