"""Answers on disk."""

import json
import logging
from pathlib import Path

import pytest

from madrl.grading.judges.answer_cache import AnswerCache


def test_an_answer_is_found_by_everybody_who_asks_the_same(tmp_path: Path) -> None:
    AnswerCache(tmp_path / "new").keep("a question", "blue")
    assert AnswerCache(str(tmp_path / "new")).find("a question") == "blue"
    assert AnswerCache(tmp_path / "new").find("another") is None


def test_a_file_that_is_no_json_is_no_answer_and_is_replaced(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.keep("a question", "blue")
    (file,) = tmp_path.rglob("*.json")
    for content in (b"", b'"blu', b"\xff"):
        file.write_bytes(content)
        assert cache.find("a question") is None
    cache.keep("a question", 3)
    assert json.loads(file.read_text()) == 3


def test_a_disk_that_takes_nothing_is_told_of_once_and_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    cache = AnswerCache(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        cache.keep("a question", "blue")
        cache.keep("another", "blue")
    assert cache.find("a question") is None
    assert len(caplog.records) == 1
    assert f"cannot be kept in {tmp_path / 'file'}" in caplog.text
