import copy
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from madrl.errors import MadrlError
from madrl.files import replacing, sha256_of
from madrl.schema import (
    Message,
    Row,
    check_parquet,
    check_row,
    check_rows,
    make_row,
    write_parquet,
)


def a_row(index: int = 0, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "data_source": "sums_train",
        "prompt": "1 + 1 = ?",
        "ability": "math",
        "ground_truth": "2",
        "index": index,
        "split": "train",
        "extra": {"level": 1},
    }
    return make_row(**{**fields, **changes})


def test_a_row_has_verls_columns() -> None:
    assert a_row(3) == {
        "data_source": "sums_train",
        "prompt": [{"role": "user", "content": "1 + 1 = ?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"level": 1, "index": 3, "split": "train"},
    }


def test_a_prompt_of_several_turns_is_kept() -> None:
    turns = [Message(role="system", content="Be brief."), Message(role="user", content="1 + 1 = ?")]
    assert a_row(prompt=turns)["prompt"] == turns


def test_a_good_row_passes_and_may_have_further_columns() -> None:
    check_row(a_row(), "a.parquet row 0")
    check_row({**a_row(), "agent_name": "single_turn_agent"}, "a.parquet row 0")


BAD = [
    ("data_source", None, "column 'data_source' is missing or null: build rows with madrl.schema.make_row"),
    ("data_source", " ", "column 'data_source' is ' ', not a non-empty str: name the dataset and split"),
    ("ability", 3, "column 'ability' is 3, not a non-empty str: name the skill"),
    ("prompt", "1 + 1 = ?", "column 'prompt' is '1 + 1 = ?': make it a list of {role, content} messages"),
    ("prompt", [], "column 'prompt' is []: make it a list of {role, content} messages"),
    ("prompt", ["hi"], "column 'prompt[0]' is 'hi': make it a struct with the fields ['role', 'content']"),
    ("prompt", [{"role": "user"}], "column 'prompt[0]' has no field 'content': it needs ['role', 'content']"),
    (
        "prompt",
        [{"role": "human", "content": "hi"}],
        "column 'prompt[0].role' is 'human': use one of ['system', 'user', 'assistant']",
    ),
    (
        "prompt",
        [{"role": "user", "content": ""}],
        "column 'prompt[0].content' is '', not a non-empty str: write the message's text",
    ),
    (
        "prompt",
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
        "column 'prompt' ends with a 'assistant' turn: end it with the user's",
    ),
    ("reward_model", "2", "column 'reward_model' is '2': make it a struct with the fields ['style', 'ground_truth']"),
    ("reward_model", {"style": "rule"}, "column 'reward_model' has no field 'ground_truth'"),
    (
        "reward_model",
        {"style": None, "ground_truth": "2"},
        "column 'reward_model.style' is None, not a non-empty str: use 'rule'",
    ),
    (
        "reward_model",
        {"style": "rule", "ground_truth": 2},
        "column 'reward_model.ground_truth' is 2, not a non-empty str: store it as a non-empty str",
    ),
    ("extra_info", {"split": "train"}, "column 'extra_info' has no field 'index': it needs ['index', 'split']"),
    (
        "extra_info",
        {"index": "0", "split": "train"},
        "column 'extra_info.index' is '0': number the file's rows from 0",
    ),
    ("extra_info", {"index": -1, "split": "train"}, "column 'extra_info.index' is -1: number the file's rows from 0"),
    (
        "extra_info",
        {"index": True, "split": "train"},
        "column 'extra_info.index' is True: number the file's rows from 0",
    ),
    ("extra_info", {"index": 0, "split": ""}, "column 'extra_info.split' is '', not a non-empty str: name the split"),
    (
        "extra_info",
        {"index": 0, "split": "train", "cluster": 3},
        "column 'extra_info.cluster' is 3, not a non-empty str: name what prompts that are alike share, or rename",
    ),
    (
        "extra_info",
        {"index": 0, "split": "train", "target": {"red": 1}},
        "extra_info gives the prompt no good target: target {'red': 1} is not text: store it as JSON, such as "
        '\'{"red": 3, "blue": 1}\'; rename the field of the data where it means something else',
    ),
]


@pytest.mark.parametrize(("column", "value", "message"), BAD, ids=[f"{c}={v!r}" for c, v, _ in BAD])
def test_a_bad_value_is_named_with_place_column_and_remedy(column: str, value: Any, message: str) -> None:
    row: dict[str, Any] = {**a_row(), column: value}
    with pytest.raises(MadrlError) as caught:
        check_row(row, "a.parquet row 7")
    assert str(caught.value).startswith("a.parquet row 7: " + message)
    assert "\n" not in str(caught.value)


def test_a_target_is_checked_against_the_declared_categories_where_they_are_known(tmp_path: Path) -> None:
    good, bad = ({"target": f'{{"{colour}": 1}}'} for colour in ("red", "mauve"))
    path = tmp_path / "a.parquet"
    write_parquet([a_row(0, extra=good), a_row(1, extra=bad)], path)
    assert check_parquet(path) == 2
    with pytest.raises(
        MadrlError, match=r"a.parquet row 1: extra_info gives .* unknown category 'mauve': the declared"
    ):
        check_parquet(path, ["red", "blue"])


@pytest.mark.parametrize("column", list(Row.__annotations__))
def test_a_missing_column_is_named(column: str) -> None:
    row: dict[str, Any] = copy.deepcopy(dict(a_row()))
    del row[column]
    with pytest.raises(MadrlError, match=f"a.parquet row 0: column '{column}' is missing or null"):
        check_row(row, "a.parquet row 0")


@pytest.mark.parametrize("field", ["target", "categories"])
@pytest.mark.parametrize("huge", ["x" * 1_000_000, "{" + " " * 1_000_000])
def test_a_huge_target_does_not_fill_the_message(field: str, huge: str) -> None:
    with pytest.raises(MadrlError) as caught:
        check_row(a_row(extra={"target": "uniform", field: huge}), "a.parquet row 0")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("column", ["prompt", "reward_model", "ability"])
def test_a_huge_bad_value_does_not_fill_the_message(column: str) -> None:
    row: dict[str, Any] = {**a_row(), column: " " * 1_000_000}
    with pytest.raises(MadrlError) as caught:
        check_row(row, "a.parquet row 0")
    assert len(str(caught.value)) < 300


def test_two_rows_with_one_index_are_both_named() -> None:
    with pytest.raises(MadrlError, match=r"a.parquet row 2: column 'extra_info.index' is 0, as in row 0"):
        check_rows([a_row(0), a_row(1), a_row(0)], "a.parquet")


def test_a_file_without_rows_is_refused() -> None:
    with pytest.raises(MadrlError, match=r"a.parquet: no rows: prepare the data again"):
        check_rows([], "a.parquet")


def test_written_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [a_row(0), a_row(1, ground_truth="двa")]
    write_parquet(rows, path)
    assert pq.read_table(path).to_pylist() == rows
    assert check_parquet(path) == 2


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        write_parquet([a_row(i) for i in range(50)], tmp_path / name)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_further_column_that_the_first_row_lacks_is_written_too(tmp_path: Path) -> None:
    write_parquet([a_row(0), {**a_row(1), "agent_name": "tool"}], tmp_path / "a.parquet")  # type: ignore[typeddict-unknown-key]
    assert pq.read_table(tmp_path / "a.parquet")["agent_name"].to_pylist() == [None, "tool"]


def test_rows_may_come_from_a_generator_and_have_numpy_s_numbers(tmp_path: Path) -> None:
    numbers: Any = np.arange(3)
    write_parquet((a_row(number) for number in numbers), tmp_path / "a.parquet")
    assert check_parquet(tmp_path / "a.parquet") == 3


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"nowhere/a.parquet: there is no folder .*nowhere: make it first"):
        write_parquet([a_row()], tmp_path / "nowhere" / "a.parquet")


def test_bad_rows_are_not_written_and_leave_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet([a_row()], path)
    before = path.read_bytes()
    with pytest.raises(MadrlError, match=r"a.parquet row 1: column 'reward_model.ground_truth' is 2"):
        write_parquet([a_row(0), a_row(1, ground_truth=2)], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_rows_that_disagree_on_a_type_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with pytest.raises(MadrlError, match=r"a.parquet: rows disagree on a column's type .*: store mixed values as JSON"):
        write_parquet([a_row(0, extra={"level": 1}), a_row(1, extra={"level": "hard"})], path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [2**63, "\ud800", {}], ids=["a huge number", "half a pair", "an empty mapping"])
def test_what_parquet_cannot_hold_is_refused_by_the_file_s_name(tmp_path: Path, value: object) -> None:
    with pytest.raises(MadrlError, match=r"a.parquet: parquet cannot hold a value .*as JSON, or leave it out"):
        write_parquet([a_row(0, extra={"level": value})], tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_a_bad_row_in_a_file_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows: list[dict[str, Any]] = [dict(a_row(0)), {**a_row(1), "ability": ""}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(MadrlError, match=r"a.parquet row 1: column 'ability' is ''"):
        check_parquet(path)


def test_a_file_with_numbers_for_ground_truth_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{**a_row(), "reward_model": {"style": "rule", "ground_truth": 2}}]), path)
    with pytest.raises(MadrlError, match=r"a.parquet row 0: column 'reward_model.ground_truth' is 2"):
        check_parquet(path)


@pytest.mark.parametrize("content", [b"", b"not parquet at all"])
def test_a_file_that_is_no_parquet_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(MadrlError, match=r"a.parquet: cannot be read as parquet .*: prepare the data again"):
        check_parquet(path)


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"a.parquet: cannot be read as parquet"):
        check_parquet(tmp_path / "a.parquet")


def test_a_write_that_fails_halfway_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail_halfway() -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_content_appears_only_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with replacing(path) as unfinished:
        unfinished.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"abc")
    assert sha256_of(path) == hashlib.sha256(b"abc").hexdigest()
