"""docs/fault_drill.md and docs/soak.md say what was measured, and name proofs that are there."""

import re
from pathlib import Path

import fault_drill
import pytest
import soak

from madrl.files import read_jsonl

ROOT = Path(__file__).parents[1]


def between_marks(page: Path, begin: str, end: str) -> str:
    return page.read_text().partition(begin)[2].partition(end)[0]


def test_the_fault_drill_s_table_is_of_its_rows() -> None:
    table = "".join(fault_drill.table(fault_drill.written()))
    assert table.count("\n") > 2
    assert between_marks(fault_drill.PAGE, fault_drill.BEGIN, fault_drill.END).strip() == table.strip()


def test_every_row_that_was_tried_resumes() -> None:
    names = {str(row) for row in fault_drill.rows()}
    for name, record in fault_drill.written().items():
        assert name in names
        assert record["resumes"], name


@pytest.mark.skipif(not soak.SAMPLES.exists(), reason="python tests/soak.py has not been run")
def test_the_soak_s_table_is_of_its_samples() -> None:
    records = read_jsonl(soak.SAMPLES)
    found = between_marks(soak.PAGE, soak.BEGIN, soak.END).strip()
    assert found == f"{''.join(soak.table(soak.whole(records)))}\n{soak.left(records[-1])}".strip()
    assert soak.FIGURE.exists()


def test_every_proof_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", fault_drill.PAGE.read_text())
    assert len(named) > 8
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"


def test_a_slope_leaves_the_warm_up_out() -> None:
    # Ten steps to 100 MiB, and from step 2 on, a fifth of the way, 3 MiB a step: 300 per 100 steps.
    curve = soak.Curve(range(11), [0.0, 50.0, *(100.0 + 3 * i for i in range(9))])
    assert curve.slope() == pytest.approx(300.0)


def test_a_kill_is_told_in_one_row() -> None:
    record = {
        "process": "vLLM engine", "phase": "generation", "step": 6, "checkpoint": 4, "outcome": "stops",
        "seconds": 12.4, "line": "madrl: error: a | b", "left": [], "left_seconds": 0.2, "resumes": True,
        "resume_seconds": 70.0, "kept": {"steps": [5, 7], "largest_difference": 2e-7},
    }  # fmt: skip
    *_, row = fault_drill.table({"vLLM engine, generation": record})
    assert row == (
        "| vLLM engine | generation | stops: `madrl: error: a ¦ b` | 12 s | yes, from step 4: steps 5 to 7 the same | "
        "nothing |\n"
    )
