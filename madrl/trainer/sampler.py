"""veRL's replay buffer, which also measures each training batch against the target.

    trainer.v1.sampler.custom_sampler.path=pkg://madrl.trainer.sampler
    trainer.v1.sampler.custom_sampler.name=MadReplayBuffer

veRL puts nothing of ``reward_extra_info`` into the training metrics; what ``sample`` returns beside the batch is the
one way in. The same records are written to ``scores_dir/<step>.jsonl``, keyed like veRL's own rollout dump. The alarms
(``madrl.alarms``) are metrics from here, and text beside the progress bar.
"""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import transfer_queue as tq
from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from madrl.alarms import RunHealth
from madrl.evaluation import metrics as measure
from madrl.files import replacing
from madrl.frequency import category_indices
from madrl.reward import EQUAL_REWARD_TOLERANCE
from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.trainer.group_loop import GROUP_TIMING

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.05
"""veRL polls every 2 s, which is a whole step of a small model."""


class MadReplayBuffer(ReplayBuffer):
    """Adds the ``mad/`` training metrics, dumps every response's score, and stops a run that cannot be judged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("poll_interval", POLL_INTERVAL_S)
        super().__init__(*args, **kwargs)
        options: Any = OmegaConf.to_container(OmegaConf.create(self.sampler_kwargs), resolve=True)
        self.settings = Settings.from_config(options["madrl"])
        self.group_size = {"train": int(options["group_size"]), "val": int(options["val_group_size"])}
        self.max_response_length = int(options["max_response_length"])
        self.scores_dir = Path(options["scores_dir"])
        self.health: RunHealth | None = None

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Sample as veRL does, and measure the batch.

        Raises RuntimeError when too much of it is unjudged, or failed to come back at all (``check_outage``), in
        training and in validation: an outage must neither be trained on nor be reported as a result.
        """
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        records = self._records(batch)
        expected = batch_size * self.group_size[partition_id]
        if partition_id == "train":
            write_scores(self.scores_dir, global_steps, records)
            metrics |= batch_metrics(records, self.settings)
            metrics["mad/failed_session_rate"] = 1.0 - len(records) / expected
            metrics |= self._alarms(global_steps, batch_size, metrics)
        check_outage(records, expected, self.settings.max_unjudged_rate, f"{partition_id} step {global_steps}")
        return batch, metrics

    def _alarms(self, step: int, prompts: int, metrics: dict[str, Any]) -> dict[str, float]:
        """The step's ``mad/alarm/`` metrics; the first step of an attempt looks up what the earlier attempts saw."""
        if self.health is None:
            self.health = RunHealth(self.settings, prompts, self.group_size["train"])
            self.health.replay(RunFolder(self.scores_dir.parent).history(), before=step)
        self.health.update(step, metrics)
        return self.health.metrics()

    def _records(self, batch: KVBatchMeta) -> list[dict[str, Any]]:
        """One record per response of the batch; of a session with several outputs, the last."""
        fields = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields", "rm_scores"]
        )
        last: dict[str, dict[str, Any]] = {}
        columns = (batch.keys, batch.tags, list(fields["extra_fields"]), list(fields["rm_scores"]))
        for key, tag, extra, scores in zip(*columns, strict=True):
            plain = getattr(extra, "data", extra)
            session, _, index = key.rpartition("_")
            record = {"uid": session.rpartition("_")[0], "session": session, "key": key, "index": int(index)}
            # veRL's response_length/clip_ratio compares with the batch's longest response, not with the limit.
            record["truncated"] = tag["response_len"] >= self.max_response_length
            record |= {"reward": float(scores.sum()), **plain["reward_extra_info"], **plain.get(GROUP_TIMING, {})}
            record["verifier_extra"] = json.loads(record["verifier_extra"] or "null")
            if session not in last or last[session]["index"] < record["index"]:
                last[session] = record
        return list(last.values())


def check_outage(records: list[dict[str, Any]], expected: int, limit: float, where: str) -> None:
    """Raises RuntimeError, with the commonest reasons, when more than ``limit`` of ``expected`` responses are unjudged
    or did not come back."""
    reasons = Counter(r["reason"] or "no reason given" for r in records if r["correct"] is None)
    failed = expected - len(records)
    rate = (failed + reasons.total()) / expected
    if rate > limit:
        common = ", ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
        raise RuntimeError(
            f"{where}: {rate:.1%} of the responses are unjudged or failed, more than madrl.max_unjudged_rate={limit}: "
            f"{failed} sessions failed (see the log){'; unjudged: ' + common if common else ''}. Mend the cause, then "
            "start the run again: it resumes."
        )


def batch_metrics(records: list[dict[str, Any]], settings: Settings) -> dict[str, float]:
    """The ``mad/`` metrics of one batch of score records (paper, section "Targets and evaluation metrics").

    ``mad/jsd`` pools the batch; ``mad/jsd_per_prompt`` is the mean over prompts of each group's own JSD, which a
    collapsed policy cannot hide from. Both are in nats and biased upward by sampling: see ``madrl floor``. A metric
    that does not exist for this batch (the JSD when every response is off-support, say) is left out.
    """
    names = settings.categories
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["uid"]].append(record)
    indices = category_indices([r["category"] for r in records], names)
    by_group = [category_indices([r["category"] for r in group], names) for group in groups.values()]
    correct = [r["correct"] for r in records]
    divergence = [r["divergence_reward"] for r in records]
    group_rewards = [[r["reward"] for r in group] for group in groups.values()]
    per_prompt = [measure.jsd_to_target(settings.target, group) for group in by_group]
    found = {
        "jsd": measure.jsd_to_target(settings.target, indices),
        "jsd_per_prompt": _mean([jsd for jsd in per_prompt if jsd is not None]),
        "truncated_rate": _mean([r["truncated"] for r in records]),
        "off_support_rate": measure.off_support_rate(indices),
        "unjudged_rate": measure.unjudged_rate(correct),
        "single_category_group_rate": measure.single_category_rate(by_group),
        "pass@1": measure.pass_at_1(correct),
        "correctness/mean": _mean([r["correctness"] for r in records]),
        "divergence_reward/mean": _mean(divergence),
        "divergence_reward/std": float(np.std(divergence)),
        "reward/mean": _mean([r["reward"] for r in records]),
        "reward/std_within_group": _mean([float(np.std(rewards)) for rewards in group_rewards]),
        # GRPO divides by a group's deviation: a small one teaches as much as a large one, and none teaches nothing.
        "equal_reward_group_rate": _mean([max(r) - min(r) <= EQUAL_REWARD_TOLERANCE for r in group_rewards]),
    }
    found |= {f"share/{n}": float(s) for n, s in zip(names, measure.shares(indices, len(names)), strict=True)}
    if settings.reward.form == "gated":
        # Of the formula itself, before gate_floor raises it.
        found["negative_gate_rate"] = _mean([1.0 + settings.reward.lambda_g * r < 0 for r in divergence])
    if records:
        found["reward_queue/max"] = max(r["queued"] for r in records)
    timed = [r for r in records if "scored_at" in r]
    for part in ("judge_s", "group_wait_s", "score_s"):
        found[f"timing/{part}"] = _mean([r[part] for r in timed])
    if timed:
        # What the reward stage adds to the step: from the end of generation to the last reward.
        found["timing/reward_tail_s"] = max(r["scored_at"] for r in timed) - max(r["arrived_at"] for r in timed)
    return {f"mad/{name}": value for name, value in found.items() if value is not None and np.isfinite(value)}


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def write_scores(folder: Path, step: int, records: list[dict[str, Any]]) -> None:
    """``folder/<step>.jsonl``, one line per response, complete or not there at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{step}.jsonl") as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"step": step, **record}, ensure_ascii=False) + "\n" for record in records)
