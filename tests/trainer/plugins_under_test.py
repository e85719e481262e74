"""A user's own classifier and a group loop with a session that raises, for runs of the real trainer."""

import asyncio
import os
import zlib
from pathlib import Path
from typing import Any

import ray

from madrl.rollout import Classification, Rollout
from madrl.trainer.group_loop import GroupAgentLoopManager, GroupAgentLoopWorker

FAILING_SESSION = 1
"""This session of every other prompt raises after it has been generated."""


def classify_by_checksum(rollout: Rollout) -> Classification:
    """Spreads an untrained model's answers over the ranks and off-support; notes which process was asked."""
    with Path(os.environ["CLASSIFIER_PIDS"]).open("a") as file:
        file.write(f"{os.getpid()}\n")
    rank = zlib.crc32(rollout.response.encode()) % 6
    return Classification(f"rank_{rank}" if rank else None)


def classify_by_problem(rollout: Rollout) -> Classification:
    """One category for all responses to every other problem, whose groups have collapsed then."""
    return Classification("rank_3") if rollout.extra_info["index"] % 2 else classify_by_checksum(rollout)


class FlakyWorker(GroupAgentLoopWorker):
    """Raises before the response reaches the reward stage; begins no step after HELD_AFTER, where that is set."""

    async def _run_prompt(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], trajectory: dict[str, Any], trace: bool = False
    ) -> None:
        if int(trajectory["step"]) > int(os.environ.get("HELD_AFTER", trajectory["step"])):
            await asyncio.sleep(3600)  # until somebody kills us
        await super()._run_prompt(prompt, sampling_params, trajectory, trace)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if kwargs["session_id"] == FAILING_SESSION and kwargs["index"] % 2 == 0 and not validate:
            raise RuntimeError("this session was told to fail")
        await super()._agent_loop_postprocess(output, validate, **kwargs)


class FlakyManager(GroupAgentLoopManager):
    """GroupAgentLoopManager with FlakyWorker actors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(FlakyWorker)
