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
from madrl.files import read_jsonl
from madrl.frequency import category_indices
from madrl.response_file import read_responses
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
            samples = read_jsonl(folder / f"{step}.jsonl")
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


def evaluate_file(path: Path, categories: Sequence[str], target: NDArray[np.float64]) -> dict[str, Any]:
    """Score a file of responses that belong to no run, as ``evaluate_run`` does a run's.

    A line is one response, an object with at least

        uid        veRL's {problem}_{session}_{output}, once; or, in its place, problem, any name of the problem
        category   one of ``categories``, or null for off-support
        correct    true, false, 0, 1, or null for unjudged

    Lines that also have a split are scored by split. Reverse KL takes the reward's default epsilon.

    Raises MadrlError that names file and line for the first bad line, and for a file with no lines; OSError for a file
    that cannot be read.
    """
    seen: set[tuple[str, str]] = set()

    def check(row: Mapping[str, Any]) -> None:
        _check_row(row, categories)
        if "problem" not in row:
            uid = str(row.get("split")), row["uid"]
            if uid in seen:
                raise MadrlError(
                    f"uid {row['uid']!r} is there already: evaluate each file of responses by itself, or give every "
                    "line the name of its 'problem'"
                )
            seen.add(uid)

    samples = list(read_responses(path, check))
    epsilon = RewardConfig().epsilon
    return {
        "file": path.name,
        **_yardstick(categories, target, epsilon),
        "evaluations": [
            {"step": None, "split": split, **score_samples(of_split, categories, target, epsilon)}
            for split, of_split in sorted(_by_split(samples, path.stem).items())
        ],
    }


def _by_split(samples: Iterable[dict[str, Any]], otherwise: str) -> dict[str, list[dict[str, Any]]]:
    splits: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for sample in samples:
        splits[str(sample.get("split", otherwise))].append(sample)
    return splits


def _yardstick(categories: Sequence[str], target: NDArray[np.float64], epsilon: float) -> dict[str, Any]:
    """What the rows are measured against."""
    return {"target": {name: float(p) for name, p in zip(categories, target, strict=True)}, "epsilon": epsilon}


def _check_row(row: Mapping[str, Any], categories: Sequence[str]) -> None:
    """Raises MadrlError unless the line is as ``evaluate_file`` says."""
    for key in ("category", "correct"):
        if key not in row:
            raise MadrlError(f"no {key!r}: every line needs uid or problem, category and correct")
    if "problem" in row:
        if not isinstance(row["problem"], str | int):
            raise MadrlError(f"problem {row['problem']!r} is neither a string nor a whole number: name it with one")
    elif "uid" not in row:
        raise MadrlError("neither 'uid' nor 'problem': responses to one problem must be known as such")
    elif not _is_uid(row["uid"]):
        raise MadrlError(f"uid {row['uid']!r} is not PROBLEM_SESSION_OUTPUT: give the problem's name as 'problem'")
    if not (row["category"] is None or isinstance(row["category"], str)):
        raise MadrlError(f"category {row['category']!r} is not a string: use a declared name, or null for off-support")
    category_indices([row["category"]], categories)
    if row["correct"] not in (True, False, None):  # 1 and 0 equal True and False
        raise MadrlError(f"correct {row['correct']!r} is no verdict: use true, false, 1, 0, or null for unjudged")


def _is_uid(uid: Any) -> bool:
    parts = uid.rsplit("_", 2) if isinstance(uid, str) else []
    return len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal()


def before_and_after(result: Mapping[str, Any], split: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last evaluation of one split. Raises MadrlError when there are not two."""
    rows = sorted((row for row in result["evaluations"] if row["split"] == split), key=lambda row: row["step"])
    if len(rows) < 2:
        raise MadrlError(
            f"run {result['run']} has {len(rows)} evaluations of split {split!r}: before and after need two"
        )
    return rows[0], rows[-1]
