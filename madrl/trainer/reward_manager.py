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
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
from verl.protocol import DataProto

from madrl.frequency import category_indices
from madrl.grading.classifiers import load_classifier
from madrl.grading.grader import PluginError, classify_response, verify_response
from madrl.grading.verifiers import load_verifier
from madrl.reward import score_group
from madrl.rollout import Grade, Rollout
from madrl.settings import Settings

STAGE = "madrl_stage"
GRADE = "grade"
GRADE_COLUMN = "madrl_grade"


class MadRewardManager(RewardManagerBase):
    """Scores one prompt's group against the target of the config's ``madrl`` node."""

    def __init__(
        self,
        config: DictConfig,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        node = OmegaConf.to_container(config.madrl, resolve=True)
        assert isinstance(node, dict)
        self.settings = Settings.from_config({str(key): value for key, value in node.items()})
        self.classify = load_classifier(self.settings.classifier)
        self.verify = load_verifier(self.settings.verifier, compute_score)
        self.grading = 0
        """Responses that have come and have no grade yet."""

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Judge or score. Returns {"grades": [...]}, or lists of G entries {"reward_score", "reward_extra_info"}."""
        if data.meta_info.get(STAGE) == GRADE:
            return {"grades": await self.grade(data)}
        graded = data.non_tensor_batch.get(GRADE_COLUMN)
        grades = []
        for grade in await self.grade(data) if graded is None else graded:
            if isinstance(grade, Exception):
                raise grade
            grades.append(grade)
        return self.score(data, grades)

    async def grade(self, data: DataProto) -> list[Grade | Exception]:
        """Classify and verify each response, concurrently; a PluginError in the place of one that a mistake of
        the classifier or the verifier leaves without a grade: that is not the fault of its siblings."""
        return list(await asyncio.gather(*(self._grade_one(rollout) for rollout in self.rollouts(data))))

    async def _grade_one(self, rollout: Rollout) -> Grade | Exception:
        self.grading += 1
        queued = self.grading
        try:
            settings = self.settings
            category, reason = classify_response(self.classify, settings.classifier, rollout, settings.categories)
            found = await verify_response(self.verify, settings.verifier, rollout)
        except PluginError as error:
            return error
        finally:
            self.grading -= 1
        return Grade(category, found.correctness, found.answer, found.reason or reason, found.extra, queued)

    def rollouts(self, data: DataProto) -> list[Rollout]:
        """The responses as text, each with its prompt row's reference."""
        columns = data.non_tensor_batch
        return [
            Rollout(
                response=self._written(data.batch["responses"][i], data.batch["response_mask"][i]),
                ground_truth=str(columns["reward_model"][i]["ground_truth"]),
                extra_info=dict(columns["extra_info"][i]),
                data_source=str(columns["data_source"][i]),
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

    def score(self, data: DataProto, grades: Sequence[Grade]) -> dict[str, Any]:
        """The rewards of one whole group, and what the metrics and the dumps keep of each response."""
        uids = set(data.non_tensor_batch["uid"].tolist())
        if len(uids) != 1:
            raise ValueError(f"MadRewardManager was given {len(uids)} prompts at once: it scores one group a call")
        settings, names = self.settings, self.settings.categories
        indices = category_indices([j.category for j in grades], names)
        scored = score_group(indices, [j.correctness for j in grades], settings.target, settings.reward)
        reward = scored.reward
        if len(grades) == 1 and not data.meta_info.get("validate"):
            # GRPO gives a trajectory without siblings its raw reward as advantage; it has nothing to be compared with.
            reward = np.zeros(1)
        infos = []
        for i, grade in enumerate(grades):
            info: dict[str, Any] = {
                "category": grade.category,
                "verdict": str(grade.verdict),
                "answer": grade.answer,
                "reason": grade.reason,
                "split": str(data.non_tensor_batch["extra_info"][i].get("split", "")),
                # Text, because veRL's validation averages numeric columns.
                "row": str(data.non_tensor_batch["extra_info"][i]["index"]),
                # veRL averages its "acc" over failed sessions as well and counts them wrong, so ours has its own name.
                "correct": grade.correctness,
                "correctness": float(scored.correctness[i]),
                "divergence_reward": float(scored.divergence_reward[i]),
                "queued": grade.queued,
                # As text: veRL's validation takes the mean of everything else.
                "verifier_extra": json.dumps(grade.extra, ensure_ascii=False) if grade.extra else None,
            }
            if data.meta_info.get("validate"):
                # veRL's validation averages numeric columns: these means are the category shares.
                info |= {f"share/{name}": float(grade.category == name) for name in names}
            infos.append(info)
        return {"reward_score": [float(r) for r in reward], "reward_extra_info": infos}
