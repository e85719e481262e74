"""A real run that stands still in the middle of a phase, for whoever wants to kill one of its processes there.

    actor_rollout_ref.rollout.agent.agent_loop_manager_class=held_phases.HeldManager
    actor_rollout_ref.model.external_lib=held_engine     (for update and checkpoint)
    madrl.classifier=held_phases:classify                (for judging)

While the file HOLD_FOLDER/<phase> is there, every process of the run that comes to that phase waits. The first that
does so writes its process id into HOLD_FOLDER/<phase>.reached. A number in the file is the first step that is held.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import ray

from madrl.rollout import Classification, Rollout
from madrl.trainer.group_loop import GroupAgentLoopManager, GroupAgentLoopWorker

PHASES = ("generation", "judging", "update", "checkpoint", "validation")

LOOK_EVERY_S = 0.02


def wish(phase: str) -> Path:
    """The file that holds the phase."""
    return Path(os.environ["HOLD_FOLDER"]) / phase


def reached(phase: str) -> Path:
    """The file that says who waits in the phase."""
    return wish(phase).with_suffix(".reached")


def is_held(phase: str, step: int | None = None) -> bool:
    """Whether to wait in the phase; whoever is told so is written down."""
    try:
        first = wish(phase).read_text()
    except FileNotFoundError:
        return False
    if first and step is not None and step < int(first):
        return False
    if not reached(phase).exists():
        reached(phase).write_text(str(os.getpid()))
    return True


def hold(phase: str) -> None:
    while is_held(phase):
        time.sleep(LOOK_EVERY_S)


def classify(rollout: Rollout) -> Classification:
    """``classify_by_checksum``, held while it judges."""
    from plugins_under_test import classify_by_checksum  # which imports this module

    hold("judging")
    return classify_by_checksum(rollout)


class HeldWorker(GroupAgentLoopWorker):
    """Holds the first session of each prompt, in training and in validation: its siblings go on."""

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any) -> Any:
        phase = "validation" if trajectory["validate"] else "generation"
        while kwargs["session_id"] == 0 and is_held(phase, int(trajectory["step"])):
            await asyncio.sleep(LOOK_EVERY_S)
        return await super()._run_agent_loop(sampling_params, trajectory, **kwargs)


class HeldManager(GroupAgentLoopManager):
    """GroupAgentLoopManager with HeldWorker actors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(HeldWorker)
