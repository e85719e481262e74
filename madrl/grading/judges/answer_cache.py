"""Answers on disk, by everything that decides them: one small file each, which any process may write and read."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from madrl.files import write_json

logger = logging.getLogger(__name__)


class AnswerCache:
    """A folder of answers, shared by everybody who names it. It only grows: remove it when it is of no use any more."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self._has_failed = False

    def find(self, question: str) -> Any:
        """The answer to ``question``; None when nobody has kept one that can be read."""
        try:
            return json.loads(self._file(question).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def keep(self, question: str, answer: Any) -> None:
        """Remember ``answer``, of a JSON type. A disk that takes none is told of once, and costs no answer."""
        file = self._file(question)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, answer)
        except OSError as error:
            if not self._has_failed:
                logger.warning("answers cannot be kept in %s: %s", self._folder, error)
            self._has_failed = True

    def _file(self, question: str) -> Path:
        name = hashlib.sha256(question.encode()).hexdigest()
        # 256 folders: some file systems are slow with a million names in one.
        return self._folder / name[:2] / f"{name}.json"
