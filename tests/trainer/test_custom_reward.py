"""reward.custom_reward_function as our verifier: what is refused, and that all who score load it as veRL does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_group_loop import WordTokenizer, arrivals
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.trainer.ppo.reward import load_reward_manager

from madrl.errors import MadrlError
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.verifiers import COMPUTE_SCORE
from madrl.rollout import Rollout
from madrl.schema import make_row
from madrl.trainer.compose import compose
from madrl.trainer.custom_reward import custom_reward_function
from madrl.trainer.group_loop import group_data
from madrl.trainer.rehearsal import rehearse
from madrl.trainer.reward_manager import GRADE, STAGE

FUNCTION = """
def compute_score(data_source, solution_str, ground_truth, extra_info, scale=1.0):
    return {"score": scale if "Indian" in solution_str else 0.0, "words": len(solution_str.split())}

async def right(data_source, solution_str, ground_truth, extra_info):
    return f"{{{ground_truth}}}" in solution_str

LIMIT = 3
"""


@pytest.fixture
def function(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FUNCTION)
    return path


def overrides(path: Path | str, *more: str, task: str = "synthetic_closed") -> list[str]:
    own = [f"reward.custom_reward_function.path={path}", "madrl.verifier=compute_score"]
    return [f"task={task}", "trainer.experiment_name=x", "madrl.target=uniform", *own, *more]


def test_verl_s_reward_manager_scores_with_the_function_and_keeps_what_else_it_found(function: Path) -> None:
    config = compose(
        overrides(function, "madrl.reward.alpha=1", "+reward.custom_reward_function.reward_kwargs.scale=0.5")
    )
    manager = load_reward_manager(config, WordTokenizer())
    out = asyncio.run(manager.run_single(group_data(arrivals("Indian", "Arctic and Pacific"), {"validate": True})))
    assert out["reward_score"] == [0.5, 0.0]
    infos = out["reward_extra_info"]
    assert [info["correct"] for info in infos] == [0.5, 0.0]
    assert [info["verdict"] for info in infos] == ["partial", "incorrect"]
    assert [json.loads(info["verifier_extra"]) for info in infos] == [{"words": 1}, {"words": 3}]


def test_verl_s_validation_takes_no_mean_of_what_else_was_found(function: Path) -> None:
    manager = load_reward_manager(compose(overrides(function)), WordTokenizer())
    infos = asyncio.run(manager.run_single(group_data(arrivals("Indian", "Arctic"), {"validate": True})))
    columns: dict[str, list[Any]] = {
        key: [info[key] for info in infos["reward_extra_info"]] for key in infos["reward_extra_info"][0]
    }
    measured = process_validation_metrics(["s", "s"], ["p", "p"], columns)["s"]
    assert "correct" in measured
    assert "verifier_extra" not in measured


def test_a_response_whose_score_is_out_of_range_fails_alone(function: Path) -> None:
    config = compose(overrides(function, "+reward.custom_reward_function.reward_kwargs.scale=2"))
    manager: Any = load_reward_manager(config, WordTokenizer())
    graded = asyncio.run(manager.run_single(group_data(arrivals("Indian", "Arctic"), {STAGE: GRADE})))["grades"]
    assert str(graded[0]).startswith("verifier compute_score returned {'score': 2, 'words': 1}, a dict: return")
    assert graded[1].correctness == 0.0


def test_rehearse_calls_the_function(function: Path, tmp_path: Path) -> None:
    rows = [make_row(data_source="sums", prompt="2 + 2?", ability="math", ground_truth="4", index=0, split="train")]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    more = ["reward.custom_reward_function.name=right", f"paths.data={tmp_path}", "paths.model=x"]
    found = rehearse(overrides(function, *more, task="gsm8k"))
    assert [r.verdict for r in found] == ["correct"] * 5 + ["incorrect"]


async def test_a_run_s_holdout_is_graded_by_the_function(function: Path) -> None:
    node = {"path": str(function), "name": "compute_score", "reward_kwargs": {"scale": 0.75}}
    grader = Grader(GraderSpec("choice", COMPUTE_SCORE, ("rank_1",), node), custom_reward_function(node))
    (row,) = arrivals("Indian")
    found = await grader.grade_all([Rollout("Arctic", row.row["reward_model"]["ground_truth"])])
    assert (found[0].correctness, found[0].extra) == (0.0, {"words": 1})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["madrl.verifier=compute_score"], "madrl.verifier=compute_score needs your function: set reward.custom_"),
        (
            ["reward.custom_reward_function.path={path}"],
            "would not be called with madrl.verifier=listed_option: set madrl.verifier=compute_score",
        ),
        (
            ["madrl.verifier=compute_score", "reward.custom_reward_function.path=/no/such.py"],
            r"path=/no/such.py: cannot load 'compute_score' \(FileNotFoundError",
        ),
        (
            [
                "madrl.verifier=compute_score",
                "reward.custom_reward_function.path={path}",
                "reward.custom_reward_function.name=scores",
            ],
            r"cannot load 'scores' \(AttributeError",
        ),
        (
            [
                "madrl.verifier=compute_score",
                "reward.custom_reward_function.path={path}",
                "reward.custom_reward_function.name=LIMIT",
            ],
            "'LIMIT' is a int: name a function",
        ),
    ],
)
def test_a_function_that_nobody_would_call_and_a_verifier_without_one_are_refused(
    function: Path, changed: list[str], message: str
) -> None:
    run = ["task=synthetic_closed", "trainer.experiment_name=x", *(c.format(path=function) for c in changed)]
    with pytest.raises(MadrlError, match=message) as refused:
        compose(run)
    assert "\n" not in str(refused.value)


def test_a_file_that_fails_to_load_is_named_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_library\n")
    with pytest.raises(MadrlError, match=r"broken.py: cannot load 'compute_score' \(ModuleNotFoundError: No module"):
        compose(overrides(tmp_path / "broken.py"))


def test_a_relative_path_is_the_caller_s_and_not_a_worker_s(function: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(function.parent)
    assert compose(overrides("mine.py")).reward.custom_reward_function.path == str(function)
