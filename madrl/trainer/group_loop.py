"""veRL's agent loop, with a reward stage that sees whole groups.

    actor_rollout_ref.rollout.agent.agent_loop_manager_class=madrl.trainer.group_loop.GroupAgentLoopManager

veRL runs all n sessions of one prompt inside one AgentLoopWorkerTQ actor and scores each alone, on a random reward
worker, so siblings scatter. Here each response goes to a reward worker as it arrives, to be classified and verified;
when the last sibling is in, one DataProto of the whole group goes to one reward worker (``MadRewardManager``).
"""

import gc
import hashlib
import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import ray
import torch
from omegaconf import OmegaConf
from tensordict import NonTensorData, NonTensorStack, TensorDict
from verl.experimental.agent_loop import AgentLoopOutput
from verl.protocol import DataProto
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ
from verl.trainer.ppo.v1.agent_loop_tq import logger as verl_logger
from verl.utils.tensordict_utils import assign_non_tensor_data

from madrl.errors import MadrlError
from madrl.grading.plugins import PluginError
from madrl.hints import HINT_COLUMN, ShareMean, hinted_sessions
from madrl.rollout import Grade
from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.trainer.hinted_loop import HINTED_LOOP, PLAIN_LOOP
from madrl.trainer.prompt_group import PromptGroup
from madrl.trainer.reward_manager import GRADE, GRADE_COLUMN, STAGE, STEP
from madrl.trainer.seeded_requests import SEEDED, begin_session
from madrl.trainer.verl_settings import SEED_PARAMETER

_AgentLoopWorker: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class

GROUP_TIMING = "madrl_timing"
"""Key of each response's ``extra_fields`` under which the replay buffer finds its ``Timing``, as a dict."""

AGAIN_COLUMN = "madrl_again"
"""Column of a batch in which a prompt is sampled once more in its step: how often each row was before."""


class Arrival(NamedTuple):
    """One session's final output and the prompt row it answers.

    An agent loop may give several outputs for a session; veRL's convention is that the last one is the answer, and the
    others share its reward. With tools, one output holds all turns, and a mask tells the model's tokens from theirs.
    """

    output: AgentLoopOutput
    row: Mapping[str, Any]


class GroupAgentLoopWorker(_AgentLoopWorker):
    """Runs the sessions of a prompt as veRL does, with a seed for each session and one reward call per group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        verl_logger.addFilter(without_its_traceback)
        self.llm_client.__class__ = SEEDED[type(self.llm_client)]
        # A full garbage collection walks everything that the imports left, and stalls all sessions for half a second.
        gc.collect()
        gc.freeze()
        self._groups: dict[str, PromptGroup[Arrival, Grade]] = {}

    async def _run_prompt(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], trajectory: dict[str, Any], trace: bool = False
    ) -> None:
        rollout = self.config.actor_rollout_ref.rollout
        validate = bool(trajectory["validate"])
        size = int(prompt.get("__rollout_n__", rollout.val_kwargs.n if validate else rollout.n))

        async def score(arrivals: Sequence[Arrival], grades: Sequence[Grade]) -> list[tuple[float, Any]]:
            data = group_data(arrivals, {"validate": validate, STEP: int(trajectory["step"])}, grades)
            out = await self._ask_reward_worker(data)
            return list(zip(out["reward_score"], out["reward_extra_info"], strict=True))

        self._groups[prompt["uid"]] = PromptGroup(size, self._grade, score)
        try:
            await super()._run_prompt(prompt, sampling_params, trajectory, trace)
        finally:
            self._groups.pop(prompt["uid"], None)

    async def _run_agent_loop(
        self,
        sampling_params: dict[str, Any],
        trajectory: dict[str, Any],
        *,
        agent_name: str,
        trace: bool = True,
        **kwargs: Any,
    ) -> Any:
        group = self._groups[kwargs["uid"]]
        rollout = self.config.actor_rollout_ref.rollout
        if HINT_COLUMN in kwargs:
            if kwargs["session_id"] not in hinted_sessions(self.config.madrl.hints, group.size):
                kwargs[HINT_COLUMN] = ""
            elif kwargs[HINT_COLUMN]:
                agent_name = HINTED_LOOP
        begin_session()
        seed = session_seed(rollout.seed, trajectory, kwargs, int(kwargs.pop(AGAIN_COLUMN, 0)))
        seeded = {**sampling_params, SEED_PARAMETER[rollout.name]: seed}
        try:
            return await super()._run_agent_loop(seeded, trajectory, agent_name=agent_name, trace=trace, **kwargs)
        finally:  # a session that failed or gave no output must not hold its siblings up
            group.leave(kwargs["session_id"])

    async def _compute_score(self, outputs: list[AgentLoopOutput], kwargs: dict[str, Any]) -> None:
        final = outputs[-1]
        scored = await self._groups[kwargs["uid"]].submit(kwargs["session_id"], Arrival(final, kwargs))
        final.reward_score, final.extra_fields["reward_extra_info"] = scored.result
        final.extra_fields[GROUP_TIMING] = scored.timing._asdict()
        final.metrics.compute_score = scored.timing.grade_s + scored.timing.score_s

    async def _grade(self, arrivals: Sequence[Arrival]) -> list[Grade | Exception]:
        out = await self._ask_reward_worker(group_data(arrivals, {STAGE: GRADE}))
        grades: list[Grade | Exception] = out["grades"]
        return grades

    async def _ask_reward_worker(self, data: DataProto) -> dict[str, Any]:
        """One request to one reward worker; a worker that has died is passed over for the next."""
        handles = list(self.reward_loop_worker_handles)
        random.shuffle(handles)
        for handle in handles[:-1]:
            try:
                return dict(await handle.compute_score.remote(data))
            except ray.exceptions.RayActorError:
                continue
        return dict(await handles[-1].compute_score.remote(data))


class GroupAgentLoopManager(AgentLoopManagerTQ):
    """veRL's manager with GroupAgentLoopWorker actors, which says what hinted sessions are asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.reward_loop_worker_handles is None:
            raise ValueError(
                "veRL scores no response while it is generated, which MaD-RL's groups need: set "
                "reward.reward_model.enable=False"
            )
        self.agent_loop_workers_class = ray.remote(GroupAgentLoopWorker)
        settings = Settings.from_config(OmegaConf.to_container(self.config.madrl, resolve=True))  # type: ignore[arg-type]
        self._shares = ShareMean(settings, RunFolder(self.config.paths.run)) if settings.hints else None
        self._step = -1
        self._submitted: Counter[str] = Counter()
        """How often each prompt was submitted in this training step."""

    def generate_sequences(self, prompts: TensorDict) -> None:
        """Start the prompts' sessions as veRL does; a training batch is told which category to ask for, if any.

        Raises MadrlError for a training prompt that chooses an agent loop of its own, which cannot be hinted.
        """
        if self._shares is not None and "validate" not in prompts:
            other = {str(name) for name in prompts["agent_name"]} - {PLAIN_LOOP} if "agent_name" in prompts else set()
            if other:
                raise MadrlError(
                    f"agent_name={min(other)!r} in the data with madrl.hints: only {PLAIN_LOOP} can be hinted; set "
                    "madrl.hints=0"
                )
            step = int(prompts["global_steps"])
            assign_non_tensor_data(prompts, HINT_COLUMN, self._shares.before(step).lacking(step) or "")
        if "validate" not in prompts and any(again := self._again(prompts)):
            prompts[AGAIN_COLUMN] = NonTensorStack(*map(NonTensorData, again))
        super().generate_sequences(prompts)

    def _again(self, prompts: TensorDict) -> list[int]:
        """How often each row's prompt was submitted in this step before. Where groups are dropped and others sampled in
        their place, data of few prompts come round within a step."""
        if (step := int(prompts["global_steps"])) != self._step:
            self._step = step
            self._submitted.clear()
        found = []
        for row in zip(*(prompts[key] for key in ("data_source", "index", "raw_prompt")), strict=True):
            name = repr(_prompt(*row))
            found.append(self._submitted[name])
            self._submitted[name] += 1
        return found


def _prompt(data_source: Any, index: Any, raw_prompt: Any) -> tuple[Any, ...]:
    """A prompt's name, by its place in the data and its text: veRL draws a new random uid each time."""
    return str(data_source), int(index), [(turn["role"], turn["content"]) for turn in raw_prompt]


def session_seed(run_seed: int, trajectory: Mapping[str, Any], row: Mapping[str, Any], again: int = 0) -> int:
    """The sampling seed of one session, in [0, 2^32): the same for the same (run seed, step, prompt, session, how often
    the prompt was sampled in the step before), whatever the schedule, and different for siblings.

    veRL's own ``full_determinism`` gives every request one seed, which turns a whole group into one response.
    """
    prompt = _prompt(row["data_source"], row["index"], row["raw_prompt"])
    key: tuple[Any, ...] = run_seed, int(trajectory["step"]), bool(trajectory["validate"]), prompt
    key += (int(row["session_id"]), *([again] if again else []))
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=4).digest(), "little")


def without_its_traceback(record: logging.LogRecord) -> bool:
    """A PluginError in one line: veRL logs each session that ends with one, and the traceback of what a plug-in raised
    has been logged where it was raised, once."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, PluginError):
        record.msg, record.args, record.exc_info = f"{record.getMessage()}: {error}", (), None
    return True


def group_data(
    arrivals: Sequence[Arrival], meta_info: dict[str, Any], grades: Sequence[Grade] | None = None
) -> DataProto:
    """The responses as veRL hands them to a reward manager: prompts and responses, padded, the mask of what the model
    itself wrote of each response, and the prompt rows' columns; with what is already known of each response in
    GRADE_COLUMN."""

    def padded(rows: list[list[int]]) -> torch.Tensor:
        tensors = [torch.tensor(row, dtype=torch.int64) for row in rows]
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)

    columns = {name: _object_column([a.row[name] for a in arrivals]) for name in arrivals[0].row}
    if grades is not None:
        columns[GRADE_COLUMN] = _object_column(grades)
    return DataProto(
        batch=TensorDict(
            {
                "prompts": padded([a.output.prompt_ids for a in arrivals]),
                "responses": padded([a.output.response_ids for a in arrivals]),
                "response_mask": padded([a.output.response_mask for a in arrivals]),
            },
            batch_size=len(arrivals),
        ),
        non_tensor_batch=columns,
        meta_info=meta_info,
    )


def _object_column(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """An object array with one cell per value, also where the values are themselves sequences."""
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column
