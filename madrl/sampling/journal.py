"""Responses on their way to a file, in a folder beside it that a kill leaves whole.

OUT.settings.json   what decided the responses; written first, and kept beside the finished file
.OUT.partial/       responses.jsonl, one batch a line (a half line is a batch that is not there), and the engines' logs
OUT                 appears when it is complete
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import check_same, whole_lines, write_json
from madrl.records import Name, Record, line_of, name_of, read, write


class Journal:
    """The responses of one file, by name; for one process at a time. Nothing is read or written before ``open``."""

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.out = out
        self.settings_file = out.with_name(f"{out.name}.settings.json")
        self.folder = out.with_name(f".{out.name}.partial")
        self.lines: dict[Name, Record] = {}
        self.finished = False
        self._batches = self.folder / "responses.jsonl"
        self._settings = json.loads(json.dumps(settings))  # as a file would hold them

    def open(self) -> "Journal":
        """Take in what is there. Raises MadrlError when the file belongs to other settings."""
        self._claim()
        self.finished = self.out.exists()
        if self.finished:
            self._remember(list(read(self.out, Name._fields)))
        elif self._batches.exists():
            with self._batches.open("r+b") as file:
                for line in whole_lines(file):
                    self._remember(json.loads(line))
        return self

    def _claim(self) -> None:
        begun = next((path for path in (self.out, self._batches) if path.exists()), None)
        if begun is None:
            write_json(self.settings_file, self._settings)
            return
        if not self.settings_file.exists():
            raise MadrlError(f"{begun} exists and does not say what made it: remove it, or name another file")
        there = json.loads(self.settings_file.read_text(encoding="utf-8"))
        remedy = f"name another file, or remove it and {self.settings_file}"
        check_same(there, self._settings, f"{begun} holds responses made with", remedy)

    def _remember(self, lines: Sequence[Record]) -> None:
        self.lines |= {name_of(line): line for line in lines}

    def append(self, batch: Sequence[Record]) -> None:
        """Add a batch: on disk, whole, when this returns."""
        self.folder.mkdir(exist_ok=True)
        with self._batches.open("ab") as file:
            file.write(json.dumps(list(batch)).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._remember(batch)

    def finish(self, names: Sequence[Name]) -> None:
        """Write the file, its lines in the order of ``names``, and remove the folder."""
        if self.finished:
            return
        write(self.out, (line_of(self.lines[name]) for name in names))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.finished = True
