import json
from pathlib import Path
from typing import Any

import datasets  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_prep import sources
from madrl.errors import MadrlError

ROWS = [{"question": f"{i} + 1?", "answer": f"#### {i + 1}"} for i in range(40)]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def csv_text(rows: list[dict[str, str]]) -> str:
    return "question,answer\n" + "".join(f'"{row["question"]}",{row["answer"]}\n' for row in rows)


def read(path: Path, *configs: str) -> list[Any]:
    return [record for part in sources.local_parts(path, configs) for record in part.read()]


def message_of(path: Path) -> str:
    with pytest.raises(MadrlError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Which files, and which split.


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.jsonl", "train"),
        ("MATH_test.jsonl", "test"),
        ("data/valid-00000-of-00001.jsonl", "validation"),
        ("test/algebra.jsonl", "test"),
        ("train/testimony.jsonl", "train"),
        ("problems.jsonl", "train"),
    ],
)
def test_a_files_split_is_the_word_in_its_name_or_its_folders(tmp_path: Path, name: str, split: str) -> None:
    write_jsonl(tmp_path / name, ROWS[:2])
    for path in (tmp_path, tmp_path / name):
        if path.is_dir() or "/" not in name:
            assert [record.split for record in read(path)] == [split, split]


def test_a_file_without_a_split_is_no_part_of_a_dataset_that_names_splits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jsonl(tmp_path / "train.jsonl", ROWS[:2])
    (tmp_path / "dataset_info.json").write_text('{"version": 1}')
    assert [record.fields for record in read(tmp_path)] == ROWS[:2]
    assert capsys.readouterr().err == ""
    write_jsonl(tmp_path / "more" / "part2.jsonl", ROWS[2:3])
    assert [record.fields for record in read(tmp_path)] == ROWS[:2]
    assert "these do not: more/part2.jsonl\n" in capsys.readouterr().err


def test_what_hugging_face_writes_beside_the_data_is_not_said_to_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jsonl(tmp_path / "train.jsonl", ROWS[:2])
    datasets.DatasetDict({"part": datasets.Dataset.from_list(ROWS)}).save_to_disk(tmp_path)
    (tmp_path / "dataset_infos.json").write_text("{}")  # older repositories of the hub
    assert {file.name for file in tmp_path.rglob("*.json")} == set(sources.HUGGING_FACE_METADATA)
    capsys.readouterr()
    assert [record.fields for record in read(tmp_path)] == ROWS[:2]
    assert capsys.readouterr().err == ""


def test_what_hugging_face_writes_is_no_row(tmp_path: Path) -> None:
    datasets.DatasetDict({"train": datasets.Dataset.from_list(ROWS[:3])}).save_to_disk(tmp_path)
    (tmp_path / "train" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert {"dataset_info.json", "state.json"} <= {file.name for file in (tmp_path / "train").iterdir()}
    assert [record.fields for record in read(tmp_path)] == ROWS
    (tmp_path / "train" / "rows.jsonl").rename(tmp_path / "rows.jsonl")  # and no file names a split
    (tmp_path / "train").rename(tmp_path / "part")
    assert [record.fields for record in read(tmp_path)] == ROWS


def test_a_folder_saved_from_the_hub_gives_the_wanted_configuration_only(tmp_path: Path) -> None:
    write_rows(tmp_path / "main/train-00000-of-00001.parquet", ROWS[:3])
    write_rows(tmp_path / "socratic/train-00000-of-00001.parquet", ROWS[3:9])
    assert [record.fields for record in read(tmp_path, "main")] == ROWS[:3]


def test_hidden_folders_are_not_searched(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", ROWS[:2])
    write_jsonl(tmp_path / ".cache/train.jsonl", ROWS[2:9])
    assert len(read(tmp_path)) == 2


def test_every_format_gives_the_same_rows_with_their_places(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a/train.jsonl", ROWS)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/train.json").write_text(json.dumps(ROWS, indent=1))
    (tmp_path / "b/test.json").write_text("\n".join(map(json.dumps, ROWS)))
    write_rows(tmp_path / "c/train.parquet", ROWS)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/train.csv").write_text(csv_text(ROWS))
    for name in ("a/train.jsonl", "b/train.json", "b/test.json", "c/train.parquet", "d/train.csv"):
        assert [record.fields for record in read(tmp_path / name)] == ROWS
    assert read(tmp_path / "a")[39].where == "train.jsonl, line 40"
    assert read(tmp_path / "b/train.json")[39].where == "train.json, row 39"
    assert read(tmp_path / "c")[39].where == "train.parquet, row 39"
    assert read(tmp_path / "d")[39].where == "train.csv, row 39"


def test_blank_lines_and_a_spreadsheet_s_mark_are_nothing(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a/train.jsonl", ROWS[:2])
    path.write_text(path.read_text().replace("\n", "\n\n") + " \n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/train.csv").write_text("\ufeff" + csv_text(ROWS[:2]), encoding="utf-8")
    for folder in ("a", "b"):
        assert [record.fields for record in read(tmp_path / folder)] == ROWS[:2]


def test_a_json_file_with_one_object_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train/1.json").write_text(json.dumps(ROWS[0]))
    assert [record.fields for record in read(tmp_path)] == ROWS[:1]


# What is wrong with a file.


def test_a_truncated_jsonl_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "train.jsonl", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    assert message_of(path).startswith(f"{path}, line 40: not JSON (")


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(json.dumps(ROWS[0]).encode() + b"\n\xff\xfe\n")
    assert message_of(path).startswith(f"{path}, line 2: not JSON (")


@pytest.mark.parametrize("cut", [1, 20])
def test_a_truncated_json_list_is_named_with_its_row(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "train.json"
    path.write_text(json.dumps(ROWS)[:-cut])
    row = 40 if cut == 1 else 39  # the bracket alone is missing, or the last row is cut
    assert message_of(path).startswith(f"{path}, row {row}: not JSON (")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (csv_text(ROWS)[:-9], ", row 39: not as many values as columns"),
        (csv_text(ROWS)[:-10], ", row 39: not CSV (unexpected end of data)"),
        (csv_text(ROWS[:1]) + "1,2,3\n", ", row 1: not as many values as columns"),
        (csv_text(ROWS[:1]) + "\udcff,1\n", ": not CSV ('utf-8' codec"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_named(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert message_of(path).startswith(f"{path}{wrong}")


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "train.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    assert message_of(path).startswith(f"{path}, row 0: not parquet from here on (")


def test_a_parquet_file_that_is_damaged_in_the_middle_is_named_with_the_row(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    rows = [{"question": f"{i:064}", "answer": "x"} for i in range(400)]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=100, use_dictionary=False, compression="snappy")
    data = bytearray(path.read_bytes())
    group = pq.ParquetFile(path).metadata.row_group(2).column(0)
    data[group.data_page_offset : group.data_page_offset + 200] = b"\xff" * 200
    path.write_bytes(data)
    # Rows 200 to 299 are damaged; rows come in batches of 16, of which twelve are whole.
    assert message_of(path).startswith(f"{path}, row 192: not parquet from here on (")


@pytest.mark.parametrize("line", ["[1]", "3", '"text"', "null"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(ROWS[0]) + "\n" + line + "\n")
    assert message_of(path).endswith("where a JSON object is expected")
    assert "train.jsonl, line 2" in message_of(path)


def test_a_path_without_data_is_refused(tmp_path: Path) -> None:
    assert message_of(tmp_path / "gone") == f"--local_dataset_path {tmp_path}/gone does not exist"
    assert message_of(tmp_path) == f"--local_dataset_path {tmp_path} holds no .jsonl, .json, .parquet, .csv file"
    (tmp_path / "train.tsv").write_text("a,b\n")
    assert message_of(tmp_path / "train.tsv").endswith("train.tsv is no .jsonl, .json, .parquet, .csv file")


def test_a_field_that_is_absent_or_no_text_is_named_with_the_row() -> None:
    record = sources.Record("train", "train.jsonl, line 7", {"question": 3, "half": "\ud800"})
    with pytest.raises(MadrlError, match=r"train.jsonl, line 7: no field 'answer', only \['half', 'question'\]"):
        record.text("answer")
    with pytest.raises(MadrlError, match=r"train.jsonl, line 7: field 'question' is int, not text"):
        record.text("question")
    with pytest.raises(MadrlError, match=r"train.jsonl, line 7: field 'half' is not Unicode text"):
        record.text("half")


# The hub: the real ``datasets`` library on a folder that looks like a repository there.


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "repository"
    write_rows(folder / "main/train-00000-of-00001.parquet", ROWS[:30])
    write_rows(folder / "main/test-00000-of-00001.parquet", ROWS[30:])
    write_rows(folder / "socratic/train-00000-of-00001.parquet", ROWS[:1])
    configs = "".join(
        f"- config_name: {config}\n  data_files:\n"
        + "".join(f"  - split: {split}\n    path: {config}/{split}-*\n" for split in splits)
        for config, splits in (("main", ("train", "test")), ("socratic", ("train",)))
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    return folder


def test_the_hub_gives_each_split_of_the_configuration(repository: Path) -> None:
    parts = sources.hub_parts(str(repository), ["main"])
    assert [(part.split, part.rows) for part in parts] == [("train", 30), ("test", 10)]
    records = [record for part in parts for record in part.read()]
    assert [record.fields for record in records] == ROWS
    assert records[39].where == f"{repository}/main/test, row 9"
    assert all(part.identity["revision"] for part in parts)


def test_only_the_wanted_columns_are_read(repository: Path) -> None:
    [train, _] = sources.hub_parts(str(repository), ["main"], ["answer", "absent"])
    assert next(train.read()).fields == {"answer": "#### 1"}
    [part] = sources.local_parts(repository / "socratic", (), ["answer", "absent"])
    assert next(part.read()).fields == {"answer": "#### 1"}


def test_a_dataset_that_the_hub_does_not_give_is_one_clear_error(repository: Path) -> None:
    with pytest.raises(MadrlError, match=r"cannot be loaded from the Hugging Face hub .*pass --local_dataset_path"):
        sources.hub_parts(str(repository), ["absent"])
