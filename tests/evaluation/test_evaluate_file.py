"""`madrl evaluate FILE`: responses that belong to no run, and the mistakes that a user's file can hold."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from madrl.cli import main
from madrl.reward import RewardConfig

LINE = {"group": "p", "session": 0, "category": "a", "correct": True}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def generated(categories: str, problems: int = 10) -> list[dict[str, Any]]:
    """As `madrl generate` writes them."""
    extra = {"response": "...", "ground_truth": "4", "prompt": "2 + 2?"}
    return [
        {"group": str(i), "session": k, "turn": 0, "category": name, "correct": k % 2 == 0, **extra}
        for i in range(problems)
        for k, name in enumerate(categories)
    ]


def evaluate(path: Path, *options: str) -> int:
    return main(["evaluate", str(path), *(options or ("--categories", "a,b,c", "--target", "peak"))])


def test_a_file_is_scored_against_the_categories_and_target_that_are_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "base.jsonl", generated("aabc"))
    assert evaluate(path, "--categories", "a,b,c", "--target", '{"a": 2, "b": 1, "c": 1}') == 0
    result = json.loads((tmp_path / "base.metrics.json").read_text())
    assert (result["file"], result["target"]) == ("base.jsonl", {"a": 0.5, "b": 0.25, "c": 0.25})
    assert result["epsilon"] == RewardConfig().epsilon
    row = result["evaluations"][0]
    assert (row["split"], row["step"], row["samples"], row["problems"]) == ("base", None, 40, 10)
    assert row["jsd"] == pytest.approx(0.0, abs=1e-12)
    assert row["pass@1"] == 0.5
    assert (tmp_path / "base.evaluation.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "n = 40" in printed
    assert printed.endswith(f"{tmp_path / 'base.metrics.json'}\n{tmp_path / 'base.evaluation.png'}\n")


def test_a_run_s_own_dump_gives_the_same_numbers_as_a_file_for_each_split(tmp_path: Path) -> None:
    lines = [line | {"split": "even" if i % 2 else "odd", "step": 3} for i, line in enumerate(generated("abcc"))]
    assert evaluate(write(tmp_path / "3.jsonl", lines)) == 0
    rows = json.loads((tmp_path / "3.metrics.json").read_text())["evaluations"]
    assert [(row["split"], row["samples"]) for row in rows] == [("even", 20), ("odd", 20)]


def test_reverse_kl_is_taken_at_the_smoothing_that_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / "base.jsonl", generated("abcc"))
    values = {}
    for epsilon in ("0.001", "0.05"):
        assert evaluate(path, "--categories", "a,b,c", "--target", "peak", "--epsilon", epsilon) == 0
        result = json.loads((tmp_path / "base.metrics.json").read_text())
        values[epsilon] = result["evaluations"][0]["rkl"]
        assert result["epsilon"] == float(epsilon)
    assert values["0.05"] < values["0.001"]
    assert evaluate(path, "--categories", "a,b,c", "--target", "peak", "--epsilon", "2") == 2


def test_a_split_that_nobody_could_classify_is_left_out_and_a_file_of_nothing_else_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    known = [line | {"split": "known"} for line in generated("abc")]
    lost = [line | {"split": "lost", "classified": False} for line in generated("abc")]
    path = write(tmp_path / "both.jsonl", known + lost)
    assert evaluate(path) == 0
    rows = json.loads((tmp_path / "both.metrics.json").read_text())["evaluations"]
    assert [row["split"] for row in rows] == ["known"]
    assert f"{path}, split lost, is left out: the category of none of 30 responses is known" in caplog.text
    assert evaluate(write(tmp_path / "lost.jsonl", lost)) == 2
    assert "lost.jsonl: nobody could say the category of any response" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"category": "a", "correct": True}, "no 'group': give all responses to one prompt the same text there"),
        (LINE, "group 'p', session 0, turn 0 is there already"),
        (LINE | {"category": "z"}, "category 'z' is not declared"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "r.jsonl", [LINE, line])
    assert evaluate(path) == 2
    error = capsys.readouterr().err
    assert f"{path}, line 2: " in error
    assert message in error
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_file_needs_categories_and_target_and_a_run_has_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "r.jsonl", [LINE])
    assert evaluate(path, "--target", "peak") == 2
    assert "responses in a file need --categories and --target" in capsys.readouterr().err
    assert evaluate(tmp_path) == 2
    assert "has its own categories, target and epsilon" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(tmp_path / "none.jsonl") == 2
    assert "No such file" in capsys.readouterr().err


def test_the_outputs_go_into_the_folder_that_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "base.jsonl", generated("abc"))
    assert evaluate(path, "--categories", "a,b,c", "--target", "peak", "-o", str(tmp_path / "new" / "out")) == 0
    written = {file.name for file in (tmp_path / "new" / "out").iterdir()}
    assert written == {"base.metrics.json", "base.evaluation.png"}
    assert {file.name for file in tmp_path.iterdir()} == {"base.jsonl", "new"}


def test_json_is_one_object_on_stdout_and_names_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "base.jsonl", generated("abc"))
    assert evaluate(path, "--categories", "a,b,c", "--target", "peak", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    files = printed.pop("files")
    assert files == [str(tmp_path / "base.metrics.json"), str(tmp_path / "base.evaluation.png")]
    assert printed == json.loads((tmp_path / "base.metrics.json").read_text())


def test_when_the_figure_cannot_be_written_there_are_no_numbers_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "base.jsonl", generated("abc"))
    (tmp_path / "base.evaluation.png").mkdir()
    assert evaluate(path) == 2
    assert "base.evaluation.png: it is not a regular file, name another" in capsys.readouterr().err
    assert {file.name for file in tmp_path.iterdir()} == {"base.jsonl", "base.evaluation.png"}


def test_responses_from_a_pipe_are_scored_into_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(json.dumps({"group": "p", "category": c, "correct": 1}) + "\n" for c in ("a", "b", "a"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    evaluate = ["evaluate", "-", "--categories", "a,b", "--target", "uniform"]
    assert main(evaluate) == 2
    assert "name a folder with -o" in capsys.readouterr().err
    assert main([*evaluate, "-o", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"stdin.metrics.json", "stdin.evaluation.png"}
