"""The runs that one report is of: found on disk, scored by their dumps, and told from each other by their keys."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.evaluation.dumps import DONE, FAILED, UNFINISHED, Evaluation, Run, RunKey, by_split
from madrl.evaluation.metrics import divergence_values
from madrl.evaluation.samples import score_change
from madrl.evaluation.targets import mean_target, targets_of
from madrl.files import read_json
from madrl.frequency import category_counts, category_indices
from madrl.grid.ledger import Ledger
from madrl.records import Record, by_group, classified, last_turns
from madrl.run_folder import RunFolder
from madrl.tasks import TASKS

logger = logging.getLogger(__name__)

TRAIN_POINTS = 10
"""The train JSD of the synthetic table is the mean of this many last logged points (paper, table:closedset)."""

COLLAPSED_SHARE = 0.02
"""A wanted category below it has collapsed (paper, "Mode collapse across Categories")..."""

COLLAPSED_PART = 0.1
"""... where it is also below this part of its target: the paper's targets want a fifth or a third of each."""


def dataset_label(dataset: str) -> str:
    """The paper's name of a task, or the name of a task of the user's own."""
    return TASKS[dataset].label if dataset in TASKS else dataset


def is_synthetic(dataset: str) -> bool:
    """Whether the paper tabulates this task as SYNTHETIC: choices without a task reward, whose divergences are means
    over prompts."""
    return dataset in TASKS and TASKS[dataset].is_synthetic


def is_mean_of_prompts(dataset: str, metric: str) -> bool:
    """Whether a curve of this metric over steps is a mean over prompts, as the task's table, and not of the pooled
    shares. Forward KL never is: it is infinite as soon as a single prompt lacks a wanted category."""
    return is_synthetic(dataset) and metric != "fkl"


@dataclass(frozen=True)
class Point:
    """One validation dump of a run: an entry of a curve over steps."""

    step: int
    n: int
    """Responses behind the JSD: those to a prompt (the median) where it is a mean over prompts, and all that are
    on-support where it is of the pooled shares."""
    values: dict[str, float]
    """Each of DIVERGENCES, a mean over prompts where ``is_mean_of_prompts``; inf where one is infinite."""
    prompt_counts: tuple[int, ...]
    """On-support responses to each prompt that has any."""
    prompt_targets: NDArray[np.float64]
    """p* of each of those prompts, shape (P, K)."""


@dataclass(frozen=True)
class ScoredRun(Run):
    """A run with what its dumps show."""

    final: Evaluation | None = None
    """Only a run that is DONE has it."""
    curve: tuple[Point, ...] = ()
    train_jsd: float | None = None
    """Mean of the last TRAIN_POINTS logged ``mad/jsd_per_prompt``; None with fewer."""
    pass_at_1_change: dict[str, Any] | None = None
    """What ``samples.score_change`` finds between the first and the last validation dump with a classified response.
    Only a run that is DONE and has two has it."""
    left_out: tuple[str, ...] = ()
    """The names of earlier runs of its cell of a grid, which are in no table."""

    @property
    def least_wanted_share(self) -> float | None:
        """The smallest share of a category that the target wants."""
        shares = [share for _, share in self._wanted.values() if share is not None]
        return min(shares) if shares and len(shares) == len(self._wanted) else None

    @property
    def lost_categories(self) -> list[str]:
        """The wanted categories that have collapsed: below COLLAPSED_SHARE, and below COLLAPSED_PART of what the target
        wants of them."""
        return [
            name
            for name, (target, share) in self._wanted.items()
            if share is not None and share < min(COLLAPSED_SHARE, COLLAPSED_PART * target)
        ]

    @property
    def _wanted(self) -> dict[str, tuple[float, float | None]]:
        """Each wanted category's target and share; nothing of a run without a final evaluation."""
        found = self.final["by_category"] if self.final else {}
        return {name: (of["target"], of["share"]) for name, of in found.items() if of["target"]}


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
    run = RunFolder(path)
    if run.facts.exists():  # also where its config is damaged or gone, which whoever reads it is told
        return True
    if not run.config.is_file():
        return False
    keys = {line.partition(":")[0] for line in run.config.read_text(encoding="utf-8", errors="replace").splitlines()}
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


def load_runs(roots: Sequence[Path], advance: Callable[[int], None] = lambda count: None) -> list[ScoredRun]:
    """Every run with its final evaluation, in the order of their keys. ``advance(1)`` is called after each.

    The final evaluation is of the holdout dump at the last step. Where no run of a dataset has one (the tiny synthetic
    profile has no such stage) it is of the last validation dump, for all of them alike.

    Of two runs of one cell of a grid, whose folders differ in the hash alone, the one that began later counts, which is
    logged, and the other is its ``left_out``. Raises MadrlError for two other runs of one key, and for a folder whose
    config cannot be read.
    """
    runs: dict[RunKey, Run] = {}
    left_out: dict[RunKey, tuple[str, ...]] = {}
    for run in map(Run.load, roots):
        if (other := runs.get(run.key)) is not None:
            if _cell(run) is None or _cell(run) != _cell(other):
                raise MadrlError(f"{run.folder.root} and {other.folder.root} are both {run.key}: name only one")
            other, run = sorted((other, run), key=_began)
            logger.warning("%s is left out: its cell ran again as %s", other.folder.root, run.name)
            left_out[run.key] = (*left_out.get(run.key, ()), other.name)
        runs[run.key] = run
    held_out = {key.dataset for key, run in runs.items() if run.steps in run.folder.dump_steps(run.folder.holdout)}
    scored = []
    for key, run in sorted(runs.items()):
        scored.append(replace(_scored(run, key.dataset in held_out), left_out=left_out.get(key, ())))
        advance(1)
    return scored


def _cell(run: Run) -> Path | None:
    """A run's folder without the hash at the end of its name, where the ledger of a grid beside it has it for a cell;
    None of any other, whose name may end in a date."""
    root = run.folder.root.resolve()
    return root.with_name(root.name.rpartition("-")[0]) if Ledger(root.parent, root.name).facts.exists() else None


def _began(run: Run) -> str:
    """When its first attempt started; nothing of one that has not."""
    attempts = read_json(run.folder.facts)["attempts"] if run.folder.facts.exists() else []
    return str(attempts[0]["started"]) if attempts else ""


def _scored(run: Run, held_out: bool) -> ScoredRun:
    """The run with what its dumps show. A dump that cannot be read makes it a failed one, with the reason."""
    scored = ScoredRun(**vars(run))
    try:
        last = [m["mad/jsd_per_prompt"] for m in run.folder.history().values() if "mad/jsd_per_prompt" in m]
        last = last[-TRAIN_POINTS:]
        # NaN where a step had nothing on-support.
        train_jsd = float(np.mean(last)) if len(last) == TRAIN_POINTS and np.isfinite(last).all() else None
        scored = replace(scored, curve=tuple(_curve(run)), train_jsd=train_jsd)
        if run.state != DONE:
            return scored
        folder = run.folder.holdout if held_out else run.folder.validation
        steps = run.folder.dump_steps(folder)
        if not steps or steps[-1] != run.steps:
            reason = (
                f"last {folder.name} dump at step {steps[-1]} of {run.steps}" if steps else f"no {folder.name} dump"
            )
            return replace(scored, state=UNFINISHED, reason=reason)
        split, samples = _one_split(run.records(folder, steps[-1]), folder.name)
        final = run.evaluation(steps[-1], split, samples)
        return replace(scored, final=final, pass_at_1_change=_pass_at_1_change(run))
    except MadrlError as error:
        return ScoredRun(**{**vars(run), "state": FAILED, "reason": str(error)})


def _pass_at_1_change(run: Run) -> dict[str, Any] | None:
    folder = run.folder.validation
    steps = run.folder.dump_steps(folder)

    def known(steps: Iterable[int]) -> Iterator[tuple[int, list[Record]]]:
        for step in steps:
            _, samples = _one_split(run.records(folder, step), folder.name)
            if run.splits(folder, step, samples):
                yield step, samples

    first, last = next(known(steps), None), next(known(reversed(steps)), None)
    if first is None or last is None or first[0] == last[0]:
        return None
    return score_change(first[1], last[1], run.settings.categories)


def _one_split(records: Sequence[Record], otherwise: str) -> tuple[str, list[Record]]:
    """The split that a dump is read for, and its records: the first of holdout, validation, and any other."""
    splits = by_split(records, otherwise)
    chosen = next((name for name in ("holdout", "validation") if name in splits), min(splits))
    return chosen, splits[chosen]


def _curve(run: Run) -> Iterator[Point]:
    """The validation dumps over the steps; those without an on-support response are left out."""
    settings, dataset = run.settings, run.key.dataset
    for step, records in run.dumps(run.folder.validation):
        _, samples = _one_split(records, run.folder.validation.name)
        problems = by_group(classified(last_turns(samples)))
        counts = [
            category_counts(category_indices([s["category"] for s in group], settings.categories), len(settings.target))
            for group in problems
        ]
        targets = targets_of(problems, settings.categories, settings.target)
        some = [pair for pair in zip(targets, counts, strict=True) if pair[1].sum()]
        if not some:
            continue
        on_support = tuple(int(of_prompt.sum()) for _, of_prompt in some)
        of_some = np.array([target for target, _ in some])
        mean = mean_target(of_some, np.array(on_support))
        pool = mean, np.sum([of_prompt for _, of_prompt in some], axis=0)
        pooled, *of_prompts = (
            divergence_values(target, c / c.sum(), settings.reward.epsilon)
            for target, c in (pool, *(some if is_synthetic(dataset) else ()))
        )
        yield Point(
            step,
            int(np.median([len(group) for group in problems]) if of_prompts else sum(on_support)),
            {
                name: float(np.mean([values[name] for values in of_prompts]))
                if is_mean_of_prompts(dataset, name)
                else pooled[name]
                for name in DIVERGENCES
            },
            on_support,
            of_some,
        )
