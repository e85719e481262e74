"""The paper's grid as data, sweeps of one's own, and the recipe that a cell becomes."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import stub_grid

from madrl import tasks
from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grid.cells import FORMS, Cell, filters_of, select, sweep, warm_start_cell
from madrl.grid.identity import identities
from madrl.grid.plan import Plan, load_plan, make_plan, models_of, placeless
from madrl.grid.source import OF_A_RUN, code_hash, plugins_of


def test_the_paper_s_grid_has_417_runs_123_on_each_real_task() -> None:
    counts = Counter(cell.task for cell in sweep())
    assert counts == {"gsm8k": 123, "math": 123, "code_contests": 123, "synthetic_closed": 24, "synthetic_open": 24}
    assert counts.total() == 417
    assert len({cell.name for cell in sweep()}) == 417
    # 4 divergences x 5 forms x 2 targets x 3 seeds, and rlvr x 3 seeds
    math = Counter(cell.form for cell in sweep() if cell.task == "math")
    assert math == {"gated": 24, "add90": 24, "add80": 24, "add70": 24, "add55": 24, "rlvr": 3}


def asked(*words: str) -> list[Cell]:
    return sweep(filters_of(words))


def test_filters_name_a_part_of_the_grid() -> None:
    # rlvr x 3 seeds, and 4 divergences x 2 targets x 3 seeds
    assert len(asked("task=math", "form=rlvr,add70")) == 27
    assert [cell.name for cell in asked("task=math", "form=add55", "target=peak", "seed=42")] == [
        f"math_peak_{divergence}_add55_seed42" for divergence in ("l2", "fkl", "rkl", "jsd")
    ]
    assert not any(cell.form == "rlvr" for cell in asked("target=peak,uniform"))


def test_a_sweep_takes_any_seeds_and_a_filter_only_those_that_are_planned() -> None:
    cells = asked("task=gsm8k", "form=rlvr", "seed=7,1,7")
    assert [cell.seed for cell in cells] == [7, 1]
    with pytest.raises(MadrlError, match="no cell has seed=42: there are 1, 7"):
        select(cells, filters_of(["seed=42"]))
    assert [cell.seed for cell in select(asked("task=gsm8k", "form=rlvr", "seed=0,1"), filters_of(["seed=0"]))] == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("divergence=kl", "no cell has divergence=kl: there are fkl, jsd, l2, rkl"),
        ("task=maths", "no cell has task=maths: there are code_contests, gsm8k"),
        ("seed=first", "seed=first is not a whole number"),
        ("colour=red", "'colour=red' is not FIELD=VALUE"),
        ("math", "'math' is not FIELD=VALUE"),
        ("seed=1 seed=2", "filter seed= is there twice: write its values with commas, seed=A,B"),
    ],
)
def test_a_filter_that_can_select_nothing_is_an_error(text: str, said: str) -> None:
    with pytest.raises(MadrlError, match=re.escape(said)):
        asked(*text.split())
    with pytest.raises(MadrlError, match="no cell of the grid passes all filters"):
        asked("task=math", "form=alone")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("task=math", "--override", "seed=5"), "every cell has a seed of its own"),
        (("task=math", "--override", "++paths.run=/one"), "every cell has a paths.run of its own"),
        (
            ("task=math", "--override", "madrl.reward={form: gated}"),
            "every cell has a madrl.reward.divergence of its own",
        ),
        (("task=math", "--override", "++madrl={target: {en: 1}}"), "every cell has a madrl.target of its own"),
        (("task=math", "--override", "paths.model=/one"), "paths.model=/one is no override of a recipe"),
        (("task=math,math", "seed=1"), "two tasks of one name would share"),
    ],
)
def test_a_plan_whose_cells_could_not_run_or_would_be_one_run_is_not_written(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grid", "plan", "form=rlvr", *options, "-o", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "grid").exists()


def test_a_plan_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    models = models_of(["hub/model", f"math={tmp_path}"])
    plan = stub_grid.planned(Plan(tmp_path, "tiny", models, ["trainer.n_gpus_per_node=4"]))
    assert len(plan.cells) == 417
    assert load_plan(tmp_path) == plan
    assert (models["math"], models["gsm8k"]) == (str(tmp_path), "hub/model")
    with pytest.raises(MadrlError, match="has no grid: declare one"):
        load_plan(tmp_path / "elsewhere")
    plan.file.write_text(plan.file.read_text()[:99])
    with pytest.raises(MadrlError, match=r"plan.json is damaged, no JSON"):
        load_plan(tmp_path)
    with pytest.raises(MadrlError, match=r"^model /nowhere does not exist"):
        models_of(["/nowhere"])
    with pytest.raises(MadrlError, match=r"^--model gsmk=/x: there is no task 'gsmk' here: use one of .*gsm8k"):
        models_of(["gsmk=/x"])
    (tmp_path / "a=b").mkdir()
    assert models_of([f"{tmp_path}/a=b"])["math"] == f"{tmp_path}/a=b"


def test_a_cell_s_recipe_has_its_fields_and_the_plan_s(tmp_path: Path) -> None:
    recipe = Plan(tmp_path, "tiny", {"math": "/a/model"}, ["a=b"]).recipe(Cell("math", "gated", "peak", "jsd", 123))
    assert (recipe.target, recipe.divergence, recipe.form, recipe.alpha, recipe.seed) == (
        "peak",
        "jsd",
        "gated",
        "",
        123,
    )
    assert (recipe.profile, recipe.model, recipe.overrides, recipe.out) == ("tiny", "/a/model", ("a=b",), tmp_path)
    plan = Plan(tmp_path)
    assert plan.recipe(Cell("math", "add55", "uniform", "l2", 42)).alpha == "0.55"
    # As in recipes/math_rlvr.sh.
    rlvr = plan.recipe(Cell("math", "rlvr", None, None, 42))
    assert (rlvr.target, rlvr.divergence, rlvr.form) == ("uniform", "rkl", "rlvr")
    assert plan.recipe(Cell("synthetic_open", "alone", "peak", "l2", 42)).alpha == "0.0"


def test_the_recipe_that_is_resolved_is_the_cell_s_but_for_its_place_and_seed(tmp_path: Path) -> None:
    cell = Cell("math", "gated", "peak", "jsd", 123)
    for models in ({}, {"math": "/a/model"}, {"math": "base"}):
        for profile in ("gpu", "tiny"):
            recipe = Plan(tmp_path, profile, models, ["trainer.n_gpus_per_node=4"]).recipe(cell)
            runs = dict(override.split("=", 1) for override in recipe.hydra_overrides())
            hashed = dict(override.split("=", 1) for override in placeless(recipe).hydra_overrides())
            differing = {key for key in runs if runs[key] != hashed[key]}
            named = not recipe.initial_model.startswith(("/", str(tmp_path)))
            expected = {"seed", "paths.run", "paths.data", "paths.model", "trainer.experiment_name"}
            assert differing == expected - ({"paths.model"} if named else set())
            assert runs.keys() == hashed.keys()


def test_the_cells_of_a_task_wait_for_its_warm_start_where_their_recipe_would_make_one(tmp_path: Path) -> None:
    cells = asked("task=gsm8k,synthetic_open", "form=rlvr,alone", "target=uniform")
    cells = [*cells, *asked("task=gsm8k", "form=rlvr")]

    def starts(plan: Plan) -> list[Cell]:
        return [cell for cell in make_plan(plan, cells, stub_grid.compose).cells if cell.is_warm_start]

    plan = Plan(tmp_path, "gpu")
    assert starts(plan) == [warm_start_cell("gsm8k")]
    assert plan.recipe(warm_start_cell("gsm8k")).is_warm_start
    for other in (Plan(tmp_path, "tiny"), *(replace(plan, models={"gsm8k": model}) for model in ("hub/mine", "base"))):
        assert starts(other) == []


def test_a_plan_declares_each_warm_start_once_and_a_filter_keeps_the_one_that_is_waited_for(tmp_path: Path) -> None:
    plan = stub_grid.planned(Plan(tmp_path), "task=math,gsm8k", "form=add70,rlvr")
    assert len(plan.cells) == 54 + 2
    assert Counter(cell.task for cell in plan.cells if cell.is_warm_start) == {"math": 1, "gsm8k": 1}
    chosen = select(plan.cells, filters_of(["task=math", "target=peak", "seed=123"]))
    assert [cell.name for cell in chosen if cell.is_warm_start] == ["math_warm_start_seed42"]
    assert len(chosen) == 1 + 4
    assert {cell.name for cell in select(plan.cells, filters_of(["form=warm_start"]))} == {
        "gsm8k_warm_start_seed42",
        "math_warm_start_seed42",
    }


def write_task(folder: Path) -> Path:
    """A task of the user's own, with a classifier beside it."""
    folder.mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "data" / "train.parquet").write_bytes(b"rows")
    (folder / "own_grid_plugin.py").write_text("def classify(text):\n    return 'a'\n")
    task = {
        "categories": ["a", "b"],
        "classifier": "own_grid_plugin:classify",
        "verifier": "math",
        "naming": "language",
        "data": "data",
    }
    (folder / "poems.yaml").write_text(json.dumps(task))
    return folder / "poems.yaml"


def test_a_task_of_one_s_own_is_swept_as_the_paper_s_are(tmp_path: Path) -> None:
    file = write_task(tmp_path / "mine")
    assert len(sweep({"task": ["poems"]}, ["poems"])) == 123
    assert len(sweep({"task": ["poems"], "form": ["alone"], "seed": ["1"]}, ["poems"])) == 8
    plan = stub_grid.planned(Plan(tmp_path / "out", own_tasks={"poems": str(file)}), "task=math", "form=rlvr")
    cells = sweep({"task": ["poems"], "form": ["add70"], "seed": ["1"], "target": ["peak"]}, ["poems"])
    plan = make_plan(plan, cells, stub_grid.compose)
    assert len(plan.cells) == 1 + 4, "its warm start, and four divergences"
    recipe = load_plan(tmp_path / "out").recipe(cells[0])
    assert (recipe.task, recipe.record.name, recipe.data) == (str(file), "poems", tmp_path / "mine" / "data")
    # Another task file is another config.
    plan.check_current()
    file.write_text(file.read_text().replace('"math"', '"exact"'))
    with pytest.raises(MadrlError, match="changed since 5 of 5 cells were planned: call madrl grid plan"):
        load_plan(tmp_path / "out").check_current()


def test_a_run_of_a_task_of_one_s_own_is_named_after_its_code_and_not_its_place(tmp_path: Path) -> None:
    cells = sweep({"task": ["poems"], "form": ["rlvr"], "seed": ["1"]}, ["poems"])

    def run_names(place: str) -> list[str]:
        tasks._modules.clear()  # as in a process of its own
        plan = Plan(tmp_path / "out" / place, own_tasks={"poems": str(write_task(tmp_path / place))})
        plan = make_plan(plan, cells, stub_grid.compose)
        assert plugins_of(plan.recipe(cells[0])) == ("own_grid_plugin",)
        return [found.run_name for found in identities(plan)]

    assert run_names("here") == run_names("there")
    assert code_hash(OF_A_RUN, ("own_grid_plugin",)) != code_hash(OF_A_RUN)
    other = Plan(tmp_path, overrides=["madrl.classifier=prose_or:verse", "+madrl.verifier=math"])
    assert plugins_of(other.recipe(Cell("math", "rlvr", None, None, 1))) == ("prose_or",)


def test_every_form_has_the_weight_of_its_name() -> None:
    assert {name: fields.get("alpha") for name, fields in FORMS.items() if name.startswith("add")} == {
        "add90": "0.9",
        "add80": "0.8",
        "add70": "0.7",
        "add55": "0.55",
    }
