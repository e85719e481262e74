"""A user's own classifiers, naming and reward function, group loops with sessions that raise, and a replay buffer that
writes down what was trained on, for real runs."""

import json
import os
import zlib
from pathlib import Path
from typing import Any

import ray
import transfer_queue as tq
from held_phases import HeldWorker

from madrl.rollout import Classification, Rollout
from madrl.trainer.group_loop import GroupAgentLoopManager, GroupAgentLoopWorker
from madrl.trainer.replay_buffer import MadReplayBuffer

FAILING_SESSION = 1
"""This session of every other prompt raises after it has been generated."""


def _note_process() -> None:
    with Path(os.environ["CLASSIFIER_PIDS"]).open("a") as file:
        file.write(f"{os.getpid()}\n")


def classify_by_checksum(rollout: Rollout) -> Classification:
    """Spreads an untrained model's answers over the ranks and off-support; notes which process was asked."""
    _note_process()
    rank = zlib.crc32(rollout.response.encode()) % 6
    return Classification(f"rank_{rank}" if rank else None)


def score_by_checksum(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], parts: int
) -> dict[str, Any]:
    """veRL's kind of reward function: 0, 1/parts, ... 1, and what it looked at."""
    assert data_source.startswith("synthetic_closed")
    assert len(json.loads(ground_truth)) == 5
    score = zlib.crc32(solution_str.encode()) % (parts + 1) / parts
    return {"score": score, "row": extra_info["index"], "seen": len(solution_str)}


def classify_by_problem(rollout: Rollout) -> Classification:
    """One category for all responses to every other problem, whose groups have collapsed then."""
    return Classification("rank_3") if rollout.extra_info["index"] % 2 else classify_by_checksum(rollout)


def classify_without_the_last(rollout: Rollout) -> Classification:
    """``classify_by_checksum`` without the last rank, which is missing then."""
    _note_process()
    rank = zlib.crc32(rollout.response.encode()) % 5
    return Classification(f"rank_{rank}" if rank else None)


def ask_for_rank(prompt: str, category: str) -> str:
    """How a prompt asks for a rank."""
    return f"{prompt} Choose {category}."


class WatchedBuffer(MadReplayBuffer):
    """Writes down what the trainer has of each response when it is done with it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        clear = tq.kv_clear

        def write_down_and_clear(keys: list[str], partition_id: str) -> None:
            if partition_id == "train" and "_" in keys[0]:  # not when a prompt's own entry is cleared
                fields = ["prompts", "rollout_log_probs", "old_log_probs"]
                found = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=fields)
                columns = {name: [row.tolist() for row in found[name]] for name in fields}
                with (self.run.root / "trained_on.jsonl").open("a") as file:
                    for i, key in enumerate(keys):
                        row = {name: column[i] for name, column in columns.items()}
                        file.write(json.dumps({"key": key, **row}) + "\n")
            clear(keys=keys, partition_id=partition_id)

        tq.kv_clear = write_down_and_clear


class FlakyWorker(HeldWorker):
    """Raises before the response reaches the reward stage."""

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if kwargs["session_id"] == FAILING_SESSION and kwargs["index"] % 2 == 0 and not validate:
            raise RuntimeError("this session was told to fail")
        await super()._agent_loop_postprocess(output, validate, **kwargs)


class FlakyManager(GroupAgentLoopManager):
    """GroupAgentLoopManager with FlakyWorker actors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(FlakyWorker)


class LosingWorker(GroupAgentLoopWorker):
    """Loses every session of every third prompt after it has been generated."""

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if kwargs["index"] % 3 == 0:
            raise RuntimeError("this prompt was told to fail")
        await super()._agent_loop_postprocess(output, validate, **kwargs)


class LosingManager(GroupAgentLoopManager):
    """GroupAgentLoopManager with LosingWorker actors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(LosingWorker)
