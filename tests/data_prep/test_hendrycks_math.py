import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prepared_data import content, read_rows, real_data, run_module

from data_prep import hendrycks_math, sources

SPLITS = ("train", "selection", "validation", "holdout")


def a_row(number: int, **changes: str) -> dict[str, str]:
    row = {
        "problem": f"Halve ${number}$.",
        "level": "Level 2",
        "type": "Algebra",
        "solution": f"First \\boxed{{x}}, then \\boxed{{\\frac{{{number}}}{{2}}}}.",
    }
    return {**row, **changes}


def parsed(**changes: str) -> Any:
    return hendrycks_math.parse(sources.Record("train", "train.jsonl, line 1", a_row(3, **changes)))


def prepare(source: Path, target: Path) -> int:
    result: int = hendrycks_math.main(["--local_dataset_path", str(source), "--local_save_dir", str(target)])
    return result


def test_the_reference_is_what_the_last_box_of_the_solution_holds() -> None:
    problem = parsed()
    assert (problem.text, problem.ground_truth) == ("Halve $3$.", r"\frac{3}{2}")
    assert problem.extra == {"level": "Level 2", "subject": "Algebra"}


def test_an_answer_that_agrees_is_welcome_and_one_that_does_not_drops_the_row() -> None:
    assert parsed(answer=r" \frac{3}{2}") == parsed()
    assert parsed(answer="1.5").reason == "answer_disagrees"


def test_a_solution_without_a_reference_drops_the_row() -> None:
    assert parsed(solution="It is 3/2.").reason == "no_reference"
    assert parsed(solution=r"There are $\boxed{}$.").reason == "no_reference"


def test_subject_folders_as_saved_from_the_hub_are_one_dataset(tmp_path: Path) -> None:
    for i, subject in enumerate(hendrycks_math.CONFIGS):
        for split, start in (("train", 0), ("test", 10)):
            path = tmp_path / f"hub/{subject}/{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = [a_row(100 * i + start + n) for n in range(10)]
            pq.write_table(pa.Table.from_pylist(table), path)
    for out in ("one", "two"):
        assert prepare(tmp_path / "hub", tmp_path / out) == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")
    manifest = json.loads((tmp_path / "one/manifest.json").read_text())
    assert manifest["rows_kept"] == {"train": 70, "test": 70}
    assert len(manifest["inputs"]) == 14
    texts = [row["extra_info"]["problem"] for split in SPLITS for row in read_rows(tmp_path / "one", split)]
    assert len(texts) == len(set(texts)) == 140 - manifest["held_out_rows_unused"]


def test_a_row_of_another_dataset_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.jsonl").write_text('{"question": "2 + 2?", "answer": "#### 4"}\n')
    assert prepare(tmp_path, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "train.jsonl, line 1: no field 'problem', only ['answer', 'question']" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_published_files_keep_all_but_empty_references_and_copies(tmp_path: Path) -> None:
    done = run_module("hendrycks_math", "--local_dataset_path", real_data("math"), "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    assert manifest["rows_kept"]["test"] == 5000
    # Two solutions box nothing; eight problems stand there twice, three of them in both splits.
    assert manifest["drops"] == {"duplicate": 8, "no_reference": 2}
    assert len([drop for drop in manifest["dropped"] if drop["detail"].startswith("of MATH_test")]) == 3
    assert [len(read_rows(tmp_path, split)) for split in SPLITS] == [7290, 200, 60, 200]
