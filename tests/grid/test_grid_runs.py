"""Grids of real processes, killed for real: every cell runs to its end exactly once."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stub_grid

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grid import supervise
from madrl.grid.identity import identities
from madrl.grid.ledger import CellState, Ledger, Standing, standing_of, standings_of
from madrl.grid.local import start
from madrl.grid.plan import Plan, load_plan
from madrl.recipe import with_environment

THREE_CELLS = ("task=math", "form=add70", "target=peak", "divergence=rkl")
DEADLINE_S = 300.0
NOBODY = 65534
WHOLE = ["step 1", "step 2", "step 3", "end"]


class Grid:
    """A grid of the stub recipe, and what its files say."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def call(self, verb: str, *arguments: str) -> int:
        return main(["grid", verb, *arguments, "-o", str(self.out)])

    def plan(self, *filters: str, **shared: Any) -> None:
        stub_grid.planned(Plan(self.out, "tiny", **shared), *(filters or THREE_CELLS))

    def run(self, *filters: str) -> int:
        """The grid in this process."""
        return stub_grid.run(self.out, 1, filters)

    def start(self, at_once: int = 1) -> "subprocess.Popen[bytes]":
        """A grid process of its own."""
        command = [sys.executable, stub_grid.__file__, str(self.out), str(at_once)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def supervise(self, standing: Standing) -> int:
        """One cell in this process, which somebody has described."""
        return supervise.supervise(self.out, standing.run_name, stub_grid.stub)

    def describe(self, standing: Standing) -> None:
        self.ledger(standing).describe(load_plan(self.out), standing.identity)

    def standings(self) -> list[Standing]:
        plan = load_plan(self.out)
        return [standing_of(self.out, identity) for identity in identities(plan)]

    def states(self) -> list[CellState]:
        return [standing.state for standing in self.standings()]

    def ledger(self, standing: Standing) -> Ledger:
        return Ledger(self.out, standing.run_name)

    def running(self) -> Standing:
        """The first cell that runs, once there is one that has made a step."""

        def found() -> Standing | None:
            return next(
                (s for s in self.standings() if s.state is CellState.RUNNING and "step 1" in self.trace(s)), None
            )

        standing = wait_for(found)
        assert isinstance(standing, Standing)
        return standing

    def trace(self, standing: Standing) -> list[str]:
        """What the stub wrote down, start by start."""
        file = self.out / standing.run_name / "trace"
        return file.read_text().splitlines() if file.exists() else []

    def steps(self) -> list[list[str]]:
        """The same for every cell, without its starts."""
        return [[line for line in self.trace(s) if not line.startswith("start")] for s in self.standings()]

    def supervisor_of(self, standing: Standing) -> int:
        pid: int = self.ledger(standing).read()[-1]["pid"]
        return pid


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (what := found()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return what


@pytest.fixture
def hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that holds every cell after its first step, until it is removed."""
    file = tmp_path / "hold"
    file.touch()
    monkeypatch.setenv("HOLD", str(file))
    return file


@pytest.fixture
def grid(tmp_path: Path) -> Iterator[Grid]:
    yield Grid(tmp_path / "out")
    for file in tmp_path.glob("out/grid/cells/*/attempts.jsonl"):
        last = json.loads(file.read_text().splitlines()[-1])
        if last["event"] == "started" and last["pid"]:  # after a test that failed
            with contextlib.suppress(ProcessLookupError):
                os.kill(last["pid"], signal.SIGTERM)


def test_a_grid_that_is_killed_and_started_again_ends_every_cell_exactly_once(
    grid: Grid, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALONE", "1")
    grid.plan()
    assert grid.states() == [CellState.PLANNED] * 3
    first = grid.start()
    orphan = grid.running()
    first.kill()
    first.wait()
    assert grid.standings()[0].state is CellState.RUNNING, "its supervisor lives on"
    # The second call leaves the running cell its slot: the stub fails when two run at once.
    second = grid.start()
    time.sleep(1)
    assert grid.states() == [CellState.RUNNING, CellState.PLANNED, CellState.PLANNED]
    hold.unlink()
    assert second.wait() == 0
    assert grid.states() == [CellState.DONE] * 3
    assert grid.steps() == [WHOLE] * 3
    assert [standing.attempts for standing in grid.standings()] == [1, 1, 1]
    assert orphan.run_name == grid.standings()[0].run_name
    assert grid.start().wait() == 0
    assert [standing.attempts for standing in grid.standings()] == [1, 1, 1], "finished cells never run again"


def test_a_cell_all_of_whose_processes_are_killed_goes_on_where_it_was(grid: Grid, hold: Path) -> None:
    grid.plan(*THREE_CELLS, "seed=42")
    process = grid.start()
    standing = grid.running()
    process.kill()
    process.wait()
    os.kill(grid.supervisor_of(standing), signal.SIGKILL)
    # The recipe's shell ends with its supervisor, although it is held.
    wait_for(lambda: grid.states() == [CellState.PLANNED])
    hold.unlink()
    assert "end" not in grid.trace(standing)
    assert grid.standings()[0].note.startswith("killed; started ")
    assert grid.run() == 0
    assert grid.steps() == [WHOLE]
    assert grid.standings()[0].attempts == 2


def test_what_outlives_the_shell_keeps_its_cell_running(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = tmp_path / "training"
    recipe = tmp_path / "recipe.sh"
    recipe.write_text(f"setsid sleep 1000 &\necho $! >{training}.new\nmv {training}.new {training}\nwait\n")
    monkeypatch.setenv("STUB", str(recipe))
    grid.plan(*THREE_CELLS, "seed=42")
    process = grid.start()
    wait_for(training.exists)
    pid = int(training.read_text())
    try:
        (standing,) = grid.standings()
        for killed in (process.pid, grid.supervisor_of(standing)):
            os.kill(killed, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not Path(f"/proc/{grid.supervisor_of(standing)}").exists())
        time.sleep(0.3)  # for the shell to end as well
        assert grid.states() == [CellState.RUNNING]
        monkeypatch.setattr("madrl.grid.ledger.PROBED_S", 0.1)
        assert supervise.main([str(grid.out), standing.run_name], stub_grid.stub) == 2
        assert "is being run by another process" in capsys.readouterr().err
    finally:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: grid.states() == [CellState.PLANNED])


def test_a_recipe_that_is_killed_alone_is_interrupted_and_not_failed(grid: Grid, hold: Path) -> None:
    grid.plan(*THREE_CELLS, "seed=42")
    process = grid.start()
    standing = grid.running()
    (shell,) = children_of(grid.supervisor_of(standing))
    os.kill(shell, signal.SIGKILL)
    hold.unlink()
    assert process.wait() == 2
    assert process.stdout is not None
    said = process.stdout.read().decode()
    assert f"left   {standing.run_name}  0.0 min: interrupted by SIGKILL" in said
    assert "1 planned" in said
    assert grid.states() == [CellState.PLANNED]
    assert grid.run() == 0
    assert grid.steps() == [WHOLE]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_grid_that_is_told_to_stop_interrupts_its_cells(grid: Grid, hold: Path) -> None:
    grid.plan()
    process = grid.start(3)
    grid.running()
    process.terminate()
    assert process.wait() == 128 + signal.SIGTERM
    assert grid.states() == [CellState.PLANNED] * 3
    assert {s.note for s in grid.standings() if s.attempts} == {"interrupted by SIGTERM"}


def test_two_grids_of_one_folder_run_no_cell_twice_and_share_the_slots(
    grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALONE", "1")
    grid.plan()
    both = [grid.start(), grid.start()]
    assert [process.wait() for process in both] == [0, 0]
    assert grid.states() == [CellState.DONE] * 3
    assert grid.steps() == [WHOLE] * 3
    assert [standing.attempts for standing in grid.standings()] == [1, 1, 1]


def test_a_cell_is_not_started_while_another_grid_starts_one(grid: Grid) -> None:
    grid.plan(*THREE_CELLS, "seed=42")
    plan, (standing,) = load_plan(grid.out), grid.standings()
    begun: list[Any] = []
    starting = threading.Thread(target=lambda: begun.append(start(plan, standing, 1, stub_grid.SUPERVISOR)))
    with locked(plan.folder / "starting", "busy"):
        starting.start()
        time.sleep(0.5)
        assert begun == []
        assert not grid.ledger(standing).facts.exists()
    starting.join()
    assert begun[0].wait() == 0


@pytest.mark.parametrize(
    ("code", "state"), [("kill -KILL $$", "planned"), ("exit 143", "planned"), ("exit 139", "failed")]
)
def test_a_kill_from_outside_is_no_failure_and_a_crash_is_one(
    grid: Grid, code: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipe.sh").write_text(code)
    monkeypatch.setenv("STUB", str(tmp_path / "recipe.sh"))
    grid.plan(*THREE_CELLS, "seed=42")
    assert grid.run() == 2
    assert grid.states() == [CellState(state)]


def test_a_failure_is_listed_with_its_last_words_and_runs_again_on_request_only(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("many lines\nmadrl: error: the disk is full\n\n")
    monkeypatch.setenv("BREAK", str(broken))
    grid.plan(*THREE_CELLS, "seed=42")
    assert grid.run() == 2
    (standing,) = grid.standings()
    assert (standing.state, standing.note) == (CellState.FAILED, "madrl: error: the disk is full")
    assert f"FAILED {standing.run_name}" in capsys.readouterr().out
    broken.unlink()
    assert grid.run() == 2, "it was not asked for again"
    assert grid.standings()[0].attempts == 1
    assert "1 failed" in capsys.readouterr().err
    assert grid.call("status") == 0
    assert "the disk is full" in capsys.readouterr().out
    assert grid.call("retry") == 0
    assert grid.states() == [CellState.PLANNED]
    assert grid.run() == 0
    assert grid.states() == [CellState.DONE]


def test_a_cell_of_other_settings_is_stale_and_its_results_stay(grid: Grid, capsys: pytest.CaptureFixture[str]) -> None:
    grid.plan(*THREE_CELLS, "seed=42")
    assert grid.run() == 0
    (before,) = grid.standings()
    grid.plan(*THREE_CELLS, "seed=42", overrides=("trainer.total_training_steps=2",))
    (stale,) = grid.standings()
    assert (stale.state, stale.run_name) == (CellState.STALE, before.run_name)
    assert stale.note == "other config than now; was done"
    assert grid.run() == 2
    assert "1 stale" in capsys.readouterr().err
    assert grid.call("retry", "seed=42") == 0
    assert grid.run() == 0
    (after,) = grid.standings()
    assert after.state is CellState.DONE
    assert after.run_name != before.run_name
    assert grid.trace(before) == ["start math -", *WHOLE]
    assert grid.trace(after) == ["start math - trainer.total_training_steps=2", *WHOLE]


def test_the_shell_s_variables_do_not_leak_into_the_cells(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "of_another_run")
    monkeypatch.setenv("WANDB", "1")
    monkeypatch.setenv("DATASET", "/on/this/machine")
    grid.plan(*THREE_CELLS, "seed=42", models={"math": "hub/this_one"})
    assert grid.run() == 0
    assert grid.trace(grid.standings()[0])[0] == "start math hub/this_one"
    recipe = with_environment(load_plan(grid.out).shared_recipe("math"))
    assert (recipe.model, recipe.dataset, recipe.wandb) == ("hub/this_one", "/on/this/machine", True)


def test_the_dry_run_names_what_would_run(grid: Grid, capsys: pytest.CaptureFixture[str]) -> None:
    grid.plan()
    assert grid.run("seed=42") == 0
    capsys.readouterr()
    assert grid.call("run", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [standing.run_name for standing in grid.standings()[1:]]


def started(grid: Grid) -> Ledger:
    """The ledger of one cell that was started, has made its folder, and has not ended."""
    grid.plan(*THREE_CELLS, "seed=42")
    (standing,) = grid.standings()
    ledger = grid.ledger(standing)
    grid.describe(standing)
    ledger.run.mkdir()
    ledger.record("started", pid=0)
    return ledger


def test_half_a_line_of_a_full_disk_is_no_event_and_spoils_no_other(grid: Grid) -> None:
    ledger = started(grid)
    with ledger.events.open("ab") as file:
        file.write(bytes(8) + b"\n")  # what a machine that crashed leaves
        file.write(b'{"event": "end')
    assert grid.states() == [CellState.PLANNED]
    ledger.record("ended", exit=0, reason="")
    assert [event["event"] for event in ledger.read()] == ["started", "ended"]
    assert grid.states() == [CellState.DONE]
    assert grid.call("status") == 0


def test_whoever_starts_a_cell_gets_its_lock_however_often_others_look(grid: Grid) -> None:
    ledger = started(grid)
    with ledger.held():
        pass
    code = "import fcntl, sys\nwhile True: fcntl.flock(open(sys.argv[1], 'a+'), fcntl.LOCK_SH)"
    looking = subprocess.Popen([sys.executable, "-c", code, str(ledger.lock)])
    try:
        wait_for(ledger_looked_at(ledger))
        for _ in range(20):
            with ledger.held():
                pass
    finally:
        looking.kill()
        looking.wait()


def test_a_look_at_another_user_s_cell_needs_no_permission_to_write() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are one user's
        ledger = Ledger(Path(folder), "cell")
        ledger.root.mkdir(parents=True)
        Path(folder).chmod(0o755)
        ledger.lock.touch(0o444)
        user = os.geteuid()
        os.seteuid(user or NOBODY)
        try:
            assert not ledger.is_held()
        finally:
            os.seteuid(user)


def test_a_look_that_stands_still_is_waited_for(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = started(grid)
    monkeypatch.setattr("madrl.grid.ledger.PROBED_S", 0.0)
    with ledger.lock.open("a+") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        threading.Timer(0.5, lambda: fcntl.flock(look, fcntl.LOCK_UN)).start()
        with ledger.held():
            assert grid.states() == [CellState.RUNNING]


def ledger_looked_at(ledger: Ledger) -> Callable[[], bool]:
    def looked_at() -> bool:
        try:
            with locked(ledger.lock, "busy"):
                return False
        except MadrlError:
            return True

    return looked_at


def test_a_cell_that_ends_while_one_looks_is_done(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = started(grid)

    def is_held(looked_at: Ledger) -> bool:
        looked_at.record("ended", exit=0, reason="")
        return False

    monkeypatch.setattr(Ledger, "is_held", is_held)
    assert grid.states() == [CellState.DONE]
    assert [event["event"] for event in ledger.read()] == ["started", "ended"]


@pytest.mark.parametrize("event", ["interrupted", "requeued"])
def test_a_cell_of_which_a_process_lives_is_running_whatever_came_last(grid: Grid, event: str) -> None:
    ledger = started(grid)
    ledger.record(event, reason="interrupted by SIGKILL")
    with ledger.held():
        assert grid.states() == [CellState.RUNNING]
    assert grid.states() == [CellState.PLANNED]


def test_a_cell_s_time_is_that_of_its_attempts_that_ended_and_of_the_one_that_runs(grid: Grid) -> None:
    ledger = started(grid)
    ledger.record("interrupted", reason="interrupted by SIGKILL", seconds=60.0)
    ledger.record("started", pid=0)
    assert grid.standings()[0].seconds == 60.0, "a kill's cost is not known"
    with ledger.held():
        assert 60.0 < grid.standings()[0].seconds < 60.0 + DEADLINE_S
    ledger.record("ended", exit=0, reason="", seconds=5.0)
    assert grid.standings()[0].seconds == 65.0


def test_the_end_of_a_cell_is_written_down_before_signals_count_again(
    grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid.plan(*THREE_CELLS, "seed=42")
    (standing,) = grid.standings()
    grid.describe(standing)
    record = Ledger.record

    def killed_at_the_end(ledger: Ledger, event: str, **facts: Any) -> None:
        if event == "ended":
            os.kill(os.getpid(), signal.SIGINT)
        record(ledger, event, **facts)

    monkeypatch.setattr(Ledger, "record", killed_at_the_end)
    assert grid.supervise(standing) == 0
    assert grid.states() == [CellState.DONE]


def test_a_cell_that_may_not_be_run_is_reported_with_the_reason(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger = started(grid)
    ledger.record("interrupted", reason="interrupted by SIGTERM")
    facts = json.loads(ledger.facts.read_text())
    facts["parts"]["data"] = "another"
    monkeypatch.setattr(Ledger, "describe", lambda *arguments: None)
    ledger.facts.write_text(json.dumps(facts))
    assert grid.run() == 2
    assert "data changed since this cell was planned" in capfd.readouterr().out


def test_a_look_at_all_cells_lists_their_folders_once(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    grid.plan()
    listed: list[str] = []
    glob = Path.glob

    def listing(folder: Path, pattern: str) -> Iterator[Path]:
        listed.append(pattern)
        yield from glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", listing)
    plan = load_plan(grid.out)
    assert len(standings_of(grid.out, identities(plan))) == 3
    assert [pattern for pattern in listed if "json" in pattern] == ["*/cell.json"]


def test_a_filter_runs_only_its_cells(grid: Grid) -> None:
    grid.plan()
    assert grid.run("seed=123") == 0
    assert grid.states() == [CellState.PLANNED, CellState.DONE, CellState.PLANNED]
    assert grid.run("seed=42", "divergence=jsd") == 2
