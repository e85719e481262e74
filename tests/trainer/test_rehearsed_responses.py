"""`madrl rehearse --responses`: responses of the user's own before the reward manager of a run, for any task."""

import json
from pathlib import Path

import pytest

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grading.choice import choice_ground_truth
from madrl.schema import make_row, write_parquet
from madrl.trainer.rehearsal import rehearse

OCEANS = ("Arctic", "Atlantic", "Indian", "Pacific", "Southern")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        make_row(
            data_source="oceans",
            prompt="Name an ocean.",
            ability="choice",
            ground_truth=choice_ground_truth(OCEANS),
            index=index,
            split="train",
        )
        for index in (3, 4, 5)
    ]
    write_parquet(rows, tmp_path / "train.parquet")
    return tmp_path


def written(folder: Path, *lines: object) -> Path:
    path = folder / "responses.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


CLOSED = ["task=synthetic_closed", "madrl.reward.divergence=l2"]


def test_lines_with_one_row_are_a_group_and_each_group_is_scored_alone(data: Path) -> None:
    file = written(
        data,
        {"row": 5, "response": "Arctic"},
        {"row": 3, "response": "Pacific"},
        {"row": 5, "response": "Arctic"},
        {"row": 5, "response": "Baltic"},
        {"row": 5, "response": "Indian", "model": "mine"},
    )
    found = rehearse([*CLOSED, f"paths.data={data}"], file)
    assert [(r.row, r.category) for r in found] == [
        ("oceans 5", "rank_1"),
        ("oceans 5", "rank_1"),
        ("oceans 5", None),
        ("oceans 5", "rank_3"),
        ("oceans 3", "rank_4"),
    ]
    # L2 towards 1/5 each: 1/5 - 2/4 twice, -1 off-support, 1/5 - 1/4; the lone response nothing, as in training.
    assert [r.reward for r in found] == pytest.approx([-0.3, -0.3, -1.0, -0.05, 0.0], abs=1e-3)


def test_a_hinted_response_is_rehearsed_as_one(data: Path) -> None:
    file = written(data, {"row": 5, "response": "Arctic"}, {"row": 5, "response": "Indian", "hinted": "rank_3"})
    found = rehearse([*CLOSED, f"paths.data={data}"], file)
    # One response is counted: 1/5 - 1 for it, and as much for the hinted one, alone in its category at q = 1.
    assert [r.reward for r in found] == pytest.approx([-0.8, -0.8], abs=1e-3)


def test_plug_ins_of_the_user_s_own_are_rehearsed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(data, {"row": 4, "response": "Arctic"}, {"row": 4, "response": "Southern"})
    (data / "own.yaml").write_text(
        "categories: [rank_1, rank_5]\n"
        "classifier: madrl.grading.choice:classify_choice\n"
        "verifier: madrl.grading.choice:verify_listed_option\n"
        "data: .\n"
    )
    assert main(["rehearse", f"task={data}/own.yaml", "--responses", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["oceans", "4", "rank_1", "correct"],
        ["oceans", "4", "rank_5", "correct"],
    ]


def test_a_classifier_without_ready_made_responses_asks_for_the_user_s(data: Path) -> None:
    with pytest.raises(MadrlError, match=r"classifier='choice' has no ready-made responses .* --responses FILE"):
        rehearse([*CLOSED, f"paths.data={data}"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"row": 9, "response": "Arctic"}, r"line 1: 0 rows of data.train_files have extra_info.index 9"),
        ({"row": "3", "response": "Arctic"}, "line 1: row '3' is not a whole number"),
        ({"row": True, "response": "Arctic"}, "line 1: row True is not a whole number"),
        ({"response": "Arctic"}, "line 1: no 'row': give the extra_info.index"),
        ({"row": 3, "response": ["Arctic"]}, r"line 1: response \['Arctic'\] is not text"),
        ([3, "Arctic"], r"line 1: a JSON list where an object belongs"),
    ],
    ids=str,
)
def test_a_line_that_names_no_row_or_holds_no_text_is_one_clear_error(data: Path, line: object, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        rehearse([*CLOSED, f"paths.data={data}"], written(data, line))


def test_a_row_that_two_training_files_have_is_not_guessed(data: Path) -> None:
    both = f"data.train_files=[{data}/train.parquet,{data}/train.parquet]"
    with pytest.raises(MadrlError, match=r"2 rows of data.train_files have extra_info.index 3"):
        rehearse([*CLOSED, f"paths.data={data}", both], written(data, {"row": 3, "response": "Arctic"}))
