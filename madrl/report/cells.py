"""Run folders as records: which cell of a grid each run is, how it ended, and what its dumps show.

Reads dumps, config.yaml and run.json only; never metrics.json or any other file that was itself computed from dumps.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.evaluation.metrics import divergence_values
from madrl.evaluation.samples import score_samples
from madrl.evaluation.score import run_settings
from madrl.frequency import category_counts, category_indices
from madrl.records import Record, groups, read_graded
from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.targets import TARGETS

Array = NDArray[np.float64]

DATASETS = {
    "gsm8k": "GSM8K",
    "math": "MATH",
    "code_contests": "CodeContests",
    "synthetic_closed": "SYNTHETIC, options shown",
    "synthetic_open": "SYNTHETIC, options inferred",
}
"""How the paper writes each task. A task of the user's own is called by its name."""


def is_synthetic(dataset: str) -> bool:
    """Whether the paper tabulates this task as SYNTHETIC: choices without a task reward, whose divergences are means
    over prompts."""
    return dataset.startswith("synthetic_")


def is_mean_of_prompts(dataset: str, metric: str) -> bool:
    """Whether a curve of this metric over steps is a mean over prompts, as the task's table, and not of the pooled
    shares. Forward KL never is: it is infinite as soon as a single prompt lacks a wanted category."""
    return is_synthetic(dataset) and metric != "fkl"


TRAIN_POINTS = 10
"""The train JSD of the synthetic table is the mean of this many last logged points (paper, table:closedset)."""

COLLAPSED_SHARE = 0.02
"""A wanted category below it has collapsed (paper, "Mode collapse across Categories")."""

DONE, FAILED, UNFINISHED = "done", "failed", "unfinished"


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of a grid: everything that may differ between two runs of it is a bug or a retry."""

    dataset: str
    target: str
    """A name in TARGETS, or the weights of the user's own."""
    reward: str
    """A key of DIVERGENCES; rlvr, gapo or entropy for the baselines, which have no divergence."""
    weight: str
    """gated; add90 for an additive form with 90 % of the weight on correctness; nothing for rlvr."""
    seed: int

    def __str__(self) -> str:
        return " ".join(filter(None, (self.dataset, self.target, self.reward, self.weight, f"seed {self.seed}")))


@dataclass(frozen=True)
class Evaluation:
    """What one dump shows, measured against one target."""

    step: int
    split: str
    scores: dict[str, Any]
    """``samples.score_samples``."""
    right: dict[str, float]
    """Summed correctness of each category, the numerator behind a pooled accuracy."""


@dataclass(frozen=True)
class Point:
    """One validation dump of a run: an entry of a curve over steps."""

    step: int
    n: int
    """Responses behind the JSD: those to a prompt (the median) where it is a mean over prompts, and all that are
    on-support where it is of the pooled shares."""
    values: dict[str, float]
    """By name of DIVERGENCES, means over prompts where ``is_mean_of_prompts``; inf where one is infinite."""
    prompt_counts: tuple[int, ...]
    """On-support responses to each prompt that has any."""


@dataclass(frozen=True)
class Run:
    """A run, finished or not."""

    folder: RunFolder
    cell: Cell
    settings: Settings
    profile: str
    steps: int
    """How many it was to train."""
    prompts_per_step: int
    group_size: int
    state: str
    """DONE, FAILED or UNFINISHED. Only a DONE run has a ``final``."""
    reason: str
    """Why it is not DONE."""
    final: Evaluation | None = None
    curve: tuple[Point, ...] = ()
    train_jsd: float | None = None
    """Mean of the last TRAIN_POINTS logged ``mad/jsd_per_prompt``; None with fewer."""

    @property
    def least_wanted_share(self) -> float | None:
        """The smallest share of a category that the target wants: below COLLAPSED_SHARE the run has lost it."""
        if self.final is None:
            return None
        by_category = self.final.scores["by_category"]
        wanted = [n for n, p in zip(self.settings.categories, self.settings.target, strict=True) if p]
        shares = [by_category[name]["share"] for name in wanted]
        return None if None in shares else min(shares)


def run_roots(paths: Sequence[str]) -> list[Path]:
    """The run folders among ``paths`` and below them. Raises MadrlError for a path that holds none."""
    roots: dict[Path, Path] = {}
    for path in map(Path, paths):
        found = [path] if is_run(path) else sorted(_below(path))
        if not found:
            raise MadrlError(f"{path} holds no run: name run folders (with config.yaml), or a folder of them")
        roots.update((root.resolve(), root) for root in found)
    return list(roots.values())


def is_run(path: Path) -> bool:
    """Whether the folder is one training run's, and not a folder of runs, or what a warm start left."""
    config = path / "config.yaml"
    if not config.is_file():
        return False
    keys = {line.partition(":")[0] for line in config.read_text(encoding="utf-8").splitlines()}
    return {"madrl", "trainer"} <= keys


def _below(path: Path) -> Iterator[Path]:
    """Run folders below ``path``; what lies inside of a run is not searched."""
    if not path.is_dir():
        return
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            if is_run(child):
                yield child
            else:
                yield from _below(child)


def load_runs(roots: Sequence[Path], advance: Callable[[], None] = lambda: None) -> list[Run]:
    """Every run with its final evaluation, in the order of their cells. ``advance`` is called after each.

    The final evaluation is of the holdout dump. Where no run of a dataset has one (the tiny synthetic profile has no
    such stage) it is of the last validation dump, for all of them alike.

    Raises MadrlError for two runs of one cell, and for a folder whose config cannot be read.
    """
    runs = [identified(root) for root in roots]
    cells: dict[Cell, Run] = {}
    for run in runs:
        if run.cell in cells:
            raise MadrlError(f"{run.folder.root} and {cells[run.cell].folder.root} are both {run.cell}: name only one")
        cells[run.cell] = run
    held_out = {run.cell.dataset for run in runs if run.folder.dump_steps(run.folder.holdout)}
    loaded = []
    for run in sorted(runs, key=lambda run: run.cell):
        loaded.append(_evaluated(run, run.cell.dataset in held_out))
        advance()
    return loaded


def identified(root: Path) -> Run:
    """A run with its cell and how it ended, its dumps not read yet."""
    from omegaconf import OmegaConf

    folder = RunFolder(root)
    settings = run_settings(folder)
    config: Any = OmegaConf.load(folder.config)
    attempts = json.loads(folder.facts.read_text(encoding="utf-8"))["attempts"] if folder.facts.exists() else []
    overrides = dict(o.split("=", 1) for a in attempts for o in a.get("overrides", []) if "=" in o)
    # The resolved config does not name the task; the folder that its data lies in does.
    dataset = overrides.get("task", Path(str(config.paths.data)).name.removesuffix("_miniature"))
    entropy = float(OmegaConf.select(config, "actor_rollout_ref.actor.entropy_coeff", default=0.0) or 0.0)
    reward, weight = _reward_of(settings, entropy)
    state, reason = DONE, ""
    if not attempts:
        state, reason = UNFINISHED, "not started"
    elif attempts[-1]["status"] == "failed":
        state, reason = FAILED, f"attempt {len(attempts)} failed: see {folder.log.name}"
    elif attempts[-1]["status"] != "finished":
        state, reason = UNFINISHED, f"attempt {len(attempts)} is running, or was killed"
    return Run(
        folder=folder,
        cell=Cell(dataset, target_name(settings), reward, weight, int(config.seed)),
        settings=settings,
        profile=overrides.get("profile", "gpu"),
        steps=int(config.trainer.total_training_steps),
        prompts_per_step=int(config.data.train_batch_size),
        group_size=int(config.actor_rollout_ref.rollout.n),
        state=state,
        reason=reason,
    )


def _reward_of(settings: Settings, entropy: float) -> tuple[str, str]:
    """The names of a reward and of its weight in the paper's grid."""
    reward = settings.reward
    additive = f"add{round(100 * reward.alpha):02d}"
    if reward.form == "rlvr":
        return ("entropy", f"{entropy:g}") if entropy else ("rlvr", "")
    if reward.form == "gapo":
        return "gapo", additive
    return reward.divergence, "gated" if reward.form == "gated" else additive


def target_name(settings: Settings) -> str:
    """``uniform`` or ``peak`` where the target is one of TARGETS, its weights where it is not."""
    k = len(settings.categories)
    for name, target in TARGETS.items():
        if not (name == "peak" and k < 3) and np.allclose(settings.target, target(k)):
            return name
    return " ".join(f"{c}:{p:.3g}" for c, p in zip(settings.categories, settings.target, strict=True))


def _evaluated(run: Run, held_out: bool) -> Run:
    """The run with what its dumps show. A dump that cannot be read makes it a failed one, with the reason."""
    folder = run.folder
    try:
        curve = tuple(_curve(run))
        history = folder.history()
        last = [m["mad/jsd_per_prompt"] for m in history.values() if "mad/jsd_per_prompt" in m][-TRAIN_POINTS:]
        # NaN where a step had nothing on-support.
        train_jsd = float(np.mean(last)) if len(last) == TRAIN_POINTS and np.isfinite(last).all() else None
        changed: dict[str, Any] = {"curve": curve, "train_jsd": train_jsd}
        if run.state != DONE:
            return replace(run, **changed)
        dumps = folder.holdout if held_out else folder.validation
        steps = folder.dump_steps(dumps)
        if not steps:
            return replace(run, **changed, state=UNFINISHED, reason=f"no {dumps.name} dump")
        if steps[-1] != run.steps:
            reason = f"last {dumps.name} dump at step {steps[-1]} of {run.steps}"
            return replace(run, **changed, state=UNFINISHED, reason=reason)
        split, samples = one_split(read_graded(dumps / f"{steps[-1]}.jsonl", run.settings.categories), dumps.name)
        return replace(run, **changed, final=evaluation(samples, run.settings, steps[-1], split))
    except MadrlError as error:
        return replace(run, state=FAILED, reason=str(error))


def dumped(run: Run, dumps: Path) -> Iterator[tuple[int, list[Record]]]:
    """Each dump's step and lines, in order. The last one of a run that is not DONE may be half written, and is then
    left out. Raises MadrlError for any other that cannot be read."""
    steps = run.folder.dump_steps(dumps)
    for step in steps:
        try:
            yield step, read_graded(dumps / f"{step}.jsonl", run.settings.categories)
        except MadrlError:
            if run.state == DONE or step != steps[-1]:
                raise


def one_split(samples: Sequence[Record], otherwise: str) -> tuple[str, list[Record]]:
    """The split that a dump is read for, and its samples: the first of holdout, validation, and any other."""
    splits: dict[str, list[Record]] = {}
    for sample in samples:
        splits.setdefault(str(sample.get("split", otherwise)), []).append(sample)
    chosen = next((name for name in ("holdout", "validation") if name in splits), min(splits, default=otherwise))
    return chosen, splits.get(chosen, [])


def evaluation(samples: Sequence[Record], settings: Settings, step: int, split: str) -> Evaluation:
    """One split of one dump against the settings' target. Raises MadrlError for a dump without a response."""
    if not samples:
        raise MadrlError(f"the {split} dump at step {step} holds no response: delete it and sample it again")
    categories, target = settings.categories, settings.target
    scores = score_samples(samples, categories, target, settings.reward.epsilon)
    problems = groups(samples)
    right = dict.fromkeys(categories, 0.0)
    for sample in (s for group in problems for s in group):
        if sample["category"] is not None:
            right[sample["category"]] += sample["correct"] or 0.0
    return Evaluation(step=step, split=split, scores=scores, right=right)


def _curve(run: Run) -> Iterator[Point]:
    """The validation dumps over the steps; those without an on-support response are left out."""
    settings = run.settings
    for step, rows in dumped(run, run.folder.validation):
        _, samples = one_split(rows, run.folder.validation.name)
        problems = groups(samples)
        counts = [
            category_counts(category_indices([s["category"] for s in group], settings.categories), len(settings.target))
            for group in problems
        ]
        some = [of_prompt for of_prompt in counts if of_prompt.sum()]
        if not some:
            continue
        pooled, *of_prompts = (
            divergence_values(settings.target, c / c.sum(), settings.reward.epsilon)
            for c in (np.sum(some, axis=0), *(some if is_synthetic(run.cell.dataset) else ()))
        )
        yield Point(
            step,
            int(np.median([len(group) for group in problems]) if of_prompts else np.sum(some)),
            {
                name: float(np.mean([values[name] for values in of_prompts]))
                if is_mean_of_prompts(run.cell.dataset, name)
                else pooled[name]
                for name in DIVERGENCES
            },
            tuple(int(c.sum()) for c in some),
        )
