"""Files of one JSON object a line, appended to by processes that may be killed at any moment."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Append one object. A kill leaves its line whole or does not leave it at all."""
    line = json.dumps(record) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = f"\n{line}"
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects so far; none when there is no file. What a full disk or a crashed machine left half is skipped."""
    records = []
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else []:
        with suppress(ValueError):
            records.append(json.loads(line))
    return records
