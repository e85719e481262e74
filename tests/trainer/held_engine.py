"""The FSDP engine, held in the middle of an update and of a checkpoint: see held_phases.

    actor_rollout_ref.model.external_lib=held_engine

veRL imports that module in each process that has a model, where it takes the place of what it holds.
"""

from typing import Any

from held_phases import hold
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

_step, _save = FSDPEngine.optimizer_step, FSDPEngine.save_checkpoint


def held_step(self: Any) -> Any:
    """Waits between the gradient and the optimizer's step."""
    hold("update")
    return _step(self)


def held_save(self: Any, *args: Any, **kwargs: Any) -> None:
    """Waits between a checkpoint's files and veRL's note that it is complete."""
    _save(self, *args, **kwargs)
    hold("checkpoint")


FSDPEngine.optimizer_step, FSDPEngine.save_checkpoint = held_step, held_save
