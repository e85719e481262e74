"""The group RewardManager that veRL's reward workers run.

    reward.reward_manager.source=importlib
    reward.reward_manager.name=MadRewardManager
    reward.reward_manager.module.path=pkg://madrl.trainer.reward_manager

One call of ``run_single`` sees all G responses to one prompt. ``GroupAgentLoopManager`` calls it twice: while the
group is being generated, with some responses and ``meta_info[STAGE] = JUDGE``, to classify and verify them; and once
with the whole group and those judgments in JUDGMENT_COLUMN, to score it.
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

from madrl.classifiers import load_classifier
from madrl.frequency import category_indices
from madrl.judge import PluginError, classify_response, verify_response
from madrl.reward import score_group
from madrl.rollout import Judgment, Rollout
from madrl.settings import Settings
from madrl.verifiers import load_verifier

STAGE = "madrl_stage"
JUDGE = "judge"
JUDGMENT_COLUMN = "madrl_judgment"


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
        self.judging = 0
        """Responses that have come and have no judgment yet."""

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Judge or score. Returns {"judgments": [...]}, or lists of G entries {"reward_score", "reward_extra_info"}."""
        if data.meta_info.get(STAGE) == JUDGE:
            return {"judgments": await self.judge(data)}
        judged = data.non_tensor_batch.get(JUDGMENT_COLUMN)
        judgments = []
        for judgment in await self.judge(data) if judged is None else judged:
            if isinstance(judgment, Exception):
                raise judgment
            judgments.append(judgment)
        return self.score(data, judgments)

    async def judge(self, data: DataProto) -> list[Judgment | Exception]:
        """Classify and verify each response, concurrently; a PluginError in the place of one that a mistake of
        the classifier or the verifier leaves without a judgment: that is not the fault of its siblings."""
        return list(await asyncio.gather(*(self._judge_one(rollout) for rollout in self.rollouts(data))))

    async def _judge_one(self, rollout: Rollout) -> Judgment | Exception:
        self.judging += 1
        queued = self.judging
        try:
            settings = self.settings
            category, reason = classify_response(self.classify, settings.classifier, rollout, settings.categories)
            found = await verify_response(self.verify, settings.verifier, rollout)
        except PluginError as error:
            return error
        finally:
            self.judging -= 1
        return Judgment(category, found.correctness, found.answer, found.reason or reason, found.extra, queued)

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

    def score(self, data: DataProto, judgments: Sequence[Judgment]) -> dict[str, Any]:
        """The rewards of one whole group, and what the metrics and the dumps keep of each response."""
        uids = set(data.non_tensor_batch["uid"].tolist())
        if len(uids) != 1:
            raise ValueError(f"MadRewardManager was given {len(uids)} prompts at once: it scores one group a call")
        settings, names = self.settings, self.settings.categories
        indices = category_indices([j.category for j in judgments], names)
        scored = score_group(indices, [j.correctness for j in judgments], settings.target, settings.reward)
        reward = scored.reward
        if len(judgments) == 1 and not data.meta_info.get("validate"):
            # GRPO gives a trajectory without siblings its raw reward as advantage; it has nothing to be compared with.
            reward = np.zeros(1)
        infos = []
        for i, judgment in enumerate(judgments):
            info: dict[str, Any] = {
                "category": judgment.category,
                "verdict": str(judgment.verdict),
                "answer": judgment.answer,
                "reason": judgment.reason,
                "split": str(data.non_tensor_batch["extra_info"][i].get("split", "")),
                # Text, because veRL's validation averages numeric columns.
                "row": str(data.non_tensor_batch["extra_info"][i]["index"]),
                # veRL averages its "acc" over failed sessions as well and counts them wrong, so ours has its own name.
                "correct": judgment.correctness,
                "correctness": float(scored.correctness[i]),
                "divergence_reward": float(scored.divergence_reward[i]),
                "queued": judgment.queued,
                # As text: veRL's validation takes the mean of everything else.
                "verifier_extra": json.dumps(judgment.extra, ensure_ascii=False) if judgment.extra else None,
            }
            if data.meta_info.get("validate"):
                # veRL's validation averages numeric columns: these means are the category shares.
                info |= {f"share/{name}": float(judgment.category == name) for name in names}
            infos.append(info)
        return {"reward_score": [float(r) for r in reward], "reward_extra_info": infos}
