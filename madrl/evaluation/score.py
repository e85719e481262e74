"""What a run's sampled responses say, from its dumps: one row of numbers for each split at each evaluated step.

Reads what classifiers and verifiers decided while the run was going; judges nothing again.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from madrl.errors import MadrlError
from madrl.evaluation import metrics as measure
from madrl.files import read_jsonl, replacing
from madrl.frequency import category_indices
from madrl.run_folder import RunFolder
from madrl.settings import Settings


def run_settings(run: RunFolder) -> Settings:
    """The settings a run was trained with. Raises MadrlError when the folder holds no run."""
    if not run.config.exists():
        raise MadrlError(f"{run.root} is not a run folder: it has no {run.config.name}")
    config: Any = OmegaConf.load(run.config)
    node: Any = OmegaConf.to_container(config.madrl)
    return Settings.from_config(node)


def score_samples(samples: Sequence[Mapping[str, Any]], settings: Settings) -> dict[str, Any]:
    """All numbers of one set of responses. JSON types only.

    ``samples`` are dump lines with ``uid`` (veRL's ``{prompt}_{session}_{output}``), ``category``, ``correct``.
    ``floor`` is what the JSD of a policy exactly on the target would measure at as many on-support responses;
    ``jsd_per_prompt`` is the mean over prompts, and its floor is that of one prompt's responses.
    """
    names = settings.categories
    last = {str(s["uid"]).rpartition("_")[0]: s for s in samples}  # of a session with several outputs, the final one
    samples = list(last.values())
    prompts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for sample in samples:
        prompts[str(sample["uid"]).rsplit("_", 2)[0]].append(sample)
    indices = category_indices([s["category"] for s in samples], names)
    groups = [category_indices([s["category"] for s in group], names) for group in prompts.values()]
    correct = [None if s["correct"] is None else bool(s["correct"]) for s in samples]
    on_support = int(np.sum(indices >= 0))
    per_prompt = [jsd for group in groups if (jsd := measure.jsd_to_target(settings.target, group)) is not None]
    shares = measure.shares(indices, len(names))
    floor = measure.jsd_floor(settings.target, on_support) if on_support else None
    largest = max((int(np.sum(group >= 0)) for group in groups), default=0)
    return {
        "samples": len(samples),
        "prompts": len(prompts),
        "on_support": on_support,
        "jsd": measure.jsd_to_target(settings.target, indices),
        "floor": None if floor is None else floor.mean,
        "floor_p95": None if floor is None else floor.p95,
        "jsd_per_prompt": float(np.mean(per_prompt)) if per_prompt else None,
        "floor_per_prompt": measure.jsd_floor(settings.target, largest).mean if largest else None,
        "off_support": measure.off_support_rate(indices),
        "unjudged": measure.unjudged_rate(correct),
        "single_category_prompts": measure.single_category_rate(groups),
        "pass@1": measure.pass_at_1(correct),
        "shares": {name: float(s) if np.isfinite(s) else None for name, s in zip(names, shares, strict=True)},
        "by_category": {
            name: {
                "count": int(np.sum(indices == i)),
                "pass@1": measure.pass_at_1([c for c, k in zip(correct, indices, strict=True) if k == i]),
            }
            for i, name in enumerate(names)
        },
    }


def evaluate_run(root: str) -> dict[str, Any]:
    """Score every validation and holdout dump of a run, write RUN/metrics.json and return what it holds.

    Raises MadrlError when the folder holds no run, or the run has no dumps yet.
    """
    run = RunFolder(root)
    settings = run_settings(run)
    rows = []
    for folder in (run.validation, run.holdout):
        for step in run.dump_steps(folder):
            by_split: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for sample in read_jsonl(folder / f"{step}.jsonl"):
                by_split[sample["split"]].append(sample)
            rows += [{"step": step, "split": s, **score_samples(by_split[s], settings)} for s in sorted(by_split)]
    if not rows:
        raise MadrlError(
            f"{run.root} has no validation dumps yet: run it with trainer.val_before_train or test_freq set"
        )
    result = {
        "run": run.root.name,
        "target": {name: float(p) for name, p in zip(settings.categories, settings.target, strict=True)},
        "divergence": settings.reward.divergence,
        "form": settings.reward.form,
        "evaluations": rows,
    }
    with replacing(run.evaluation) as unfinished:
        unfinished.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def before_and_after(result: Mapping[str, Any], split: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last evaluation of one split. Raises MadrlError when there are not two."""
    rows = sorted((row for row in result["evaluations"] if row["split"] == split), key=lambda row: row["step"])
    if len(rows) < 2:
        raise MadrlError(
            f"run {result['run']} has {len(rows)} evaluations of split {split!r}: before and after need two"
        )
    return rows[0], rows[-1]
