"""Settings by which runs in one table differ are named above it."""

from pathlib import Path

import pytest
from made_runs import Made, write_run

from madrl.evaluation.dumps import Run
from madrl.report.build import DIFFERENCES, report_study
from madrl.report.differences import differing_settings


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Six runs of several targets, rewards and seeds."""
    made = [Made(target=t, divergence=d, seed=s) for t, d in (("uniform", "l2"), ("peak", "jsd")) for s in (1, 2)]
    return [write_run(one, tmp_path / "runs") for one in (*made, Made(form="rlvr", seed=1), Made(form="rlvr", seed=2))]


def extended(root: Path, **places: str) -> None:
    """Keys as a resolved config has them, two of which repeat the model's path."""
    text = (root / "config.yaml").read_text().replace("paths: {", f"paths: {{model: {places['model']}, ")
    text = text.replace("{path: Qwen/Qwen3-4B-Instruct-2507, ", f"{{path: {places['model']}, ")
    text = text.replace("actor: {", f"actor: {{optim: {{lr: {places['lr']}}}, ")
    (root / "config.yaml").write_text(text)


def test_runs_that_differ_as_their_names_say_have_no_other_differences(roots: list[Path]) -> None:
    for root in roots:
        extended(root, model="/models/init", lr="0.001")
    assert differing_settings([Run.load(root) for root in roots]) == []


def test_what_follows_from_the_form_of_a_reward_is_no_difference(tmp_path: Path) -> None:
    for made, calibrated in ((Made(), "true"), (Made(form="gated"), "false"), (Made(form="rlvr"), "false")):
        config = write_run(made, tmp_path) / "config.yaml"
        config.write_text(config.read_text().replace("epsilon: 0.001", f"epsilon: 0.001, calibrate: {calibrated}"))
    assert differing_settings([Run.load(root) for root in tmp_path.iterdir()]) == []


def test_runs_of_one_row_of_which_some_are_calibrated_differ_in_that(tmp_path: Path) -> None:
    # Uniform, so that no name has it; prompts may have targets of their own.
    for seed, calibrated in ((1, "true"), (2, "false")):
        config = write_run(Made(seed=seed), tmp_path) / "config.yaml"
        config.write_text(config.read_text().replace("epsilon: 0.001", f"epsilon: 0.001, calibrate: {calibrated}"))
    runs = sorted((Run.load(root) for root in tmp_path.iterdir()), key=lambda run: run.key)
    assert differing_settings(runs) == ["gsm8k: madrl.reward.calibrate: True (1 run), False (1 run)"]


def test_a_config_without_its_places_is_compared_all_the_same(tmp_path: Path) -> None:
    for seed in (1, 2):
        config = write_run(Made(seed=seed), tmp_path) / "config.yaml"
        lines = config.read_text().replace("epsilon: 0.001", f"epsilon: 0.00{seed}").splitlines()
        config.write_text("\n".join(line for line in lines if not line.startswith("paths:")))
    runs = sorted((Run.load(root) for root in tmp_path.iterdir()), key=lambda run: run.key)
    assert differing_settings(runs) == ["gsm8k: madrl.reward.epsilon: 0.001 (1 run), 0.002 (1 run)"]


def test_a_setting_is_named_once_with_its_values_and_stands_above_the_tables(roots: list[Path], tmp_path: Path) -> None:
    for number, root in enumerate(roots):
        extended(root, model="/models/other" if number == 5 else "/models/init", lr="0.002" if number < 2 else "0.001")
    lines = [
        "gsm8k: paths.model: /models/init (5 runs), /models/other (1 run)",
        "gsm8k: actor_rollout_ref.actor.optim.lr: 0.001 (4 runs), 0.002 (2 runs)",
    ]
    assert differing_settings([Run.load(root) for root in roots]) == lines
    report_study([str(tmp_path / "runs")], tmp_path / "report")
    for name in ("report.md", "index.html"):
        text = (tmp_path / "report" / name).read_text()
        assert DIFFERENCES in text
        assert all(line in text.replace("\\", "") for line in lines)
