"""The alarms where the user sees them: on the console, once, also after a resume; and in the training metrics."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ

from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.trainer.alarm_messages import AlarmMessages
from madrl.trainer.compose import compose
from madrl.trainer.launch import _alarm_messages
from madrl.trainer.progress import progress_of
from madrl.trainer.replay_buffer import MadReplayBuffer

COLLAPSED = {"mad/share/en": 0.99, "mad/share/zh": 0.01, "mad/share/es": 0.0, "mad/share/hi": 0.0, "mad/share/fr": 0.0}
EVEN = dict.fromkeys(COLLAPSED, 0.2)
EVERYTHING = COLLAPSED | {
    "mad/single_category_group_rate": 1.0,
    "mad/ungraded_rate": 0.1,
    "mad/failed_session_rate": 0.0,
    "mad/equal_reward_group_rate": 1.0,
    "mad/off_support_rate": 0.5,
    "mad/truncated_rate": 0.5,
}


def settings(**changes: Any) -> Settings:
    node = {
        "categories": ["en", "zh", "es", "hi", "fr"],
        "target": "uniform",
        "classifier": "language",
        "verifier": "math",
        "reward": {"divergence": "rkl", "form": "additive", "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001} | changes,
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "task": "mine",
        "profile": "tiny",
        "naming": None,
    }
    return Settings.from_config(node)


def said(messages: AlarmMessages, metrics: dict[str, float], steps: range) -> list[str]:
    return [line for step in steps for line in messages(step, metrics)]


def test_an_alarm_says_what_it_saw_for_how_long_and_what_to_do_and_is_not_repeated() -> None:
    messages = AlarmMessages(settings(), prompts=8, group_size=16)
    lines = said(messages, COLLAPSED, range(1, 41))
    assert len(lines) == 1
    assert lines[0].startswith(
        "ALARM starved_categories at step 8: over the last 8 steps the shares of on-support responses were "
        "zh 1.0% (target 20.0%), es 0.0% (target 20.0%), hi 0.0% (target 20.0%), fr 0.0% (target 20.0%). "
    )
    for key in ("paths.model", "actor_rollout_ref.rollout.n, now 16", "madrl.reward.alpha, now 0.7"):
        assert key in lines[0]


def test_the_end_of_an_alarm_is_said_with_how_long_it_lasted() -> None:
    messages = AlarmMessages(settings(), prompts=8, group_size=16)
    said(messages, COLLAPSED, range(1, 21))
    # 3/2 of a quarter of 0.2 is 0.075: three even steps of 0.2 in eight. zh has another 5 x 0.01 / 8.
    lines = said(messages, EVEN, range(21, 41))
    assert lines == [
        "alarm starved_categories over at step 23, after 15 steps: over the last 8 steps the shares of on-support "
        "responses were zh 8.1% (target 20.0%), es 7.5% (target 20.0%), hi 7.5% (target 20.0%), fr 7.5% (target 20.0%)."
    ]


def test_a_control_without_distributional_reward_is_not_told_to_mend_its_drift() -> None:
    (line,) = said(AlarmMessages(settings(form="rlvr"), 8, 16), COLLAPSED, range(1, 9))
    assert line.endswith("this drift is what the control is there to show.")


def test_the_gated_form_is_advised_on_its_own_weight() -> None:
    (line,) = said(AlarmMessages(settings(form="gated"), 8, 16), COLLAPSED, range(1, 9))
    assert "madrl.reward.lambda_g, now 1" in line
    assert "alpha" not in line


def test_every_key_and_metric_that_the_advice_names_exists(tmp_path: Path) -> None:
    lines = said(AlarmMessages(settings(), 8, 16), EVERYTHING, range(1, 9))
    assert len(lines) == 6, "every alarm is on"
    config = compose(["task=gsm8k", "trainer.experiment_name=x", f"paths.run={tmp_path}"])
    keys = set(re.findall(r"\b(?:paths|data|madrl|actor_rollout_ref)(?:\.\w+)+", " ".join(lines)))
    assert len(keys) >= 8
    for key in keys:
        OmegaConf.select(config, key, throw_on_missing=True)
        assert OmegaConf.select(config, key) is not None, key
    assert set(re.findall(r"mad/[\w@/]+", " ".join(lines))) == {"mad/single_category_group_rate", "mad/pass@1"}


def write_history(run: RunFolder, attempt: int, rows: dict[int, dict[str, float]]) -> None:
    run.metrics.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": step, "data": data}) + "\n" for step, data in rows.items()]
    run.attempt_metrics(attempt).write_text("".join(lines))


def test_alarms_reach_the_console_once_and_above_the_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFolder(tmp_path)
    write_history(run, 1, dict.fromkeys(range(1, 31), COLLAPSED))
    with progress_of(run.attempt_metrics(1), 30, AlarmMessages(settings(), 8, 16)) as show:
        show()
        show()
    printed = capsys.readouterr().err.splitlines()
    assert [line[:41] for line in printed if "ALARM" in line] == ["ALARM starved_categories at step 8: over "]
    assert max(len(line) for line in printed) > 500, "an alarm is one line, also in a log"


def test_a_resumed_attempt_knows_what_the_earlier_ones_saw_and_tells_its_new_reader(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    write_history(run, 1, dict.fromkeys(range(1, 21), COLLAPSED) | dict.fromkeys(range(21, 41), EVEN))
    run.checkpoints.mkdir()
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("20")  # 21 to 40 are trained again
    config = compose(
        ["task=gsm8k", "trainer.experiment_name=x", f"paths.run={tmp_path}", "actor_rollout_ref.rollout.n=16"]
    )
    messages = _alarm_messages(run, config)
    (first,) = messages(21, COLLAPSED)
    assert first.startswith("ALARM starved_categories at step 21: over the last 8 steps")
    assert said(messages, COLLAPSED, range(22, 40)) == []
    lines = said(messages, EVEN, range(40, 60))
    assert re.match(r"alarm starved_categories over at step 42, after 34 steps", lines[0]), "on since step 8"


def test_the_training_metrics_carry_the_alarms_also_in_the_first_step_after_a_resume(tmp_path: Path) -> None:
    write_history(RunFolder(tmp_path), 1, dict.fromkeys(range(1, 21), COLLAPSED) | {21: EVEN, 22: EVEN})
    buffer = MadReplayBuffer.__new__(MadReplayBuffer)  # its own state, without veRL's
    buffer.settings, buffer.group_size, buffer.health = settings(), {"train": 16, "val": 4}, None
    buffer.run = RunFolder(tmp_path)
    assert buffer._alarms(21, 8, COLLAPSED)["mad/alarm/starved_categories"] == 4.0
    found = [buffer._alarms(step, 8, EVEN)["mad/alarm/starved_categories"] for step in range(22, 27)]
    assert found == [4.0, 4.0, 0.0, 0.0, 0.0], "after 3 of 8 even steps each has 0.075 or more"


def test_verl_tags_each_response_with_its_length_in_tokens() -> None:
    source = inspect.getsource(AgentLoopWorkerTQ.__ray_metadata__.modified_class._agent_loop_postprocess)
    assert '"response_len": response_len' in source, "sampler._records reads it"
