"""The one progress display, on a terminal and elsewhere."""

import contextlib
import io
import os
import pty
import re
import sys

import pytest

from madrl import progress as display
from madrl.progress import progress


def test_elsewhere_than_on_a_terminal_there_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "LINE_EVERY_S", 0.0)
    with progress("responses", 1000, done=500) as advance:
        advance(100)
        advance(100, "two engines")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "  responses 600/1000"
    assert re.fullmatch(r"  responses 700/1000  two engines  eta 0:00:0\d", second)


def test_quick_work_prints_nothing_there(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("responses", 2) as advance:
        advance()
        advance()
    assert capsys.readouterr() == ("", "")


def test_work_without_a_known_end_is_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "LINE_EVERY_S", 0.0)
    with progress("rows", None) as advance:
        advance(3)
    assert capsys.readouterr().err == "  rows 3\n"


def test_a_line_that_is_said_is_whole_and_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]ALARM[/bold] " + "long " * 100
    with progress("step", 2) as advance:
        advance.say(line, style="yellow")
    assert capsys.readouterr().err == line + "\n"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_on_a_terminal_there_is_a_bar_with_its_text_and_lines_stay_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with io.TextIOWrapper(os.fdopen(theirs, "wb", buffering=0), write_through=True) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress("step", 4) as advance:
            advance(2, "jsd [0.25]")
            advance.say("an alarm")
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal that nobody has open any more
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert b"2/4" in shown
    assert b"step  jsd [0.25]" in shown
