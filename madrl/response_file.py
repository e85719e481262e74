"""JSON-lines files of responses that users bring: one object per line, read strictly, written back with what was added.

Strict where ``files.read_jsonl`` trusts what we wrote ourselves: every mistake of a line is named with its number.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError

Check = Callable[[dict[str, Any]], None]
"""Raises MadrlError for an object that is not what the command needs."""


def read_responses(path: Path, check: Check) -> Iterator[dict[str, Any]]:
    """The objects of the file, in order, blank lines dropped.

    Raises MadrlError that names file and line for what is not JSON, not an object, or fails ``check``; and for a file
    without a line. OSError when the file cannot be read.
    """
    empty = True
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            empty = False
            try:
                row = _parse(line)
                check(row)
            except MadrlError as error:
                raise MadrlError(f"{path}, line {number}: {error}") from error
            yield row
    if empty:
        raise MadrlError(f"{path} holds no responses: write one JSON object per line")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested beyond reason
        raise MadrlError(f"not JSON ({error}): write one object per line, in UTF-8") from error
    if not isinstance(row, dict):
        raise MadrlError(f"a JSON {type(row).__name__} where an object belongs: write one object per line")
    return row


def line_of(row: dict[str, Any]) -> bytes:
    """The object as a line of the file. A lone surrogate, which JSON can hold and UTF-8 cannot, stays a JSON escape."""
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", errors="backslashreplace")


def writable(path: Path) -> Path:
    """Where ``path`` really lies, symbolic links followed. Raises MadrlError where a file cannot be put there."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise MadrlError(f"cannot write {path}: its folder does not exist, create it first")
    if path.exists() and not path.is_file():  # replacing a folder fails late, replacing /dev/null succeeds
        raise MadrlError(f"cannot write {path}: it is not a regular file, name another")
    return path
