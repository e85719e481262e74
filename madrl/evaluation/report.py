"""Everything that `madrl evaluate` leaves: in a run's folder metrics.json, evaluation.png, training.png and
summary.json; beside a file of responses FILE.metrics.json and FILE.evaluation.png."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from madrl.evaluation.figures import evaluation_figure, training_figure
from madrl.evaluation.score import before_and_after, evaluate_file, evaluate_run, run_settings
from madrl.evaluation.tables import title
from madrl.files import read_jsonl, replacing
from madrl.records import writable
from madrl.run_folder import RunFolder

SUMMARY_FIELDS = (
    *("step", "samples", "jsd", "jsd_interval", "floor", "floor_p95", "resolved", "per_prompt"),
    *("off_support", "unjudged", "pass@1", "pass@1_interval", "by_category"),
)


class Report(NamedTuple):
    """What was found and where it was written."""

    evaluation: dict[str, Any]
    files: list[Path]


def report_run(root: str) -> Report:
    """Evaluate the run and write its files. Raises MadrlError when the folder holds no run, or one without dumps."""
    run = RunFolder(root)
    evaluation = evaluate_run(root)
    figure = run.evaluation_figure
    evaluation_figure(evaluation, figure)
    files = [run.evaluation, figure]
    history = run.history()
    if any("mad/jsd" in metrics for metrics in history.values()):
        config: Any = OmegaConf.load(run.config)
        batch = int(config.data.train_batch_size) * int(config.actor_rollout_ref.rollout.n)
        training_figure(history, run_settings(run), batch, title(evaluation), run.figure)
        files.append(run.figure)
    summary = summarize(run, evaluation)
    if summary is not None:
        with replacing(run.summary) as unfinished:
            unfinished.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        files.append(run.summary)
    return Report(evaluation, files)


def report_file(path: str, categories: Sequence[str], target: NDArray[np.float64]) -> Report:
    """Evaluate a file of responses (``score.evaluate_file``) and write FILE.metrics.json and FILE.evaluation.png beside
    it, without FILE's own ending. Raises MadrlError for a bad line, OSError for a file that cannot be read."""
    source = Path(path)
    numbers, figure = (writable(source.with_suffix(ending)) for ending in (".metrics.json", ".evaluation.png"))
    evaluation = evaluate_file(source, numbers, categories, target)
    evaluation_figure(evaluation, figure)
    return Report(evaluation, [numbers, figure])


def summarize(run: RunFolder, evaluation: Mapping[str, Any]) -> dict[str, Any] | None:
    """``before`` and ``after`` of the run's first evaluated split, the seconds of each finished stage of the recipe
    (summed, when it was finished more than once) and ``reward_share``; None while there is only one evaluation."""
    split = evaluation["evaluations"][0]["split"]
    if len({row["step"] for row in evaluation["evaluations"] if row["split"] == split}) < 2:
        return None
    seconds: dict[str, float] = defaultdict(float)
    for stage in read_jsonl(run.stages) if run.stages.exists() else []:
        seconds[stage["stage"]] += stage["seconds"]
    steps = [m for m in run.history().values() if "mad/timing/judge_s" in m and "timing_s/step" in m]
    first, last = before_and_after(evaluation, split)
    return {
        "run": evaluation["run"],
        "split": split,
        "target": evaluation["target"],
        "before": {field: first[field] for field in SUMMARY_FIELDS},
        "after": {field: last[field] for field in SUMMARY_FIELDS},
        "seconds": dict(seconds),
        "reward_share_of_step": reward_share(steps),
    }


def reward_share(steps: Sequence[Mapping[str, float]]) -> dict[str, float] | None:
    """What the reward stage costs, as shares of the steps' time; None without timed steps.

    ``judge_and_score``: the requests that judge and score a response, waiting for siblings left out (its mean over
    responses; it overlaps generation). ``tail``: from the last response's arrival to the last reward.
    """
    total = sum(step["timing_s/step"] for step in steps)
    if not total:
        return None
    return {
        "judge_and_score": sum(s["mad/timing/judge_s"] + s["mad/timing/score_s"] for s in steps) / total,
        "tail": sum(step["mad/timing/reward_tail_s"] for step in steps) / total,
    }
