"""Where a dataset's rows come from: files in the dataset's own schema, or the Hugging Face hub.

Both give Parts, which are read one row at a time, so that a dataset need not fit in memory. Every row knows its place,
and whatever is wrong with a file is one MadrlError that names the file and the row.
"""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import sha256_of

TRAIN, VALIDATION, TEST = "train", "validation", "test"
"""A benchmark's own splits, which are not the ones that we write."""

SPLIT_OF_WORD = {"train": TRAIN, "valid": VALIDATION, "validation": VALIDATION, "dev": VALIDATION, "test": TEST}
"""A word in a file's or folder's name, and the split that it names."""

SHOWN_FILES = 5
"""Of those that are left out."""

HUGGING_FACE_METADATA = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")
"""What the ``datasets`` library and repositories of the hub have beside the data."""

SUFFIXES = (".jsonl", ".json", ".parquet", ".csv")
BATCH_ROWS = 16
"""Rows of a parquet file in memory at a time: one CodeContests row can take megabytes."""

IS_IT_COMPLETE = "is the file complete?"


class Record(NamedTuple):
    """One row as it was published."""

    split: str
    where: str
    """The file and the row, for messages and the manifest."""
    fields: dict[str, Any]

    def text(self, field: str) -> str:
        """A field that must be text. Raises MadrlError that names the row when it is absent or anything else."""
        value = self.value(field)
        if not isinstance(value, str):
            raise MadrlError(f"{self.where}: field {field!r} is {type(value).__name__}, not text: {IS_IT_COMPLETE}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise MadrlError(f"{self.where}: field {field!r} is not Unicode text ({error.reason})") from None
        return value

    def value(self, field: str) -> Any:
        """A field that must be there, of whatever type. Raises MadrlError that names the row when it is not."""
        if field not in self.fields:
            raise MadrlError(
                f"{self.where}: no field {field!r}, only {sorted(self.fields)}: "
                "give files in the dataset's own schema (--help)"
            )
        return self.fields[field]


@dataclass(frozen=True)
class Part:
    """One file, or one split of one hub configuration."""

    name: str
    """Relative to what the user named, so that it means the same on every machine."""
    split: str
    identity: dict[str, str]
    """What the content is: the SHA-256 of a file, or the hub's revision."""
    rows: int
    read: Callable[[], Iterator[Record]]


def open_parts(path: Path | None, hub: str, configs: Sequence[str], columns: Sequence[str] | None = None) -> list[Part]:
    """The parts of the files at ``path``, or of the hub's dataset when that is None; see local_parts and hub_parts."""
    return hub_parts(hub, configs, columns) if path is None else local_parts(path, configs, columns)


def local_parts(path: Path, configs: Sequence[str] = (), columns: Sequence[str] | None = None) -> list[Part]:
    """The parts of one file, or of all files below a folder, in the order of their names.

    A file's split is the last word of SPLIT_OF_WORD in its own name, else in its folder's, and so on up to ``path``.
    When no file names a split, all are training rows; when some do, the others are no part of the dataset, which is
    said. A folder that holds one of ``configs``, as a dataset saved from the hub does, is searched in these only.
    ``columns`` are read, or all when None. Raises MadrlError when there is nothing to read.
    """
    if not path.exists():
        raise MadrlError(f"--local_dataset_path {path} does not exist")
    root = path if path.is_dir() else path.parent
    folders = [path / config for config in configs if (path / config).is_dir()] or [path]
    files = sorted(file for folder in folders for file in _data_files(folder))
    if not files:
        raise MadrlError(f"--local_dataset_path {path} holds no {', '.join(SUFFIXES)} file")
    splits = {file: _split_of(file.relative_to(root)) for file in files}
    if any(splits.values()):
        files = [file for file in files if splits[file]]
        if others := [str(file.relative_to(root)) for file, split in splits.items() if not split]:
            shown = ", ".join(others[:SHOWN_FILES]) + (", ..." if len(others) > SHOWN_FILES else "")
            print(f"warning: left out, as other files name their split and these do not: {shown}", file=sys.stderr)
    return [_local_part(file, str(file.relative_to(root)), splits[file] or TRAIN, columns) for file in files]


def _data_files(path: Path) -> list[Path]:
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise MadrlError(f"--local_dataset_path {path} is no {', '.join(SUFFIXES)} file")
        return [path]
    return [
        file
        for file in path.rglob("*")
        if file.suffix in SUFFIXES
        and file.name not in HUGGING_FACE_METADATA
        and file.is_file()
        and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]


def _split_of(name: Path) -> str | None:
    for part in reversed((*name.parts[:-1], name.stem)):
        for word in reversed(re.findall("[a-z]+", part.lower())):
            if word in SPLIT_OF_WORD:
                return SPLIT_OF_WORD[word]
    return None


def _local_part(file: Path, name: str, split: str, columns: Sequence[str] | None) -> Part:
    def read() -> Iterator[Record]:
        return (_record(split, f"{name}, {place}", fields) for place, fields in _rows(file, columns))

    return Part(name, split, {"sha256": sha256_of(file)}, _count_rows(file), read)


def _count_rows(file: Path) -> int:
    if file.suffix == ".jsonl":
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    return sum(1 for _ in _rows(file, columns=()))


def _rows(file: Path, columns: Sequence[str] | None) -> Iterator[tuple[str, object]]:
    """The place and the content of each row; of parquet's only ``columns``, or all when None."""
    if file.suffix == ".parquet":
        return _read_parquet(file, columns)
    if file.suffix == ".csv":
        return _read_csv(file)
    return _read_jsonl(file) if file.suffix == ".jsonl" else _read_json(file)


def _read_jsonl(file: Path) -> Iterator[tuple[str, object]]:
    """A JSON object on each line."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield f"line {number}", json.loads(line.decode())
            except ValueError as error:  # of either kind: not UTF-8, not JSON
                raise MadrlError(f"{file}, line {number}: not JSON ({error}): {IS_IT_COMPLETE}") from error


def _read_json(file: Path) -> Iterator[tuple[str, object]]:
    """A JSON list of objects, a single object, or several one after the other."""
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise MadrlError(f"{file}: not JSON ({error}): {IS_IT_COMPLETE}") from error
    decoder, blank = json.JSONDecoder(), re.compile(r"[\s,]*")
    listed = text.lstrip().startswith("[")
    position, row = (text.index("[") + 1 if listed else 0), 0
    while True:
        after_blank = blank.match(text, position)
        assert after_blank is not None  # it matches the empty string
        position = after_blank.end()
        if text.startswith("]", position) if listed else position == len(text):
            return
        try:
            fields, position = decoder.raw_decode(text, position)
        except ValueError as error:
            raise MadrlError(f"{file}, row {row}: not JSON ({error}): {IS_IT_COMPLETE}") from error
        yield f"row {row}", fields
        row += 1


def _read_csv(file: Path) -> Iterator[tuple[str, object]]:
    """The rows below a line of column names; every value is text."""
    row = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:  # a spreadsheet writes a mark first
            for fields in csv.DictReader(lines, strict=True):
                if None in fields or None in fields.values():  # more values than names, or fewer
                    raise MadrlError(f"{file}, row {row}: not as many values as columns: {IS_IT_COMPLETE}")
                yield f"row {row}", fields
                row += 1
    except csv.Error as error:
        raise MadrlError(f"{file}, row {row}: not CSV ({error}): {IS_IT_COMPLETE}") from error
    except UnicodeDecodeError as error:  # in a block of many rows
        raise MadrlError(f"{file}: not CSV ({error}): {IS_IT_COMPLETE}") from error


def _read_parquet(file: Path, columns: Sequence[str] | None) -> Iterator[tuple[str, object]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = 0
    try:
        with pq.ParquetFile(file) as parquet:
            there = None if columns is None else [c for c in columns if c in parquet.schema_arrow.names]
            for batch in parquet.iter_batches(BATCH_ROWS, columns=there):
                for fields in batch.to_pylist():
                    yield f"row {row}", fields
                    row += 1
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise MadrlError(f"{file}, row {row}: not parquet from here on ({reason}): {IS_IT_COMPLETE}") from error


def _record(split: str, where: str, fields: object) -> Record:
    if not isinstance(fields, dict):
        raise MadrlError(f"{where}: {type(fields).__name__} where a JSON object is expected")
    return Record(split, where, fields)


def hub_parts(repository: str, configs: Sequence[str], columns: Sequence[str] | None = None) -> list[Part]:
    """The parts of a dataset on the Hugging Face hub, downloaded into the ``datasets`` library's cache.

    One for each split of each of ``configs``; of the default configuration when there are none. Raises MadrlError when
    the hub cannot be reached or has no such dataset.
    """
    import datasets  # type: ignore[import-untyped]

    parts = []
    for config in configs or (None,):
        try:
            builder = datasets.load_dataset_builder(repository, config)
            builder.download_and_prepare()
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise MadrlError(
                f"{repository} cannot be loaded from the Hugging Face hub ({reason}): "
                "try again, or download it elsewhere and pass --local_dataset_path"
            ) from error
        parts += [_hub_part(repository, config, builder, split, columns) for split in builder.info.splits or {}]
    return parts


def _hub_part(repository: str, config: str | None, builder: Any, split: str, columns: Sequence[str] | None) -> Part:
    name, ours = "/".join(filter(None, (repository, config, split))), SPLIT_OF_WORD.get(split, split)
    dataset = builder.as_dataset(split=split)
    if columns is not None:
        dataset = dataset.select_columns([column for column in columns if column in dataset.column_names])

    def read() -> Iterator[Record]:
        return (_record(ours, f"{name}, row {row}", fields) for row, fields in enumerate(dataset))

    return Part(name, ours, {"revision": str(builder.hash)}, len(dataset), read)
