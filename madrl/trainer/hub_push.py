"""Checkpoints to the Hugging Face hub while a run goes on: veRL's ``trainer.checkpoint_callback_class``.

    hub.model_id=ME/MODEL

veRL calls the callback in the trainer's own process after each checkpoint, and lets whatever it raises end the run. So
a push has a thread of its own, and its failure is a line in the log; the next checkpoint is a new attempt. The last one
is pushed by `madrl train` when veRL has ended, with the last validation in its card.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any

from omegaconf import DictConfig
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback

from madrl.evaluation.dumps import Run
from madrl.hub import push
from madrl.run_folder import RunFolder

LAST_PUSH_S = 3600.0
"""How long what follows a run waits for its last checkpoint: minutes for tens of gigabytes, and not for ever."""


class PushToHub(CheckpointCallback):
    """Pushes each checkpoint but the last. One that is written during the push before it is passed over."""

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        self._push = Thread()
        self._failed = False

    def on_save(
        self, trainer: Any, global_step: int, checkpoint_dir: str, async_save: bool = False, **more: Any
    ) -> None:
        """Begin to push the checkpoint of ``global_step``."""
        if global_step < self.config.trainer.total_training_steps and not self._push.is_alive():
            print(f"pushing step {global_step} to {self.config.hub.model_id}", flush=True)
            # The dump of this step's validation is about to be written.
            self._push = in_background(lambda: self._say(push_step(self.config, global_step, global_step - 1)))

    def _say(self, problem: str | None) -> None:
        """A failure, once in a row of them, and its end."""
        if problem and not self._failed:
            print(f"{problem}. The run goes on, and its next checkpoint is tried again", flush=True)
        elif self._failed and not problem:
            print("the checkpoints are on the hub again", flush=True)
        self._failed = bool(problem)


def push_last(config: DictConfig) -> str:
    """Push the last checkpoint of a run that has ended; what came of it, in one line."""
    run, said = RunFolder(config.paths.run), []
    step = run.checkpoint_step()
    in_background(lambda: said.append(push_step(config, step, step))).join(LAST_PUSH_S)
    if not said:
        problem: str | None = f"step {step} is not on the hub after {LAST_PUSH_S:.0f} s"
    else:
        (problem,) = said
    again = f"madrl card {run.root} --push {config.hub.model_id}"
    return f"{problem}: {again} tries again" if problem else f"step {step} is on the hub as {config.hub.model_id}"


def push_step(config: DictConfig, step: int, evaluated_to: int) -> str | None:
    """Push one checkpoint; None, or what went wrong."""
    try:
        run = Run.load(config.paths.run)
        push(run, run.folder.model(step), config.hub.model_id, config.hub.private, step, evaluated_to)
    except Exception as error:  # a run is worth more than its copy
        return f"step {step} is not on the hub: {str(error) or type(error).__name__}"
    return None


def in_background(task: Callable[[], object]) -> Thread:
    """A thread that nobody waits for at the end of the process."""
    thread = Thread(target=task, daemon=True)
    thread.start()
    return thread
