"""From dumps to numbers: a row for each split at each evaluated step of a run, or of a user's file of responses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from madrl.errors import MadrlError
from madrl.evaluation.samples import score_samples
from madrl.records import Record, Source, check_groups, groups, read_graded
from madrl.reward import RewardConfig
from madrl.run_folder import RunFolder
from madrl.settings import Settings


def run_settings(run: RunFolder) -> Settings:
    """The settings a run was trained with. Raises MadrlError when the folder holds no run."""
    if not run.config.exists():
        raise MadrlError(f"{run.root} is not a run folder: it has no {run.config.name}")
    config: Any = OmegaConf.load(run.config)
    node: Any = OmegaConf.to_container(config.madrl)
    return Settings.from_config(node)


def evaluate_run(root: str) -> dict[str, Any]:
    """Score every validation and holdout dump of a run: what ``madrl evaluate`` writes as metrics.json.

    Raises MadrlError when the folder holds no run, or the run has no dumps yet.
    """
    run = RunFolder(root)
    settings = run_settings(run)
    rows = []
    for folder in (run.validation, run.holdout):
        for step in run.dump_steps(folder):
            samples = read_graded(folder / f"{step}.jsonl", settings.categories)
            for split, of_split in sorted(_by_split(samples, folder.name).items()):
                scores = score_samples(of_split, settings.categories, settings.target, settings.reward.epsilon)
                rows.append({"step": step, "split": split, **scores})
    if not rows:
        raise MadrlError(
            f"{run.root} has no validation dumps yet: run it with trainer.val_before_train or test_freq set"
        )
    return {
        "run": run.root.resolve().name,  # also of "."
        "divergence": settings.reward.divergence,
        "form": settings.reward.form,
        **_yardstick(settings.categories, settings.target, settings.reward.epsilon),
        "evaluations": rows,
    }


def evaluate_file(source: Source, categories: Sequence[str], target: NDArray[np.float64]) -> dict[str, Any]:
    """Score a file of responses that belong to no run, as ``evaluate_run`` does a run's.

    A line is one response (``madrl.records``) with at least ``group``, ``category`` and ``correct``. Lines that also
    have a split are scored by split. Reverse KL takes the reward's default epsilon.

    Raises MadrlError that names file and line for the first bad line, and for a file with no lines or whose groups are
    named in another key; OSError for a file that cannot be read.
    """
    samples = read_graded(source, categories)
    check_groups(groups(samples), source, one_each=True)
    epsilon = RewardConfig().epsilon
    name = source.stem if isinstance(source, Path) else str(source)
    return {
        "file": source.name if isinstance(source, Path) else name,
        **_yardstick(categories, target, epsilon),
        "evaluations": [
            {"step": None, "split": split, **score_samples(of_split, categories, target, epsilon)}
            for split, of_split in sorted(_by_split(samples, name).items())
        ],
    }


def _by_split(samples: Iterable[Record], otherwise: str) -> dict[str, list[Record]]:
    splits: dict[str, list[Record]] = defaultdict(list)
    for sample in samples:
        splits[str(sample.get("split", otherwise))].append(sample)
    return splits


def _yardstick(categories: Sequence[str], target: NDArray[np.float64], epsilon: float) -> dict[str, Any]:
    """What the rows are measured against."""
    return {"target": {name: float(p) for name, p in zip(categories, target, strict=True)}, "epsilon": epsilon}


def before_and_after(result: Mapping[str, Any], split: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last evaluation of one split. Raises MadrlError when there are not two."""
    rows = sorted((row for row in result["evaluations"] if row["split"] == split), key=lambda row: row["step"])
    if len(rows) < 2:
        raise MadrlError(
            f"run {result['run']} has {len(rows)} evaluations of split {split!r}: before and after need two"
        )
    return rows[0], rows[-1]
