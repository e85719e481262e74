"""The group RewardManager that veRL's reward workers run.

    reward.reward_manager.source=importlib
    reward.reward_manager.name=MadRewardManager
    reward.reward_manager.module.path=pkg://madrl.trainer.reward_manager

One call of ``run_single`` sees all G responses to one prompt. ``GroupAgentLoopManager`` calls it twice: while the
group is being generated, with some responses and ``meta_info[STAGE] = GRADE``, to classify and verify them; and once
with the whole group and those grades in GRADE_COLUMN, to score it.
"""

import asyncio
import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
from verl.protocol import DataProto

from madrl.grading.compute_score import ComputeScore
from madrl.grading.plugins import PluginError
from madrl.grading.verifiers import COMPUTE_SCORE
from madrl.group_reward import GroupReward
from madrl.hints import HINT_COLUMN, counted_sessions
from madrl.prompt_targets import ROW_TARGET, PromptTarget
from madrl.records import ATTRIBUTES, CLASSIFIED, CLUSTER, HINTED, TARGET
from madrl.rollout import Grade, GroupScore, Rollout
from madrl.settings import ARGUMENTS, Settings

STAGE = "madrl_stage"
GRADE = "grade"
GRADE_COLUMN = "madrl_grade"
STEP = "madrl_step"
"""The key of ``meta_info`` with the training step that the group is of."""


def group_reward(config: DictConfig, compute_score: ComputeScore | None = None) -> GroupReward:
    """The reward that the ``madrl`` node of a run's config describes. ``compute_score`` may be veRL's default scorer,
    where its verifier is another one."""
    node: Any = OmegaConf.to_container(config.madrl, resolve=True)
    named = {name: node[name] for name in ("categories", "target", "classifier", "verifier", *ARGUMENTS)}
    named["attributes"] = node.get("attributes") or {}
    if node["verifier"] == COMPUTE_SCORE:
        named["compute_score"] = compute_score
    return GroupReward(**named, **node["reward"])


class MadRewardManager(RewardManagerBase):
    """A GroupReward behind veRL's interface: DataProto in, rewards and what the dumps keep of each response out."""

    def __init__(
        self,
        config: DictConfig,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self.reward = group_reward(config, compute_score)
        node: Any = OmegaConf.to_container(config.madrl, resolve=True)
        self.settings = Settings.from_config(node)
        self.reward.prepare(counted_sessions(self.settings.hints, config.actor_rollout_ref.rollout.n))

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Grade or score.

        Returns {"grades": [...]}, where a response that a mistake of the classifier or the verifier leaves without a
        grade has a PluginError in place of one, which is not its siblings' fault; or {"reward_score",
        "reward_extra_info"}, lists of G entries each. Raises PluginError when it scores responses that nobody graded
        before, and one of them cannot be.
        """
        graded = data.non_tensor_batch.get(GRADE_COLUMN)
        if data.meta_info.get(STAGE) == GRADE:
            return {"grades": await asyncio.gather(*map(self._grade, self.rollouts(data)))}
        uids = set(data.non_tensor_batch["uid"].tolist())
        if len(uids) != 1:
            raise ValueError(f"MadRewardManager was given {len(uids)} prompts at once: it scores one group a call")
        hints = data.non_tensor_batch.get(HINT_COLUMN)
        hinted = None if hints is None else [bool(hint) for hint in hints]
        validate = bool(data.meta_info.get("validate"))
        extra_infos = list(data.non_tensor_batch["extra_info"])
        if graded is None:
            graded = await asyncio.gather(*map(self.reward.grade, self.rollouts(data)))
        target = self.reward.target_of(extra_infos)
        if self.settings.target_schedule is not None and not validate:
            shares = self.settings.target_at(data.meta_info[STEP])
            target = PromptTarget.of(self.settings.categories, shares)
        score = await self.reward.of_grades(graded, hinted, target)
        reward = score.reward
        marks: list[dict[str, Any]]
        marks = [{}] * len(reward) if hints is None else [{HINTED: hint or None} for hint in hints]
        # All rows of a file have the same fields, so that all responses get the same keys, which veRL relies on.
        has_own = target is not None or ROW_TARGET in extra_infos[0]
        own: dict[str, Any] = {TARGET: target and target.text} if has_own else {}
        if CLUSTER in extra_infos[0]:
            own[CLUSTER] = extra_infos[0][CLUSTER]
        if len(reward) == 1 and not validate:
            # GRPO gives a trajectory without siblings its raw reward as advantage; it has nothing to be compared with.
            reward = np.zeros(1)
        infos = [
            {
                **self._grade_info(grade, validate),
                **mark,
                **own,
                **further,
                "split": str(extra_info.get("split", "")),
                # Text, because veRL's validation averages numeric columns.
                "row": str(extra_info["index"]),
                "correctness": float(correctness),
                "divergence_reward": float(divergence_reward),
            }
            for grade, mark, further, extra_info, correctness, divergence_reward in zip(
                score.grades,
                marks,
                self._attributes(score),
                extra_infos,
                _of_exact_deviation(score.correctness),
                _of_exact_deviation(score.divergence_reward),
                strict=True,
            )
        ]
        return {"reward_score": reward.tolist(), "reward_extra_info": infos}

    def _attributes(self, score: GroupScore) -> list[dict[str, str]]:
        """What each response is of each further attribute, and what that earned it."""
        if not self.reward.attributes:
            return [{}] * len(score.grades)
        found = []
        for i, grade in enumerate(score.grades):
            earned = dict(zip(grade.attributes, score.attributes, strict=True))
            of_each = {
                name: {
                    "category": one.category,
                    CLASSIFIED: one.classified,
                    "divergence_reward": float(earned[name].divergence_reward[i]),
                }
                for name, one in grade.attributes.items()
            }
            found.append({ATTRIBUTES: json.dumps(of_each, ensure_ascii=False)})  # as text, like verifier_extra
        return found

    async def _grade(self, rollout: Rollout) -> Grade | PluginError:
        try:
            return await self.reward.grade(rollout)
        except PluginError as error:
            return error

    def _grade_info(self, grade: Grade, validate: bool) -> dict[str, Any]:
        info: dict[str, Any] = {
            "category": grade.category,
            # Null in place of true, for veRL's validation bootstraps every column of numbers.
            CLASSIFIED: None if grade.classified else False,
            "verdict": str(grade.verdict),
            "answer": grade.answer,
            "reason": grade.reason,
            "unusual": grade.unusual or None,
            # veRL averages its "acc" over failed sessions as well and counts them wrong, so ours has its own name.
            "correct": grade.correctness,
            "queued": grade.queued,
            # As text: veRL's validation takes the mean of everything else.
            "verifier_extra": json.dumps(grade.extra, ensure_ascii=False) if grade.extra else None,
        }
        if validate:
            # veRL's validation averages numeric columns: these means are the category shares.
            info |= {
                f"share/{name}": float(grade.category == name) if grade.classified else None
                for name in self.reward.categories
            }
        return info

    def rollouts(self, data: DataProto) -> list[Rollout]:
        """The responses as text, each with its prompt row's reference."""
        columns = data.non_tensor_batch
        return [
            Rollout.to_row(
                {name: columns[name][i] for name in ("reward_model", "extra_info", "data_source")},
                self._written(data.batch["responses"][i], data.batch["response_mask"][i]),
            )
            for i in range(len(data))
        ]

    def _written(self, tokens: torch.Tensor, mask: torch.Tensor) -> str:
        """What the model itself wrote, without special tokens: neither padding nor a tool's output, which is a line
        break between two of its turns."""
        edges = (mask.diff().nonzero().flatten() + 1).tolist()
        turns = zip(tokens.tensor_split(edges), mask.tensor_split(edges), strict=True)
        texts = [self.tokenizer.decode(turn, skip_special_tokens=True) for turn, written in turns if written.any()]
        return "\n".join(texts)


def _of_exact_deviation(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``values``; where all are equal and their deviation is not 0, for their sum is not exact, as float32s, whose is.
    DAPO's filter in veRL takes only a deviation of exactly 0 for none."""
    if np.ptp(values) == 0.0 and np.std(values) != 0.0:
        return values.astype(np.float32).astype(np.float64)
    return values
