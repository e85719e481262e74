"""The table says how far each cell is and how long the rest will take."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from madrl.grid.cells import Cell
from madrl.grid.identity import Identity
from madrl.grid.ledger import Ledger, Standing, State
from madrl.grid.plan import Plan
from madrl.grid.status import outcome_of, remaining_s, show, summary_of, table_of
from madrl.run_folder import RunFolder


def standing(state: State, seconds: float = 0.0, task: str = "math", note: str = "", seed: int = 42) -> Standing:
    identity = Identity(Cell(task, "rlvr", None, None, seed), f"{task}_{seed}", {}, 40)
    return Standing(identity, f"{task}_{seed}", state, note, int(state is not State.PLANNED), seconds)


def rendered(plan: Plan, standings: list[Standing]) -> list[str]:
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(table_of(plan, standings))
    return captured.get().splitlines()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path, (), "tiny", {})


def test_the_rest_takes_as_long_as_the_finished_cells_of_its_task_did() -> None:
    done = [standing(State.DONE, 100), standing(State.DONE, 200), standing(State.DONE, 1000, "gsm8k")]
    # Two planned cells of 150 s, and 150 - 50 s of one that runs: one at a time.
    rest = [standing(State.PLANNED), standing(State.PLANNED), standing(State.RUNNING, 50)]
    assert remaining_s([*done, *rest]) == 400
    # Two at a time, the second 150 - 150 s from its end.
    assert remaining_s([*done, *rest, standing(State.RUNNING, 150)]) == 200
    # No CodeContests cell is finished: the mean of all, (100 + 200 + 1000) / 3.
    assert remaining_s([*done, standing(State.PLANNED, task="code_contests")]) == pytest.approx(1300 / 3)
    assert remaining_s([*done, standing(State.FAILED, 7)]) == 0
    assert remaining_s(rest) is None
    assert "about 7 min left" in summary_of([*done, *rest]).plain


def test_a_row_has_the_last_step_that_any_attempt_logged(plan: Plan) -> None:
    run = RunFolder(plan.out / "math_42")
    run.metrics.mkdir(parents=True)
    run.attempt_metrics(1).write_text('{"step": 21, "data": {}}\n{"step": 22, "da')
    run.attempt_metrics(2).write_text('{"step": 20, "data": {}}\n')
    (row,) = [line for line in rendered(plan, [standing(State.RUNNING, 90)]) if "math_42" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][:3] == ["math_42", "running", "21 / 40"]
    assert " 1.5 " in row


def test_a_row_has_the_holdout_s_numbers_of_a_finished_run(plan: Plan) -> None:
    run = RunFolder(plan.out / "math_42")
    run.root.mkdir()
    found = [
        {"split": "validation", "step": 0, "jsd": 0.3, "floor": 0.0005, "pass@1": 0.5},
        {"split": "holdout", "step": 40, "jsd": 0.01234, "floor": 0.0002, "pass@1": 0.61},
        {"split": "validation", "step": 40, "jsd": 0.02, "floor": 0.0005, "pass@1": 0.6},
    ]
    run.evaluation.write_text(json.dumps({"evaluations": found}))
    outcome = outcome_of(run)
    assert outcome is not None
    assert outcome == (0.01234, 0.0002, 0.61)
    (row,) = [line for line in rendered(plan, [standing(State.DONE, 90)]) if "math_42" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][2:6] == ["40", "0.0123", "0.0002", "0.610"]
    run.evaluation.write_text(json.dumps({"evaluations": found[:1]}))
    assert outcome_of(run) == (0.3, 0.0005, 0.5)
    # Every response was in no category.
    run.evaluation.write_text(json.dumps({"evaluations": [found[0] | {"jsd": None, "floor": None, "pass@1": None}]}))
    (row,) = [line for line in rendered(plan, [standing(State.DONE, 90)]) if "math_42" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][3:6] == ["-", "-", "-"]


def test_what_needs_a_look_stands_above_what_does_not(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        standing(State.PLANNED, seed=42),
        standing(State.DONE, 60, seed=123),
        standing(State.FAILED, 60, seed=200, note="the disk [full]"),
    ]
    show(plan, lambda: cells, watch=False)
    said = capsys.readouterr().out
    assert said.index("math_200") < said.index("math_123") < said.index("math_42")
    assert "the disk [full]" in said
    assert "3 cells: 1 failed  1 done  1 planned  about 1 min left" in said


def test_a_warm_start_s_time_says_nothing_of_the_trainings_that_wait_for_it() -> None:
    start = Identity(Cell("math", "warm_start", None, None, 42), "math_warm_start", {}, None)
    made = Standing(start, "math_warm_start", State.DONE, "", 1, 7200)
    assert remaining_s([made, standing(State.PLANNED)]) is None, "no training is finished yet"
    assert remaining_s([made, standing(State.DONE, 100), standing(State.PLANNED)]) == 100


def test_watching_ends_when_what_is_left_waits_for_a_warm_start_that_failed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("madrl.grid.status.REFRESH_S", 0.0)
    ledger = Ledger(plan, "math_warm_start-1")
    ledger.record("started", pid=0)
    waiting = standing(State.PLANNED)
    waiting = waiting._replace(identity=waiting.identity._replace(waits_for="math_warm_start-1"))
    looks = 0

    def look() -> list[Standing]:
        nonlocal looks
        looks += 1
        if looks == 3:
            ledger.record("ended", exit=2, reason="no GPU")
        return [waiting]

    show(plan, look, watch=True)
    assert looks == 3


def test_watching_ends_with_the_last_cell(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("madrl.grid.status.REFRESH_S", 0.0)
    looks = [[standing(State.RUNNING, 1)], [standing(State.RUNNING, 2)], [standing(State.DONE, 60)]]
    show(plan, lambda: looks.pop(0), watch=True)
    assert looks == []
    assert "1 cells: 1 done" in capsys.readouterr().out
