"""The alarms where the user sees them: written down by the training, once, also after a resume; on the console; and in
the training metrics. And every key that they advise on exists."""

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from test_alarms import settings
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ

from madrl.alarms import ALARMS, RunHealth, read_events
from madrl.run_folder import RunFolder
from madrl.trainer.compose import compose
from madrl.trainer.launch import _notices
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
    "mad/truncated_failed_rate": 0.5,
    "mad/unusual_rate": 0.5,
}


def attempt_of(run: RunFolder) -> MadReplayBuffer:
    """The buffer's own state at the start of an attempt, without veRL's."""
    buffer = MadReplayBuffer.__new__(MadReplayBuffer)
    buffer.settings, buffer.group_size, buffer.health, buffer.run = settings(), {"train": 16, "val": 4}, None, run
    return buffer


def train(run: RunFolder, attempt: int, steps: Mapping[int, Mapping[str, float]]) -> list[dict[str, float]]:
    """One attempt, as the trainer and veRL's file logger leave it; returns the alarms' metrics."""
    run.metrics.mkdir(parents=True, exist_ok=True)
    buffer, found = attempt_of(run), []
    with run.attempt_metrics(attempt).open("w") as file:
        for step, metrics in steps.items():
            found.append(buffer._alarms(step, 8, dict(metrics)))
            file.write(json.dumps({"step": step, "data": metrics}) + "\n")
    return found


def events(run: RunFolder) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(event.step, event.state, tuple(event.categories)) for event in read_events(run.alarms)]


STARVED = ("zh", "es", "hi", "fr")


def test_every_key_and_metric_that_the_advice_names_exists(tmp_path: Path) -> None:
    health = RunHealth(settings(), 8, 16)
    lines = [str(event) for step in range(1, 9) for event in health.update(step, EVERYTHING)]
    assert len(lines) == len(ALARMS), "every alarm is on"
    config = compose(["task=gsm8k", "trainer.experiment_name=x", f"paths.run={tmp_path}"])
    keys = set(re.findall(r"\b(?:paths|data|madrl|actor_rollout_ref)(?:\.\w+)+", " ".join(lines)))
    assert len(keys) >= 8
    for key in keys:
        OmegaConf.select(config, key, throw_on_missing=True)
        assert OmegaConf.select(config, key) is not None, key
    assert set(re.findall(r"mad/[\w@/]+", " ".join(lines))) == {"mad/single_category_group_rate", "mad/pass@1"}


def test_a_training_writes_each_alarm_down_when_it_is_raised_and_when_it_is_over(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    train(run, 1, dict.fromkeys(range(1, 21), COLLAPSED) | dict.fromkeys(range(21, 41), EVEN))
    # Over 8 steps, three of them even, each has 3 x 0.2 / 8 = 0.075, three halves of a quarter of 0.2.
    assert events(run) == [(8, "raised", STARVED), (23, "cleared", STARVED)]


def test_the_events_of_steps_that_are_trained_again_are_dropped_and_those_before_are_not_doubled(
    tmp_path: Path,
) -> None:
    run = RunFolder(tmp_path)
    train(run, 1, dict.fromkeys(range(1, 21), COLLAPSED) | dict.fromkeys(range(21, 31), EVEN))
    assert events(run)[-1] == (23, "cleared", STARVED)
    # Stopped, and resumed after the checkpoint of step 20: this time it stays collapsed.
    train(run, 2, dict.fromkeys(range(21, 31), COLLAPSED))
    assert events(run) == [(8, "raised", STARVED)]
    train(run, 3, dict.fromkeys(range(31, 51), EVEN))
    straight = RunFolder(tmp_path / "straight")
    train(straight, 1, dict.fromkeys(range(1, 31), COLLAPSED) | dict.fromkeys(range(31, 51), EVEN))
    assert run.alarms.read_text() == straight.alarms.read_text()


def test_the_training_metrics_carry_the_alarms_also_in_the_first_step_after_a_resume(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    train(run, 1, dict.fromkeys(range(1, 21), COLLAPSED) | {21: EVEN, 22: EVEN})
    found = train(run, 2, {21: COLLAPSED} | dict.fromkeys(range(22, 27), EVEN))
    assert [metrics["mad/alarm/starved_categories"] for metrics in found] == [4.0, 4.0, 4.0, 0.0, 0.0, 0.0]


def test_alarms_reach_the_console_once_and_above_the_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFolder(tmp_path)
    train(run, 1, dict.fromkeys(range(1, 31), COLLAPSED))
    with progress_of(run.attempt_metrics(1), 30, 0, _notices(run, 0)) as show:
        show()
        show()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "ALARM" in line]
    assert line.startswith("ALARM starved_categories at step 8: over the last 8 steps the shares of on-support resp")
    assert len(line) > 500, "an alarm is one line, also in a log"


def test_a_resumed_attempt_tells_its_new_reader_which_alarms_are_on_and_then_what_is_new(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    train(run, 1, dict.fromkeys(range(1, 21), COLLAPSED) | dict.fromkeys(range(21, 41), EVEN))
    notices = _notices(run, 20)
    assert notices(20) == [], "its validation, before the training has rewritten the events"
    train(run, 2, dict.fromkeys(range(21, 41), COLLAPSED) | dict.fromkeys(range(41, 61), EVEN))
    (first,) = notices(21)
    assert first.startswith("ALARM starved_categories at step 8: over the last 8 steps")
    assert [line for step in range(22, 43) for line in notices(step)] == []
    (over,) = [line for step in range(43, 61) for line in notices(step)]
    assert over.startswith("alarm starved_categories over at step 43, after 35 steps: over the last 8 steps")


def test_the_launch_check_of_a_run_that_goes_on_is_said_at_its_first_step(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.launch_check.write_text("launch check: all is English\n")
    notices = _notices(run, 0)
    assert [notices(step) for step in (0, 1, 2)] == [[], ["launch check: all is English"], []]


def test_verl_tags_each_response_with_its_length_in_tokens() -> None:
    source = inspect.getsource(AgentLoopWorkerTQ.__ray_metadata__.modified_class._agent_loop_postprocess)
    assert '"response_len": response_len' in source, "replay_buffer._records reads it"
