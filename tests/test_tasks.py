"""A task of the user's own: what its file may hold, and one clear line for what it may not."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from madrl.errors import MadrlError
from madrl.prompts import NAMINGS, load_naming
from madrl.tasks import DEFAULT_SIZES, LANGUAGES, TASKS, load_task

OWN = {"categories": ["a", "b"], "classifier": "mine:classify", "verifier": "mine:verify", "data": "rows"}


def written(folder: Path, **changed: Any) -> str:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump({**OWN, **changed}), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task file adds to the places where modules are found is taken back."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))


def test_a_task_of_the_paper_is_named_and_any_other_is_a_file(tmp_path: Path) -> None:
    assert load_task("gsm8k") is TASKS["gsm8k"]
    task = load_task(written(tmp_path))
    assert (task.name, task.spec, task.data) == ("own", str(tmp_path / "own.yaml"), tmp_path / "rows")
    assert (task.categories, task.sizes, task.has_warm_start) == (("a", "b"), DEFAULT_SIZES, False)
    with pytest.raises(
        MadrlError, match=r"there is no task 'gsm9k': use one of gsm8k, .*, or the YAML file of your own"
    ):
        load_task("gsm9k")


def test_the_modules_beside_a_task_file_are_found_here_and_in_child_processes(tmp_path: Path) -> None:
    load_task(written(tmp_path))
    assert str(tmp_path) in sys.path
    assert str(tmp_path) in os.environ["PYTHONPATH"].split(os.pathsep)


def test_the_sizes_of_a_task_file_stand_in_for_the_usual_ones(tmp_path: Path) -> None:
    sizes = load_task(written(tmp_path, sizes={"tiny": {"steps": 3}})).sizes
    assert sizes == {**DEFAULT_SIZES, "tiny": {**DEFAULT_SIZES["tiny"], "steps": 3}}


@pytest.mark.parametrize("text", ["1e-3", "1E-3", "+.1e-2", "10e-4", "1.0e-3", "0.001"])
def test_a_number_is_one_as_on_the_command_line(tmp_path: Path, text: str) -> None:
    file = Path(written(tmp_path, sizes={"tiny": {"lr": "LR"}}, config={"a": ["LR", "e-3", "1e", "1e-3x"]}))
    file.write_text(file.read_text().replace("LR", text))
    task = load_task(str(file))
    assert task.sizes["tiny"]["lr"] == 0.001
    assert task.config == {"a": [0.001, "e-3", "1e", "1e-3x"]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"warm_started": ["tiny"]}, "warm_started names 'tiny': it takes gpu, small"),
        ({"warm_started": "gpu"}, "field 'warm_started' is 'gpu', not a list"),
        ({"categorys": ["a"]}, "unknown field 'categorys': a task has name, categories, classifier"),
        ({"verifier": None}, "field 'verifier' is not set"),
        ({"categories": []}, "field 'categories' is not set"),
        ({"data": ""}, "field 'data' is not set"),
        ({"categories": ["no", False]}, "category False is no text: write it in quotes"),
        ({"categories": "a, b"}, "field 'categories' is 'a, b', not a list"),
        ({"name": "gsm8k"}, "name 'gsm8k' is taken"),
        ({"name": "a/b"}, "name 'a/b' is taken, or has other characters"),
        ({"classifier_args": ["a"]}, r"field 'classifier_args' is \['a'\], not a mapping"),
        ({"sizes": {"cpu": {}}}, "sizes.cpu={}: write a mapping for each of gpu, small, tiny"),
        ({"sizes": {"tiny": {"step": 1}}}, "unknown size tiny.step: there are prompt_tokens, "),
        ({"sizes": {"tiny": {"steps": "many"}}}, "sizes.tiny.steps='many' is not a whole number above 0"),
        ({"sizes": {"tiny": {"steps": 0.5}}}, "sizes.tiny.steps=0.5 is not a whole number above 0"),
        ({"sizes": {"tiny": {"lr": float("inf")}}}, "sizes.tiny.lr=inf is not a number above 0"),
    ],
)
def test_a_mistake_in_a_task_file_is_one_clear_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(MadrlError, match=f"own.yaml: {said}") as refused:
        load_task(written(tmp_path, **changed))
    assert "\n" not in str(refused.value)


def test_a_size_with_an_exponent_is_a_whole_number(tmp_path: Path) -> None:
    steps = load_task(written(tmp_path, sizes={"tiny": {"steps": 1e2}})).sizes["tiny"]["steps"]
    assert (steps, type(steps)) == (100, int)


def test_a_key_that_stands_twice_in_a_task_file_is_refused_where_yaml_would_keep_the_last(tmp_path: Path) -> None:
    file = Path(written(tmp_path))
    with file.open("a") as more:
        more.write("verifier: other:verify\n")
    with pytest.raises(MadrlError, match=r"own.yaml, line \d+: 'verifier' is set for the second time: remove one of"):
        load_task(str(file))
    file = Path(written(tmp_path, config={"madrl": {"target": "TARGET"}}))
    content = file.read_text()
    file.write_text(content.replace("TARGET", "{a: 3, b: 1, a: 1}"))
    with pytest.raises(MadrlError, match=r"own.yaml, line \d+: 'a' is set for the second time: remove one of the two"):
        load_task(str(file))
    file.write_text(content.replace("TARGET", "{<<: {a: 3, b: 1}, a: 1}"))  # YAML's way to change what is merged in
    assert load_task(str(file)).config == {"madrl": {"target": {"a": 1, "b": 1}}}


def test_an_empty_node_of_a_task_file_s_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"own.yaml: config.madrl is empty: write keys below it, or leave it out$"):
        load_task(written(tmp_path, config={"madrl": None}))
    assert load_task(written(tmp_path, config={"data": {"max_samples": None}})).config == {
        "data": {"max_samples": None}
    }


def test_the_files_that_a_task_file_s_config_names_are_those_from_its_folder(tmp_path: Path) -> None:
    files = ["rows/a.parquet", "/elsewhere/b.parquet", "hdfs://rows/c.parquet", "${paths.data}/d.parquet"]
    function = {"path": "score.py", "name": "of"}
    config = {"data": {"train_files": files[0], "val_files": files}, "reward": {"custom_reward_function": function}}
    assert load_task(written(tmp_path, config=config)).config == {
        "data": {"train_files": f"{tmp_path}/rows/a.parquet", "val_files": [f"{tmp_path}/rows/a.parquet", *files[1:]]},
        "reward": {"custom_reward_function": {"path": f"{tmp_path}/score.py", "name": "of"}},
    }


def test_a_module_beside_a_task_file_does_not_stand_in_for_one_of_python_s_own(tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email" / "rows.parquet").touch()
    load_task(written(tmp_path))  # a folder without __init__.py does not
    (tmp_path / "email" / "__init__.py").touch()
    sys.path.remove(str(tmp_path))
    with pytest.raises(MadrlError, match="/email would stand in for Python's own module 'email': rename it"):
        load_task(written(tmp_path))
    (tmp_path / "email" / "__init__.py").unlink()
    (tmp_path / "numbers.py").touch()
    with pytest.raises(MadrlError, match=r"/numbers.py would stand in for Python's own module 'numbers': rename it"):
        load_task(written(tmp_path))
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("content", ["", "[1]", "a: b: c"])
def test_a_file_that_is_no_task_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "own.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(MadrlError, match=r"own\.yaml"):
        load_task(str(tmp_path / "own.yaml"))
    with pytest.raises(MadrlError, match=r"missing\.yaml: no task file can be read here"):
        load_task(str(tmp_path / "missing.yaml"))


def test_every_task_can_be_warm_started_and_the_choices_are_on_a_small_model_only() -> None:
    assert all(task.has_warm_start for task in TASKS.values())
    starting = {name for name, task in TASKS.items() if "gpu" in task.warm_started}
    assert starting == {"gsm8k", "math", "code_contests"}
    assert {task.naming for task in TASKS.values()} == {*NAMINGS}
    assert TASKS["math"].categories == LANGUAGES


def test_a_naming_is_a_name_or_a_function_of_one_s_own(tmp_path: Path) -> None:
    (tmp_path / "namings_under_test.py").write_text(
        'WORD = "x"\n\n\ndef ask(prompt, category):\n    return f"{prompt} ({category})"\n\n\n'
        'def ask_by_row(prompt, category, ground_truth):\n    return f"{prompt} ({category}: {ground_truth})"\n',
        encoding="utf-8",
    )
    load_task(written(tmp_path))
    assert load_naming("namings_under_test:ask")("Add.", "a", "5") == "Add. (a)"
    assert load_naming("namings_under_test:ask_by_row")("Add.", "a", "5") == "Add. (a: 5)"
    with pytest.raises(MadrlError, match="naming 'namings_under_test:WORD' is a str: name a function"):
        load_naming("namings_under_test:WORD")
    with pytest.raises(MadrlError, match="unknown naming 'klingon': use one of"):
        load_naming("klingon")


def test_two_tasks_with_modules_of_one_name_are_refused_and_not_mixed_up(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").touch()
    load_task(written(tmp_path / "one"))
    assert sys.path[0] == str(tmp_path / "one")
    with pytest.raises(MadrlError, match="one has a module 'mine' as well: rename one of the two"):
        load_task(written(tmp_path / "two"))
