"""veRL's checkpoint callback that pushes to a hub, beside a run that must not notice."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import Hub, hub_server
from huggingface_hub import constants
from made_runs import Made, write_run
from omegaconf import DictConfig, OmegaConf
from verl.trainer.ppo.checkpoint_callback import build_checkpoint_callback

from madrl.errors import MadrlError
from madrl.run_folder import RunFolder
from madrl.trainer.compose import HUB_CALLBACK, compose
from madrl.trainer.hub_push import PushToHub, push_last

RUN = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
HUB = [*RUN, "hub.model_id=us/mine"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_server() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_of_mine")
        yield hub


@pytest.fixture
def config(tmp_path: Path) -> DictConfig:
    """Of a run of 40 steps with three checkpoints."""
    root = write_run(Made(problems=10, holdout=False), tmp_path)
    run = RunFolder(root)
    for step in (10, 20, 40):
        run.model(step).mkdir(parents=True)
        (run.model(step) / "model.safetensors").write_text(f"weights of {step}")
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("40")
    config = OmegaConf.load(run.config)
    callback = {"trainer": {"checkpoint_callback_class": HUB_CALLBACK}}
    merged = OmegaConf.merge(config, callback, {"hub": {"model_id": "us/mine", "private": True}})
    assert isinstance(merged, DictConfig)
    return merged


def save(callback: Any, step: int) -> None:
    """What veRL's trainer calls."""
    callback.on_save(trainer=None, global_step=step, checkpoint_dir="elsewhere", async_save=False)


def finish(callback: PushToHub) -> None:
    callback._push.join()


def test_a_checkpoint_is_pushed_while_the_run_goes_on_and_the_last_one_by_its_launcher(
    hub: Hub, config: DictConfig
) -> None:
    callback = build_checkpoint_callback(config)
    hub.open.clear()
    save(callback, 10)  # comes back, though the hub does not answer
    assert hub.asked.wait()
    save(callback, 20)  # passed over: the push before it has not ended
    hub.open.set()
    finish(callback)
    save(callback, 40)
    finish(callback)
    ((_, message, files),) = hub.commits
    assert message.startswith("Step 10 of ")
    assert files["model.safetensors"] == b"weights of 10"
    assert "| validation, step 0 |\n" in files["README.md"].decode(), "not of step 10, which may be half written"
    assert push_last(config) == "step 40 is on the hub as us/mine"
    _, message, files = hub.commits[-1]
    assert message.startswith("Step 40 of ")
    assert "| validation, step 0 | validation, step 40 |" in files["README.md"].decode()


def test_an_outage_is_said_once_ends_nothing_and_the_next_checkpoint_is_a_new_attempt(
    hub: Hub, config: DictConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    callback = build_checkpoint_callback(config)
    hub.broken = True
    for step in (10, 20, 20):
        save(callback, step)
        finish(callback)
    assert hub.attempts == 3
    first, line, *more = capsys.readouterr().out.splitlines()
    assert [first, *more] == [f"pushing step {step} to us/mine" for step in (10, 20, 20)]
    assert line.startswith("step 10 is not on the hub: could not push to us/mine: HfHubHTTPError Server error '500")
    assert line.endswith("The run goes on, and its next checkpoint is tried again")
    failed = push_last(config)
    assert failed.startswith("step 40 is not on the hub: could not push to us/mine: ")
    assert failed.endswith(f"madrl card {config.paths.run} --push us/mine tries again")
    hub.broken = False
    save(callback, 20)
    finish(callback)
    assert capsys.readouterr().out.splitlines()[1:] == ["the checkpoints are on the hub again"]
    assert [message.split()[1] for _, message, _ in hub.commits] == ["20"]


def test_nobody_waits_for_a_hub_for_ever(hub: Hub, config: DictConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madrl.trainer.hub_push.LAST_PUSH_S", 0.1)
    hub.open.clear()
    before = threading.active_count()
    assert push_last(config).startswith("step 40 is not on the hub after 0 s: madrl card ")
    assert threading.active_count() > before, "nor does it wait at the end of the process"
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.endswith("(<lambda>)"))


def test_a_run_pushes_only_where_it_is_told_to() -> None:
    assert compose(RUN).trainer.checkpoint_callback_class is None
    assert compose(HUB).trainer.checkpoint_callback_class == HUB_CALLBACK


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["hub.model_id=a/b/c"], "'a/b/c' is no name of a model on the hub"),
        (["+hub.model=us/mine"], "unknown key hub.model"),
        (["hub.private=maybe"], "hub.private='maybe' is not true or false"),
        (["hub.model_id=us/mine", "trainer.save_freq=-1"], "set trainer.save_freq above 0"),
        (
            ["hub.model_id=us/mine", "actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]"],
            "with hf_model in",
        ),
        (["hub.model_id=us/mine", "actor_rollout_ref.model.lora_rank=8"], "`madrl card RUN --push us/mine`"),
        (
            ["hub.model_id=us/mine", "trainer.checkpoint_callback_class=collections.Counter"],
            "derive yours from madrl.trainer.hub_push.PushToHub",
        ),
    ],
)
def test_what_could_not_be_pushed_is_refused_before_the_run_starts(overrides: list[str], said: str) -> None:
    with pytest.raises(MadrlError) as error:
        compose([*RUN, *overrides])
    assert said in str(error.value)
