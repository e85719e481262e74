"""veRL's replay buffer, which also measures each training batch against the target.

    trainer.v1.sampler.custom_sampler.path=pkg://madrl.trainer.replay_buffer
    trainer.v1.sampler.custom_sampler.name=MadReplayBuffer

veRL drops DAPO's group filter (``algorithm.filter_groups``) and ``sync_refill_failed_groups`` when a sampler is set, so
both are switched on here. What is measured is every group that came back, the dropped ones included: of the groups that
a filter on equal rewards leaves, none has collapsed. MadReplayBufferAsync is the same for veRL's trainer
``colocate_async``, which samples ahead.

veRL puts nothing of ``reward_extra_info`` into the training metrics; what ``sample`` returns beside the batch is the
one way in. The same records are written to ``RUN/scores/<step>.jsonl``, by the names of ``madrl.records``. The alarms
(``madrl.alarms``) are computed here: they become metrics, and lines of ``RUN/alarms.jsonl``.
"""

import json
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import transfer_queue as tq
from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync

from madrl import launch_check
from madrl.alarms import RunHealth, single_category_rate_on
from madrl.attributes import metric_prefix
from madrl.errors import MadrlError
from madrl.evaluation import metrics as measure
from madrl.evaluation.targets import mean_target, targets_of
from madrl.files import write_text
from madrl.frequency import category_counts, category_indices
from madrl.grading.programs.replicas import NOT_SERVED
from madrl.hints import ShareMean, counted_sessions
from madrl.records import (
    ATTRIBUTES,
    HINTED,
    TARGET,
    by_group,
    classified,
    from_verl_key,
    is_ungraded,
    last_turns,
    line_of,
    of_attribute,
    ungraded_rate,
    unhinted,
    write,
)
from madrl.reward import EQUAL_REWARD_TOLERANCE
from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.trainer.cluster import check_own_queue
from madrl.trainer.group_loop import GROUP_TIMING
from madrl.trainer.row_targets import NO_LAUNCH_CHECK
from madrl.trainer.step_watch import StepWatch, check_engines
from madrl.trainer.verl_settings import REPLAY_BUFFERS, SYNC

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.05
"""How often the buffer looks for finished groups. veRL's own 2 s are a whole step of a small model."""


class MadReplayBuffer(ReplayBuffer):
    """veRL's replay buffer that also measures each batch and writes down every response's score.

    It stops a run whose responses cannot be graded, one that cannot be steered at its first step, and one that waits
    for responses which will never come.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        check_own_queue()
        if isinstance(self, ReplayBufferAsync) != (kwargs["trainer_mode"] != SYNC):
            raise MadrlError(
                f"trainer.v1.sampler.custom_sampler.name={type(self).__name__} with trainer.v1.trainer_mode="
                f"{kwargs['trainer_mode']}: derive it from {REPLAY_BUFFERS[kwargs['trainer_mode']]}"
            )
        options: Any = OmegaConf.to_container(OmegaConf.create(kwargs["sampler_kwargs"]), resolve=True)
        groups_filter = options["filter_groups"]
        kwargs.setdefault("poll_interval", POLL_INTERVAL_S)
        super().__init__(
            *args,
            filter_groups_metric=groups_filter["metric"] if groups_filter["enable"] else None,
            train_batch_size=int(options["train_batch_size"]),
            gen_batch_size=1,  # the trainer fetches single prompts whenever groups are refilled
            max_inflight_gen_batches=groups_filter["max_inflight_gen_batches"],
            sync_refill_failed_groups=options["sync_refill_failed_groups"],
            **kwargs,
        )
        self.max_gen_batches = int(groups_filter["max_num_gen_batches"])
        self.settings = Settings.from_config(options["madrl"])
        self.group_size = {"train": int(options["group_size"]), "val": int(options["val_group_size"])}
        self.max_response_length = int(options["max_response_length"])
        self.run = RunFolder(options["run"])
        self.health: RunHealth | None = None
        self._shares = ShareMean(self.settings, self.run) if self.settings.hints else None
        self._n_dropped = 0
        """The groups of a step that are not trained on: they were filtered, failed as a whole, or were not needed."""
        self._dropped: list[dict[str, Any]] = []
        """The responses in them."""
        self._next_look = 0
        self._first_validation: list[dict[str, Any]] = []
        self._launched = False
        self._watch = StepWatch(self.settings.max_idle_s)
        self._where = ""

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Sample as veRL does, and measure the batch together with the groups that were dropped on the way.

        Raises MadrlError when too many responses are ungraded or did not come back (``check_outage``), in training and
        in validation: an outage must neither be trained on nor be reported as a result. Raises MadrlError also when the
        first training batch of a run shows that it cannot be steered (``madrl.launch_check``), and while it waits, when
        an agent-loop worker, an engine's server or the queue is dead or nothing has come back for ``madrl.max_idle_s``
        (``StepWatch``), and when an engine is dead at the end (``check_engines``).
        """
        self._where = f"{partition_id} step {global_steps}"
        self._watch.begin(self._where)
        self._n_dropped, self._dropped = 0, []
        self._next_look = batch_size
        try:
            batch, metrics = super().sample(global_steps, partition_id, batch_size)
        except RuntimeError:  # no response to any prompt
            self._watch.check_living()
            expected = (batch_size + self._n_dropped) * self.group_size[partition_id]
            check_outage(self._dropped, expected, self.settings.max_ungraded_rate, self._where)
            raise
        records = self._records(batch) + self._dropped
        groups = batch_size + self._n_dropped
        if partition_id == "train":
            write_scores(self.run.scores, global_steps, records)
            metrics |= batch_metrics(records, self.settings)
            metrics |= self._mean_shares(global_steps)
            metrics["mad/failed_session_rate"] = 1.0 - len(records) / (groups * self.group_size["train"])
            metrics["mad/dropped_group_rate"] = self._n_dropped / groups
            metrics |= self._alarms(global_steps, batch_size, metrics)
        elif global_steps == 0:
            self._first_validation += records
        self._watch.check_living()  # the reason comes before what it has led to
        self._check(global_steps, partition_id, records, groups)
        check_engines(self._where)
        return batch, metrics

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        by_status = (self.pending_keys, self.running_keys, self.finished_keys, self.failure_keys)
        came = len(self.partitions[partition_id])
        self._watch.look((came, *(len(keys[partition_id]) for keys in by_status)))
        return float(super()._wait_for_next_poll(partition_id, last_debug_time))

    def _mean_shares(self, step: int) -> dict[str, float]:
        """The shares by which the next step's category is chosen, in a run with hints."""
        mean = None if self._shares is None else self._shares.before(step + 1).mean
        if mean is None:
            return {}
        return {f"mad/share_mean/{n}": float(s) for n, s in zip(self.settings.categories, mean, strict=True)}

    def _check(self, step: int, partition_id: str, records: list[dict[str, Any]], groups: int) -> None:
        """Stop the run if what came back for ``groups`` prompts tells an outage, or a start that cannot be steered."""
        expected = groups * self.group_size[partition_id]
        check_outage(records, expected, self.settings.max_ungraded_rate, f"{partition_id} step {step}")
        if partition_id == "train" and step == 1 and not self._launched:
            self._launched = True
            self._check_launch(records)

    def _check_launch(self, records: list[dict[str, Any]]) -> None:
        self.run.launch_check.unlink(missing_ok=True)
        notes, problems = self._launch_notes(self.settings, records, self._first_validation)
        for name in self.settings.attributes:
            of_both = [[of_attribute(record, name) for record in of] for of in (records, self._first_validation)]
            of_it = self._launch_notes(self.settings.of_attribute(name), *of_both)
            for found, more in zip((notes, problems), of_it, strict=True):
                found += [launch_check.of_attribute(note, name) for note in more]
        if problems:
            raise MadrlError(f"{' '.join(problems)} {launch_check.remedy(self.settings)}")
        if notes:
            write_text(self.run.launch_check, "".join(f"{note}\n" for note in notes))

    def _launch_notes(
        self, settings: Settings, records: list[dict[str, Any]], validated: list[dict[str, Any]]
    ) -> tuple[list[str], list[str]]:
        """What the launch check says of one attribute, and what of it stops the run."""
        names = settings.categories
        size = counted_sessions(self.settings.hints, self.group_size["train"])
        groups = [category_indices([r["category"] for r in group], names) for group in by_group(classified(records))]
        before = classified(validated)
        earlier = category_indices([r["category"] for r in before], names)
        seen = classified(records) + before
        if settings.target_schedule is None and any(record.get(TARGET) is not None for record in seen):
            return [NO_LAUNCH_CHECK], []
        first = replace(settings, target=settings.target_at(1))  # a schedule starts where the policy can be steered
        problem = launch_check.launch_problem(first, groups, earlier)
        if problem is not None and problem.stops:
            return [], [problem.text]
        notes = launch_check.target_notes(settings, size) + launch_check.start_notes(
            settings, size, category_indices([r["category"] for r in seen], names), [r["correct"] for r in seen]
        )
        return (notes if problem is None else [problem.text, *notes]), []

    def _clear_groups(self, partition_id: str, uids: set[str]) -> None:
        """Drop groups as veRL does, after they have been measured."""
        self._n_dropped += len(uids)
        records = self._records(self._in_store(partition_id, uids))
        self._dropped += [record | {"dropped": True} for record in records]
        super()._clear_groups(partition_id, uids)

    def _evict_terminal_groups(self, global_steps: int, partition_id: str, eviction_reasons: Any) -> Any:
        """Drop groups as veRL does, and stop a run that would drop them for ever.

        veRL generates other groups in their place without a limit. So this looks for an outage, for a start that cannot
        be steered and for too many batches, each time that another batch's worth of groups has come back.
        """
        evicted = super()._evict_terminal_groups(global_steps, partition_id, eviction_reasons)
        waiting = self.finished_keys[partition_id] | self.failure_keys[partition_id]
        finished = self._n_dropped + len(waiting)
        if not self._n_dropped or finished < self._next_look:
            return evicted
        self._next_look = finished + self.train_batch_size
        records = self._dropped + self._records(self._in_store(partition_id, waiting))
        self._check(global_steps, partition_id, records, finished)
        limit = self.max_gen_batches * self.train_batch_size
        if 0 < limit <= finished and len(waiting) < self.train_batch_size:
            raise MadrlError(
                f"train step {global_steps}: the responses to only {len(waiting)} of {finished} prompts differ in "
                f"{self.filter_groups_metric}, and no more than algorithm.filter_groups.max_num_gen_batches="
                f"{self.max_gen_batches} batches of {self.train_batch_size} may be generated: the problems are too "
                "hard or too easy, or the groups have collapsed (see mad/single_category_group_rate of the steps "
                "before). Start a new run on other problems (paths.data), or with 0 for no limit"
            )
        return evicted

    def _in_store(self, partition_id: str, uids: Collection[str]) -> KVBatchMeta:
        """The responses to the prompts ``uids``, as the last look at the store found them."""
        tags = {key: tag for key, tag in self.partitions[partition_id].items() if key.partition("_")[0] in uids}
        return KVBatchMeta(partition_id=partition_id, keys=list(tags), tags=list(tags.values()))

    def _alarms(self, step: int, prompts: int, metrics: dict[str, Any]) -> dict[str, float]:
        """The step's ``mad/alarm/`` metrics. The first step of an attempt takes in what the earlier attempts saw."""
        if self.health is None:
            self.health = RunHealth(self.settings, prompts, self.group_size["train"])
            self.health.resume(self.run.history(), step, self.run.alarms)
        self.health.record(step, metrics, self.run.alarms)
        return self.health.metrics()

    def _records(self, batch: KVBatchMeta) -> list[dict[str, Any]]:
        """One record per session of the batch: the last of its outputs."""
        if not batch.keys:
            return []
        fields = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields", "rm_scores"]
        )
        records = []
        columns = (batch.keys, batch.tags, list(fields["extra_fields"]), list(fields["rm_scores"]))
        for key, tag, extra, scores in zip(*columns, strict=True):
            plain = getattr(extra, "data", extra)
            record: dict[str, Any] = from_verl_key(key)._asdict()
            # veRL's response_length/clip_ratio compares with the batch's longest response, not with the limit.
            record["truncated"] = tag["response_len"] >= self.max_response_length
            record["dropped"] = False
            record |= {"reward": float(scores.sum()), **plain["reward_extra_info"], **plain.get(GROUP_TIMING, {})}
            record["row"] = int(record["row"])
            record["verifier_extra"] = json.loads(record["verifier_extra"] or "null")
            if ATTRIBUTES in record:
                record[ATTRIBUTES] = json.loads(record[ATTRIBUTES])
            records.append(record)
        return last_turns(records)


class MadReplayBufferAsync(MadReplayBuffer, ReplayBufferAsync):
    """MadReplayBuffer as veRL's asynchronous trainers need it: groups wait from step to step, stale ones are dropped or
    waited for (``trainer.v1.sampler.max_off_policy_*``), and another group comes for each one that failed."""


def check_outage(records: list[dict[str, Any]], expected: int, limit: float, where: str) -> None:
    """Raises MadrlError, with the commonest reasons, when more than ``limit`` of ``expected`` responses are ungraded,
    in category or correctness, or did not come back; and whatever the limit, when one is a program in a language that
    no sandbox has: it would earn more than a wrong one by its choice, and to call it wrong would let an outage train
    the policy."""
    reasons = Counter(r["reason"] or "no reason given" for r in records if is_ungraded(r))
    for reason, count in reasons.items():
        if NOT_SERVED in reason:
            raise MadrlError(
                f"{where}: {reason}; then start the run again: it resumes. {count} of {expected} responses chose that "
                "language, and must not be paid for it"
            )
    failed = expected - len(records)
    rate = (failed + reasons.total()) / expected
    if rate > limit:
        common = ", ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
        raise MadrlError(
            f"{where}: {rate:.1%} of the responses are ungraded or failed, more than madrl.max_ungraded_rate={limit}: "
            f"{failed} sessions failed (see the log){'; ungraded: ' + common if common else ''}. Mend the cause, then "
            "start the run again: it resumes."
        )


def batch_metrics(records: list[dict[str, Any]], settings: Settings) -> dict[str, float]:
    """The ``mad/`` metrics of one batch of score records (paper, section "Targets and evaluation metrics").

    ``mad/jsd`` pools the batch; ``mad/jsd_per_prompt`` is the mean over prompts of each group's own JSD, which a
    collapsed policy cannot hide from. Both are in nats and biased upward by sampling: see ``madrl floor``.
    ``mad/truncated_failed_rate`` is the part of ``mad/truncated_rate`` whose responses are off-support or wrong: what
    ends at the limit may have said all that it is asked for.
    ``mad/full_marks`` stands beside ``mad/pass@1``, the mean correctness, where a response is correct in part. A metric
    that does not exist for this batch (the JSD when every response is off-support, say) is left out.

    What the policy does by itself is measured on the responses that were not hinted (``madrl.hints``) and that somebody
    could classify. What the machinery does (ungraded responses, queues, times) and what the update sees of a group (its
    rewards' spread) are of all of them.

    ``mad/single_category_group_rate_on_target`` is the rate of one-category groups that a policy on the target has with
    as many on-support responses: all of them, where each group has one.

    Where prompts have targets of their own, or the run a schedule, each prompt is measured against its own, and the
    pool against their mean, which is then a metric too: ``mad/target/<category>``. So is the mean of the JSD that a
    policy on the targets has, ``mad/jsd_per_prompt_floor``.

    Each further attribute (``madrl.attributes``) has ATTRIBUTE_METRICS of its own, whose names begin with
    ``mad/attributes/<name>/``. The reward and its divergence part are of all attributes together.
    """
    found = _metrics(records, settings)
    for name in settings.attributes:
        own = _metrics([of_attribute(record, name) for record in records], settings.of_attribute(name))
        found |= {
            f"{metric_prefix(name)}{metric}": value
            for metric, value in ((key.removeprefix("mad/"), value) for key, value in own.items())
            if metric.startswith(ATTRIBUTE_METRICS)
        }
    return found


def _failed_by_the_limit(record: dict[str, Any]) -> bool:
    """Whether a response was cut, and is off-support or earned nothing for correctness; one that nobody could verify
    is not known to have failed."""
    return bool(record["truncated"] and (record["category"] is None or record["correct"] == 0))


ATTRIBUTE_METRICS = ("jsd", "share/", "off_support_rate", "single_category_group_rate", "divergence_reward/")
"""What begins the names of the metrics that each attribute has of its own; the others are the responses'."""


def _metrics(records: list[dict[str, Any]], settings: Settings) -> dict[str, float]:
    """Of one attribute: the first, or the one that the records and the settings were made those of."""
    names = settings.categories
    every, hinted = records, [r for r in classified(records) if r.get(HINTED)]
    records = unhinted(classified(records))
    groups = by_group(records)
    indices = category_indices([r["category"] for r in records], names)
    of_group = [category_indices([r["category"] for r in group], names) for group in groups]
    correct = [r["correct"] for r in records]
    divergence = [r["divergence_reward"] for r in records]
    group_rewards = [[r["reward"] for r in group] for group in by_group(every)]
    counts = np.array([category_counts(group, len(names)).sum() for group in of_group])
    targets = targets_of(groups, names, settings.target)
    mean = mean_target(targets, counts) if groups else settings.target
    per_prompt = [measure.jsd_to_target(*pair) for pair in zip(targets, of_group, strict=True)]
    found = {
        "jsd": measure.jsd_to_target(mean, indices),
        "jsd_per_prompt": _mean([jsd for jsd in per_prompt if jsd is not None]),
        "truncated_rate": _mean([r["truncated"] for r in records]),
        "truncated_failed_rate": _mean([_failed_by_the_limit(r) for r in records]),
        "off_support_rate": measure.off_support_rate(indices),
        "unusual_rate": _mean([bool(r["unusual"]) for r in every]),
        "ungraded_rate": ungraded_rate(every),
        "single_category_group_rate": measure.single_category_rate(of_group),
        "pass@1": measure.pass_at_1(correct),
        "full_marks": measure.full_marks(correct) if measure.partial_rate(correct) else None,
        "correctness/mean": _mean([r["correctness"] for r in records]),
        "divergence_reward/mean": _mean(divergence),
        "divergence_reward/std": float(np.std(divergence)) if divergence else None,
        "reward/mean": _mean([r["reward"] for r in records]),
        "reward/std_within_group": _mean([float(np.std(rewards)) for rewards in group_rewards]),
        # GRPO divides by a group's deviation: a small one teaches as much as a large one, and none teaches nothing.
        "equal_reward_group_rate": _mean([max(r) - min(r) <= EQUAL_REWARD_TOLERANCE for r in group_rewards]),
    }
    alike = [single_category_rate_on(p, n) for p, n in zip(targets, counts.tolist(), strict=True)]
    found["single_category_group_rate_on_target"] = _mean(alike)
    found |= {f"share/{n}": float(s) for n, s in zip(names, measure.shares(indices, len(names)), strict=True)}
    if any(TARGET in record for record in records):
        found |= {f"target/{n}": float(p) for n, p in zip(names, mean, strict=True)}
        if counts.any():
            some = counts > 0
            found["jsd_per_prompt_floor"] = measure.jsd_per_prompt_floor(targets[some], counts[some].tolist(), 1).mean
    if settings.reward.form == "gated":
        # The formula's own sign, before gate_floor raises the gate.
        found["negative_gate_rate"] = _mean([1.0 + settings.reward.lambda_g * r < 0 for r in divergence])
    if settings.hints:
        found["hinted_rate"] = len(hinted) / len(every) if every else None
        found["hint_hit_rate"] = _mean([r["category"] == r[HINTED] for r in hinted])
    if every:
        found["reward_queue/max"] = max(r["queued"] for r in every)
    timed = [r for r in every if "scored_at" in r]
    for part in ("grade_s", "group_wait_s", "score_s"):
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
    write(folder / f"{step}.jsonl", (line_of({"step": step, **record}) for record in records))
