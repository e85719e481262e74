"""The miniatures' problems and solutions, before the classifiers and verifiers that training uses."""

import json
import random
from pathlib import Path

import pytest
from prepared_data import read_rows

from data_prep import miniature
from madrl.grading.classifiers import load_classifier
from madrl.grading.verifiers import load_verifier
from madrl.miniature import arithmetic, programs
from madrl.miniature.tasks import MINIATURES
from madrl.rollout import Rollout, Verdict
from madrl.schema import check_parquet
from madrl.tasks import LANGUAGES, PROGRAMMING_LANGUAGES, TASKS

GENERATED = [name for name, task in TASKS.items() if task.miniature_script]

SPLITS = ("train", "selection", "validation", "holdout")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each task."""
    base: Path = tmp_path_factory.mktemp("miniature")
    for task in GENERATED:
        assert miniature.main(["--task", task, "--local_save_dir", str(base / task)]) == 0
    return base


@pytest.mark.parametrize("style", ["gsm8k", "math"])
async def test_every_solution_is_correct_and_in_its_language(style: str) -> None:
    rng = random.Random(1)
    classify, verify = load_classifier("language"), load_verifier("math")
    for _ in range(100):
        problem = arithmetic.problem(style, rng)
        for language in LANGUAGES:
            rollout = Rollout(arithmetic.solution(problem, language, rng), str(problem.answer))
            assert classify(rollout).category == language, rollout.response
            assert (await verify(rollout)).verdict is Verdict.CORRECT


def test_an_arithmetic_problem_worked_by_hand() -> None:
    problem = arithmetic.ArithmeticProblem("gsm8k", "", "apples", (7, 5, 9), ("+", "-"))
    assert (problem.values, problem.answer) == ([7, 12, 3], 3)  # 7 + 5 = 12, 12 - 9 = 3


def test_every_program_is_in_its_language() -> None:
    rng = random.Random(1)
    classify = load_classifier("programming_language")
    for problem in programs.problems():
        for language in PROGRAMMING_LANGUAGES:
            assert classify(Rollout(programs.solution(problem, language, rng), "")).category == language


def test_a_program_problem_worked_by_hand() -> None:
    made = programs.ProgrammingProblem("the product minus the sum", "")
    assert made.answer(7, -4) == -31  # -28 - 7 + 4
    assert programs.tests(made, 1, random.Random(0))[0]["output"].endswith("\n")


@pytest.mark.parametrize("task", GENERATED)
def test_the_miniature_has_the_files_of_the_real_dataset(prepared: Path, task: str) -> None:
    for split in SPLITS:
        check_parquet(prepared / task / f"{split}.parquet")
    manifest = json.loads((prepared / task / "manifest.json").read_text())
    assert manifest["dataset"] == f"{task}_miniature"


@pytest.mark.parametrize("task", ["gsm8k", "math"])
def test_no_calculation_is_in_two_splits_nor_in_the_warm_start_s_examples(prepared: Path, task: str) -> None:
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        made = [json.loads(row["extra_info"]["miniature"]) for row in read_rows(prepared / task, split)]
        seen[split] = {json.dumps([problem["terms"], problem["operations"]]) for problem in made}
        assert {arithmetic.split_of(arithmetic.ArithmeticProblem(**problem)) for problem in made} == {split}
    for split in SPLITS:
        assert all(not seen[split] & seen[other] for other in SPLITS if other != split)
    rows = read_rows(prepared / task, "train")
    held_out = {row["prompt"][0]["content"] for split in SPLITS[1:] for row in read_rows(prepared / task, split)}
    assert not held_out & {prompt for prompt, _ in MINIATURES[task].draw(rows, 1)[:5000]}


def test_the_programs_tests_are_one_file_a_problem(prepared: Path) -> None:
    for row in read_rows(prepared / "code_contests", "train"):
        file = Path(json.loads(row["reward_model"]["ground_truth"])["tests_file"])
        problem = programs.ProgrammingProblem(**json.loads(row["extra_info"]["miniature"]))
        for test in json.loads(file.read_text())["tests"]:
            first, second = map(int, test["input"].split())
            assert int(test["output"]) == problem.answer(first, second)


def test_the_same_seed_gives_the_same_bytes(prepared: Path, tmp_path: Path) -> None:
    assert miniature.main(["--task", "gsm8k", "--local_save_dir", str(tmp_path)]) == 0
    for split in SPLITS:
        name = f"{split}.parquet"
        assert (tmp_path / name).read_bytes() == (prepared / "gsm8k" / name).read_bytes()
