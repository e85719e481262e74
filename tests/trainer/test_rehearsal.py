"""`madrl rehearse`: real rows before the reward manager that a GPU run is configured with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from prepared_data import real_data, run_module
from sandbox_service import Service

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.grading.programs.program import URLS_VARIABLE, default_client
from madrl.trainer.rehearsal import rehearse


def overrides(task: str, data: Path) -> list[str]:
    return [f"task={task}", "profile=gpu", "madrl.target=peak", "madrl.reward.divergence=l2", f"paths.data={data}"]


@pytest.mark.parametrize(("task", "script"), [("gsm8k", "gsm8k"), ("math", "hendrycks_math")])
def test_real_rows_earn_what_the_target_says(task: str, script: str, tmp_path: Path) -> None:
    done = run_module(script, "--local_dataset_path", real_data(task), "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    found = rehearse(overrides(task, tmp_path))
    assert len(found) == 8 * 6
    for i in range(0, len(found), 6):
        group = found[i : i + 6]
        assert [r.category for r in group] == ["en", "zh", "es", "hi", "fr", None]
        assert [r.verdict for r in group] == ["correct"] * 5 + ["incorrect"]
        # alpha 0.7, L2, six responses: 0.7 + 0.3 (0 - 1/6), 0.7 + 0.3 (1/3 - 1/6), and 0.3 (-1) off-support
        assert [r.reward for r in group] == pytest.approx([0.65, 0.65, 0.75, 0.75, 0.75, -0.3])


@pytest.mark.sandbox
def test_real_programming_rows_are_graded_in_five_languages(
    own_service: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_module("code_contests", "--local_dataset_path", real_data("code_contests"), "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv(URLS_VARIABLE, own_service().url)
    default_client.cache_clear()
    try:
        found = rehearse(overrides("code_contests", tmp_path))
    finally:
        default_client.cache_clear()
    for i in range(0, len(found), 6):
        assert [r.category for r in found[i : i + 6]] == ["python", "cpp", "java", "go", "javascript", None]
        assert [r.reason for r in found[i : i + 6]] == ["wa"] * 5 + ["no_language"]


def test_a_task_without_ready_made_responses_and_missing_data_are_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MadrlError, match="has no ready-made responses"):
        rehearse(["task=synthetic_closed", "paths.model=x"])
    assert main(["rehearse", *overrides("gsm8k", tmp_path)]) == 2
    assert "prepare the data first" in capsys.readouterr().err
