"""What is told of a run while it trains, and what its metrics remember."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from madrl import progress
from madrl.errors import MadrlError
from madrl.files import JsonLinesTail
from madrl.run_folder import RunFolder
from madrl.trainer.progress import progress_of


def test_the_history_of_a_run_spans_its_attempts_and_survives_a_half_written_line(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.metrics.mkdir()
    lines = [json.dumps({"step": step, "data": {"mad/jsd": step / 10}}) for step in (1, 2, 3)]
    run.attempt_metrics(1).write_text("\n".join(lines) + '\n{"step": 4, "da')
    run.attempt_metrics(2).write_text(json.dumps({"step": 3, "data": {"mad/jsd": 0.9}}) + "\n")
    run.attempt_metrics(10).write_text(json.dumps({"step": 4, "data": {"mad/jsd": 0.4}}) + "\n")
    assert {step: metrics["mad/jsd"] for step, metrics in run.history().items()} == {1: 0.1, 2: 0.2, 3: 0.9, 4: 0.4}


def test_progress_reads_only_what_is_new_and_waits_for_whole_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    metrics = tmp_path / "metrics.jsonl"
    with progress_of(metrics, total=2) as show:
        show()
        metrics.write_text('{"step": 1, "data": {"mad/jsd": 0.25}}\n{"step": 2, "da')
        show()
        show()
    assert capsys.readouterr().err.splitlines() == ["  step 0/2  starting veRL", "  step 1/2  jsd 0.2500"]


class GrowingFile(io.FileIO):
    """A file to which its writer adds ``rest`` just when a reader has come to its end."""

    rest: list[bytes]

    def readinto(self, buffer: Any) -> int:
        n = super().readinto(buffer) or 0
        if n == 0:
            self._grow()
        return n

    def readall(self) -> bytes:
        found = super().readall() or b""
        self._grow()
        return found

    def _grow(self) -> None:
        with io.FileIO(self.name, "ab") as file:
            file.writelines(self.rest)
        self.rest.clear()


def test_a_line_that_is_completed_while_the_end_is_read_is_read_whole_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"st')
    monkeypatch.setattr(GrowingFile, "rest", [b'ep": 2}\n'], raising=False)
    monkeypatch.setattr(Path, "open", lambda self, mode: io.BufferedReader(GrowingFile(self)))
    tail = JsonLinesTail(path)
    assert [tail.new(), tail.new(), tail.new()] == [[{"step": 1}], [{"step": 2}], []]


def test_a_whole_line_that_holds_no_object_is_named(tmp_path: Path) -> None:
    (tmp_path / "alarms.jsonl").write_bytes(b'{"step": \n{"step": 2}\n')
    with pytest.raises(MadrlError, match=r"alarms.jsonl: not JSON"):
        JsonLinesTail(tmp_path / "alarms.jsonl").new()


def test_a_line_of_progress_has_what_steers_a_run_and_how_long_it_will_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    metrics = tmp_path / "metrics.jsonl"
    data = {
        "mad/jsd": 0.25,
        "mad/off_support_rate": 0.125,
        "mad/pass@1": 0.5,
        "mad/reward/mean": -0.75,
        "actor/kl_loss": 0.0021,
        "perf/total_num_tokens": 3000,
        "perf/time_per_step": 2.0,
        "timing_s/step": 2.0,
    }
    with progress_of(metrics, total=4) as show:
        for step in (0, 1, 2):
            with metrics.open("a") as file:
                file.write(json.dumps({"step": step, "data": data if step else {}}) + "\n")
            show()
    _, first, _, last = capsys.readouterr().err.splitlines()
    assert first == "  step 0/4  first validation done"
    expected = "  step 2/4  jsd 0.2500  off-support 12.5%  pass@1 50.0%  reward -0.750  kl 0.0021  tokens/s 1500"
    assert last.startswith(f"{expected}  seconds a step 2.0  eta 0:00:0")
