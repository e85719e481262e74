"""The table says how far each cell is and how long the rest will take."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from madrl.grid.cells import Cell
from madrl.grid.identity import Identity
from madrl.grid.ledger import CellState, Standing
from madrl.grid.plan import Plan
from madrl.grid.status import as_json, remaining_s, row_of, show, summary_of, view_of
from madrl.run_folder import RunFolder


def standing(state: CellState, seconds: float = 0.0, task: str = "math", note: str = "", seed: int = 42) -> Standing:
    identity = Identity(Cell(task, "rlvr", None, None, seed), f"{task}_{seed}", {}, 40)
    return Standing(identity, f"{task}_{seed}", state, note, int(state is not CellState.PLANNED), seconds)


def rendered(plan: Plan, standings: list[Standing], width: int = 200) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(*view_of(plan, standings, width), sep="\n")
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path, "tiny")


def test_the_rest_takes_as_long_as_the_finished_cells_of_its_task_did() -> None:
    done = [standing(CellState.DONE, 100), standing(CellState.DONE, 200), standing(CellState.DONE, 1000, "gsm8k")]
    # Two planned cells of 150 s, and 150 - 50 s of one that runs: one at a time.
    rest = [standing(CellState.PLANNED), standing(CellState.PLANNED), standing(CellState.RUNNING, 50)]
    assert remaining_s([*done, *rest]) == 400
    # Two at a time, the second 150 - 150 s from its end.
    assert remaining_s([*done, *rest, standing(CellState.RUNNING, 150)]) == 200
    # No CodeContests cell is finished: the mean of all, (100 + 200 + 1000) / 3.
    assert remaining_s([*done, standing(CellState.PLANNED, task="code_contests")]) == pytest.approx(1300 / 3)
    assert remaining_s([*done, standing(CellState.FAILED, 7)]) == 0
    assert remaining_s(rest) is None
    assert "about 7 min left" in summary_of([*done, *rest]).plain


def test_a_row_has_the_last_step_that_any_attempt_logged(plan: Plan) -> None:
    run = RunFolder(plan.out / "math_42")
    run.metrics.mkdir(parents=True)
    run.attempt_metrics(1).write_text('{"step": 21, "data": {}}\n{"step": 22, "da')
    run.attempt_metrics(2).write_text('{"step": 20, "data": {}}\n')
    running = standing(CellState.RUNNING, 90)
    assert row_of(plan.out, running)["step"] == 21
    (line,) = [line for line in rendered(plan, [running]) if "running" in line]
    assert line.split() == ["42", "running", "21/40", "1.5", "1", "math_42"]


def test_a_row_has_the_holdout_s_numbers_of_a_finished_run(plan: Plan) -> None:
    run = RunFolder(plan.out / "math_42")
    run.root.mkdir()
    found = [
        {"split": "validation", "step": 0, "jsd": 0.3, "floor": 0.0005, "pass@1": 0.5},
        {"split": "holdout", "step": 40, "jsd": 0.01234, "floor": 0.0002, "pass@1": 0.61},
        {"split": "validation", "step": 40, "jsd": 0.02, "floor": 0.0005, "pass@1": 0.6},
    ]
    run.evaluation.write_text(json.dumps({"evaluations": found}))
    done = standing(CellState.DONE, 90)
    row = row_of(plan.out, done)
    assert (row["jsd"], row["floor"], row["pass@1"], row["step"]) == (0.01234, 0.0002, 0.61, 40)
    (line,) = [line for line in rendered(plan, [done]) if "done" in line]
    assert line.split()[2:6] == ["40", "0.0123", "0.0002", "0.610"]
    # Of the initial model, as `madrl holdout --initial` samples it.
    run.evaluation.write_text(json.dumps({"evaluations": [found[1] | {"step": 0}, found[2]]}))
    assert row_of(plan.out, done)["jsd"] == 0.02
    run.evaluation.write_text(json.dumps({"evaluations": found[:1]}))
    assert row_of(plan.out, done)["jsd"] == 0.3
    # Every response was in no category.
    run.evaluation.write_text(json.dumps({"evaluations": [found[0] | {"jsd": None, "floor": None}]}))
    (line,) = [line for line in rendered(plan, [done]) if "done" in line]
    assert line.split()[3:6] == ["-", "-", "0.500"]


def test_the_columns_are_those_in_which_the_cells_differ(plan: Plan) -> None:
    cells = [standing(CellState.PLANNED, seed=seed) for seed in (42, 123)]
    first, _, heads, *_ = rendered(plan, cells)
    assert first == "task=math, form=rlvr, profile=tiny"
    assert heads.split()[:2] == ["seed", "state"]
    for cells, shown in (
        ([standing(CellState.PLANNED, seed=seed) for seed in (0, 1)], "0 planned"),
        ([standing(CellState.PLANNED, seed=0, task=task) for task in ("gsm8k", "math")], "seed=0"),
    ):
        assert shown in " ".join(" ".join(rendered(plan, cells)).split())
    identities = [
        Identity(Cell("synthetic_closed", "alone", target, "fkl", 200), "a", {}, 6000) for target in ("uniform", "peak")
    ]
    identities.append(Identity(Cell("code_contests", "warm_start", None, None, 42), "b", {}))
    cells = [Standing(identity, "name-01234567", CellState.DONE, "", 1, 60.0) for identity in identities]
    for width, missing in ((80, {"hash", "tries"}), (120, set())):
        lines = rendered(plan, cells, width)
        assert all(len(line) <= width for line in lines)
        columns = next(line for line in lines if "state" in line).split()
        assert columns[:5] == ["task", "form", "target", "div", "seed"], "whatever else has to go"
        assert not {*columns} & missing
        assert {"jsd", "pass@1", "state"} <= {*columns}
        assert any(line.split()[:5] == ["synthetic_closed", "alone", "peak", "fkl", "200"] for line in lines)


def test_json_has_what_the_table_has_and_the_names_of_the_runs(plan: Plan) -> None:
    cells = [standing(CellState.DONE, 60), standing(CellState.PLANNED, seed=123)]
    found = json.loads(as_json(plan, cells))
    assert found["remaining_s"] == 60
    assert [(row["run"], row["state"], row["seed"], row["jsd"]) for row in found["cells"]] == [
        ("math_42", "done", 42, None),
        ("math_123", "planned", 123, None),
    ]


def test_what_needs_a_look_stands_above_what_does_not(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        standing(CellState.PLANNED, seed=42),
        standing(CellState.DONE, 60, seed=123),
        standing(CellState.FAILED, 60, seed=200, note="the disk [full]"),
    ]
    show(plan, lambda: cells, watch=False)
    said = capsys.readouterr().out
    assert said.index("200   failed") < said.index("123   done") < said.index("42    planned")
    assert "math_200: the disk [full]" in said
    assert "3 cells: 1 failed  1 done  1 planned  about 1 min left" in said


def test_a_warm_start_s_time_says_nothing_of_the_trainings_that_wait_for_it() -> None:
    start = Identity(Cell("math", "warm_start", None, None, 42), "math_warm_start", {}, None)
    made = Standing(start, "math_warm_start", CellState.DONE, "", 1, 7200)
    assert remaining_s([made, standing(CellState.PLANNED)]) is None, "no training is finished yet"
    assert remaining_s([made, standing(CellState.DONE, 100), standing(CellState.PLANNED)]) == 100


def test_watching_ends_when_what_is_left_waits_for_a_warm_start_that_failed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("madrl.grid.status.REFRESH_S", 0.0)
    waits = standing(CellState.WAITING, seed=123)
    looks = [[standing(CellState.RUNNING), waits], [standing(CellState.FAILED), waits]]
    show(plan, lambda: looks.pop(0), watch=True)
    assert looks == []


def test_watching_ends_with_the_last_cell(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("madrl.grid.status.REFRESH_S", 0.0)
    looks = [[standing(CellState.RUNNING, 1)], [standing(CellState.RUNNING, 2)], [standing(CellState.DONE, 60)]]
    show(plan, lambda: looks.pop(0), watch=True)
    assert looks == []
    assert "1 cells: 1 done" in capsys.readouterr().out
