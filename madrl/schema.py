"""The parquet row that veRL reads: building it, checking it, writing files of it.

A file appears under its name only when it is complete. What the rows ask of a model is data_prep's business.
"""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.prompt_targets import check_row_target

ROLES = ("system", "user", "assistant")


class Message(TypedDict):
    """One turn of the prompt."""

    role: str
    content: str


class RewardModel(TypedDict):
    """veRL's name for what the reward needs to know."""

    style: str
    ground_truth: str
    """Always a str: parquet allows a column one type, and veRL passes it on untouched."""


class Row(TypedDict):
    """One prompt, in veRL's columns."""

    data_source: str
    """veRL averages validation metrics per data source: splits that are to be told apart need different ones."""
    prompt: list[Message]
    ability: str
    reward_model: RewardModel
    extra_info: dict[str, Any]
    """``index`` (unique within the file), ``split``, whatever the dataset adds, and, for a prompt with a target of its
    own, ``target`` and ``categories`` (``prompt_targets.row_target``); ``cluster``, text, for prompts that are alike
    (``records.CLUSTER``)."""


def make_row(
    *,
    data_source: str,
    prompt: str | Sequence[Message],
    ability: str,
    ground_truth: str,
    index: int,
    split: str,
    extra: Mapping[str, Any] | None = None,
) -> Row:
    """One row. A ``prompt`` that is a str becomes a single user turn; ``extra`` is added to ``extra_info``."""
    messages = [Message(role="user", content=prompt)] if isinstance(prompt, str) else list(prompt)
    return Row(
        data_source=data_source,
        prompt=messages,
        ability=ability,
        reward_model=RewardModel(style="rule", ground_truth=ground_truth),
        extra_info={**(extra or {}), "index": index, "split": split},
    )


def check_row(row: Mapping[str, Any], where: str, categories: Sequence[str] | None = None) -> None:
    """Raises MadrlError that names ``where`` (file and row), the column and the remedy, for the first thing wrong.

    Columns beyond veRL's five are allowed: veRL carries them along. ``categories`` are the declared ones, which a
    target of the prompt's own has to be over; None where they are not known.
    """
    for column in Row.__annotations__:
        if row.get(column) is None:
            raise MadrlError(f"{where}: column {column!r} is missing or null: build rows with madrl.schema.make_row")
    _check_text(row["data_source"], where, "data_source", "name the dataset and split, e.g. 'gsm8k_train'")
    _check_text(row["ability"], where, "ability", "name the skill, e.g. 'math'")
    _check_prompt(row["prompt"], where)
    _check_fields(row["reward_model"], where, "reward_model", ("style", "ground_truth"))
    _check_text(row["reward_model"]["style"], where, "reward_model.style", "use 'rule'")
    remedy = "store it as a non-empty str, structured values as JSON"
    _check_text(row["reward_model"]["ground_truth"], where, "reward_model.ground_truth", remedy)
    _check_fields(row["extra_info"], where, "extra_info", ("index", "split"))
    index = row["extra_info"]["index"]
    if isinstance(index, bool) or not isinstance(index, Integral) or index < 0:
        raise MadrlError(f"{where}: column 'extra_info.index' is {index!r}: number the file's rows from 0")
    _check_text(row["extra_info"]["split"], where, "extra_info.split", "name the split, e.g. 'train'")
    if row["extra_info"].get("cluster") is not None:
        remedy = "name what prompts that are alike share, or rename the field where it means something else"
        _check_text(row["extra_info"]["cluster"], where, "extra_info.cluster", remedy)
    try:
        check_row_target(row["extra_info"], categories)
    except MadrlError as error:
        raise MadrlError(f"{where}: {error}") from error


def _check_text(value: object, where: str, column: str, remedy: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise MadrlError(f"{where}: column {column!r} is {reprlib.repr(value)}, not a non-empty str: {remedy}")


def _check_fields(value: object, where: str, column: str, names: Sequence[str]) -> None:
    if not isinstance(value, Mapping):
        raise MadrlError(
            f"{where}: column {column!r} is {reprlib.repr(value)}: make it a struct with the fields {list(names)}"
        )
    for name in names:
        if name not in value:
            raise MadrlError(f"{where}: column {column!r} has no field {name!r}: it needs {list(names)}")


def _check_prompt(prompt: object, where: str) -> None:
    if not isinstance(prompt, list) or not prompt:
        raise MadrlError(
            f"{where}: column 'prompt' is {reprlib.repr(prompt)}: make it a list of {{role, content}} messages"
        )
    for i, message in enumerate(prompt):
        column = f"prompt[{i}]"
        _check_fields(message, where, column, ("role", "content"))
        if message["role"] not in ROLES:
            raise MadrlError(f"{where}: column '{column}.role' is {message['role']!r}: use one of {list(ROLES)}")
        _check_text(message["content"], where, f"{column}.content", "write the message's text")
    if prompt[-1]["role"] != "user":
        role = prompt[-1]["role"]
        raise MadrlError(f"{where}: column 'prompt' ends with a {role!r} turn: end it with the user's, to be answered")


def check_rows(rows: Sequence[Mapping[str, Any]], file: str | Path, categories: Sequence[str] | None = None) -> None:
    """check_row for each row, plus: there is at least one, and no two share ``extra_info.index``."""
    if not rows:
        raise MadrlError(f"{file}: no rows: prepare the data again")
    first_with: dict[int, int] = {}
    for i, row in enumerate(rows):
        check_row(row, f"{file} row {i}", categories)
        index = row["extra_info"]["index"]
        if index in first_with:
            raise MadrlError(
                f"{file} row {i}: column 'extra_info.index' is {index}, as in row {first_with[index]}: "
                "number the file's rows from 0"
            )
        first_with[index] = i


def check_parquet(path: str | Path, categories: Sequence[str] | None = None) -> int:
    """The number of rows of a good file. Raises MadrlError for one that cannot be read, or whose rows are not good, as
    ``check_row``."""
    try:
        with pq.ParquetFile(path) as file:
            rows = file.read().to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
        raise MadrlError(f"{path}: cannot be read as parquet ({reason}): prepare the data again") from error
    check_rows(rows, path, categories)
    return len(rows)


def write_parquet(rows: Iterable[Row], path: str | Path) -> None:
    """Check the rows and write them to ``path``, whole or not at all. A further column that a row lacks is null there.
    Equal rows give equal bytes (for one pyarrow version, which parquet records).

    Raises MadrlError for rows that check_rows rejects, and for a folder that does not exist.
    """
    rows = list(rows)
    check_rows(rows, path)
    if not Path(path).parent.is_dir():
        raise MadrlError(f"{path}: there is no folder {Path(path).parent}: make it first")
    columns = dict.fromkeys(column for row in rows for column in row)
    try:
        table = pa.table({column: [row.get(column) for row in rows] for column in columns})
        with replacing(path) as unfinished:
            pq.write_table(table, unfinished)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise MadrlError(f"{path}: rows disagree on a column's type ({error}): store mixed values as JSON") from error
    except (pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError) as error:
        raise MadrlError(
            f"{path}: parquet cannot hold a value ({error}): store an empty mapping, a whole number of more than 64 "
            "bits or half a surrogate pair as JSON, or leave it out"
        ) from error
