"""The one reader of what a run leaves: which run it is, how it ended, what its responses score.

It reads config.yaml, run.json and the dumps only, never a file that was itself computed from dumps. It reads a user's
own file of responses in the same way.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, MissingMandatoryValue

from madrl.errors import MadrlError
from madrl.evaluation.samples import score_change, score_samples
from madrl.files import read_json
from madrl.records import Record, Source, check_groups, classified, groups, last_turns, read_graded, stem_of, unhinted
from madrl.reward import RewardConfig, calibrates
from madrl.run_folder import RunFolder
from madrl.settings import Settings
from madrl.targets import TARGETS, UNIFORM_TOLERANCE

logger = logging.getLogger(__name__)

DONE, FAILED, UNFINISHED = "done", "failed", "unfinished"
"""How a run ended, or that it did not."""

UNCLASSIFIED = "nobody could say the category of any response: classify them again"

SHOWN_TARGET = 48
"""The most characters of a target's weights that are a name for it: four categories or so."""

Evaluation = dict[str, Any]
"""One split of one dump: ``step``, ``split``, and the numbers of ``samples.score_samples``. Where the folder has an
earlier dump, also ``pass@1_change``: what ``samples.score_change`` finds between the split's first one and this one."""


@dataclass(frozen=True, order=True)
class RunKey:
    """What tells a run from the others of a study. Two runs with one key are a retry, or a mistake."""

    dataset: str
    """The task's name."""
    target: str
    """A name in TARGETS, or the weights of the user's own; for people ``short_target`` of it."""
    reward: str
    """A key of DIVERGENCES; rlvr, gapo or ``entropy 0.01`` (its coefficient) for the baselines, which have no
    divergence. What a run has beside the paper's reward follows a comma: ``rkl, scheduled``, ``rkl, hints 2``,
    ``rkl, with length`` (a further attribute), and where that makes a difference ``rkl, not calibrated`` of the
    additive form and ``rkl, calibrated`` of the gated one."""
    weight: str
    """gated; add90 for an additive form with 90 % of the weight on correctness; nothing for rlvr."""
    seed: int

    def __str__(self) -> str:
        return " ".join(
            filter(None, (self.dataset, short_target(self.target), self.reward, self.weight, f"seed {self.seed}"))
        )


@dataclass(frozen=True)
class Run:
    """A run, finished or not."""

    folder: RunFolder
    key: RunKey
    settings: Settings
    profile: str
    steps: int
    """How many steps it was to train."""
    prompts_per_step: int
    group_size: int
    state: str
    """DONE, FAILED or UNFINISHED."""
    reason: str
    """Why it is not DONE."""
    attribute: str | None = None
    """The further attribute that its ``settings`` and records are made those of; None: the first, as they stand."""

    @classmethod
    def load(cls, root: str | Path) -> "Run":
        """The run in ``root``; its dumps are not read yet. Raises MadrlError when the folder holds no run, or a config
        that lacks a key."""
        folder = RunFolder(root)
        config, settings = folder.resolved_config(), folder.settings()
        attempts = read_json(folder.facts)["attempts"] if folder.facts.exists() else []
        state, reason = _ending(folder, attempts)
        entropy = float(OmegaConf.select(config, "actor_rollout_ref.actor.entropy_coeff", default=0.0) or 0.0)
        try:
            return cls(
                folder=folder,
                key=RunKey(settings.task, target_name(settings), *_reward_names(settings, entropy), config.seed),
                settings=settings,
                profile=settings.profile,
                steps=config.trainer.total_training_steps,
                prompts_per_step=config.data.train_batch_size,
                group_size=config.actor_rollout_ref.rollout.n,
                state=state,
                reason=reason,
            )
        except (ConfigAttributeError, MissingMandatoryValue) as error:
            raise MadrlError(f"{folder.config} lacks {error.full_key}: it is not the config of a whole run") from error

    def of_attribute(self, name: str) -> "Run":
        """The same run with a further attribute in the place of the first: its evaluations are that attribute's."""
        return replace(self, settings=self.settings.of_attribute(name), attribute=name)

    @property
    def name(self) -> str:
        """The folder's name, also where the run was named as ``.``."""
        return self.folder.root.resolve().name

    def dumps(self, dumps: Path, strict: bool = False) -> Iterator[tuple[int, list[Record]]]:
        """The step and the lines of each dump in a folder of the run, in order.

        The last dump of a run that is not DONE may be half written, and is then left out unless ``strict``. Raises
        MadrlError for any other that cannot be read."""
        steps = self.folder.dump_steps(dumps)
        for step in steps:
            try:
                yield step, self.records(dumps, step)
            except MadrlError:
                if strict or self.state == DONE or step != steps[-1]:
                    raise

    @property
    def target(self) -> dict[str, float]:
        """p* by category, of the prompts that have none of their own, and of a schedule the last."""
        return dict(zip(self.settings.categories, self.settings.target.tolist(), strict=True))

    def records(self, dumps: Path, step: int) -> list[Record]:
        """The lines of one dump. Raises MadrlError when it cannot be read."""
        return read_graded(dumps / f"{step}.jsonl", self.settings.categories, self.attribute)

    def splits(self, dumps: Path, step: int, records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
        """The lines of one dump by split; one without a classified response is left out, and logged."""
        return _scorable(by_split(records, dumps.name), dumps / f"{step}.jsonl")

    def evaluations(self, strict: bool = False) -> list[Evaluation]:
        """Every split of every dump, validation before holdout; ``strict`` as in ``dumps``. A split without a
        classified response is left out, and logged."""
        found = []
        for folder in (self.folder.validation, self.folder.holdout):
            first: dict[str, list[Record]] = {}
            for step, records in self.dumps(folder, strict):
                for split, samples in self.splits(folder, step, records):
                    one = self.evaluation(step, split, samples)
                    if first.setdefault(split, samples) is not samples:
                        one["pass@1_change"] = score_change(first[split], samples, self.settings.categories)
                    found.append(one)
        return found

    def evaluation(self, step: int, split: str, samples: Sequence[Record]) -> Evaluation:
        """The responses of one split of a dump, scored against their prompts' own targets, or else the run's."""
        settings = self.settings
        scores = score_samples(samples, settings.categories, settings.target, settings.reward.epsilon)
        return {"step": step, "split": split, **scores}


def target_name(settings: Settings) -> str:
    """``uniform`` or ``peak`` where the target is one of TARGETS, its weights where it is not."""
    k = len(settings.categories)
    for name, target in TARGETS.items():
        if not (name == "peak" and k < 3) and np.allclose(settings.target, target(k)):
            return name
    return " ".join(f"{c}:{p:.6g}" for c, p in zip(settings.categories, settings.target, strict=True))


def short_target(target: str) -> str:
    """What a target of ``RunKey`` is called where there is little room: many weights by their hash."""
    if len(target) <= SHOWN_TARGET:
        return target
    return f"own target {hashlib.sha256(target.encode()).hexdigest()[:6]}"


def _reward_names(settings: Settings, entropy: float) -> tuple[str, str]:
    """The names of a reward and of its weight in the paper's grid."""
    reward = settings.reward
    additive = f"add{100 * reward.alpha:02g}"
    if reward.form == "rlvr":
        return (f"entropy {entropy:g}" if entropy else "rlvr"), ""
    if reward.form == "gapo":
        return "gapo", additive
    name = reward.divergence
    if settings.target_schedule is not None:
        name += ", scheduled"
    if settings.hints:
        name += f", hints {settings.hints}"
    if settings.attributes:
        name += f", with {' '.join(settings.attributes)}"
    # What is not the rule is said: the gated form and further attributes are not calibrated unless a run asks for it.
    # Where categories are wanted equally all offsets are zero; a schedule passes through targets where they are not.
    unequal = settings.target_schedule is not None or np.ptp(settings.target[settings.target > 0]) > UNIFORM_TOLERANCE
    if unequal and reward.calibrate != calibrates(reward.form, settings.attributes):
        name += ", calibrated" if reward.calibrate else ", not calibrated"
    return name, "gated" if reward.form == "gated" else additive


def _ending(folder: RunFolder, attempts: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The state of a run with these attempts, and why it is not DONE."""
    if not attempts:
        return UNFINISHED, "not started"
    match attempts[-1]["status"]:
        case "finished":
            return DONE, ""
        case "failed":
            return FAILED, f"attempt {len(attempts)} failed: see {folder.log.name}"
    return UNFINISHED, f"attempt {len(attempts)} is running, or was killed"


def evaluate_run(root: str | Path) -> dict[str, Any]:
    """The scores of every validation and holdout dump of a run: what ``madrl evaluate`` writes as metrics.json. Each
    further attribute (``madrl.attributes``) of which something is known has its ``target`` and ``evaluations`` under
    ``attributes``.

    Raises MadrlError when the folder holds no run, the run has no dumps yet, or none of their responses has been
    classified.
    """
    run = Run.load(root)
    if not any(map(run.folder.dump_steps, (run.folder.validation, run.folder.holdout))):
        raise MadrlError(f"{root} has no validation dumps yet: run it with trainer.val_before_train or test_freq set")
    evaluations = run.evaluations(strict=True)
    if not evaluations:
        raise MadrlError(f"{root}: {UNCLASSIFIED}")
    settings = run.settings
    found = {
        "run": run.name,
        "divergence": settings.reward.divergence,
        "form": settings.reward.form,
        "target": run.target,
        "epsilon": settings.reward.epsilon,
        "evaluations": evaluations,
    }
    further = {name: run.of_attribute(name) for name in settings.attributes}
    known = {name: {"target": of.target, "evaluations": of.evaluations(strict=True)} for name, of in further.items()}
    if attributes := {name: of for name, of in known.items() if of["evaluations"]}:
        found["attributes"] = attributes
    return found


def evaluate_file(
    source: Source, categories: Sequence[str], target: NDArray[np.float64], epsilon: float = RewardConfig.epsilon
) -> dict[str, Any]:
    """The scores of a file of responses that belong to no run, in the form of ``evaluate_run``.

    A line is one response (``madrl.records``) with at least ``group``, ``category`` and ``correct``. Lines that also
    have a split are scored by split, and those with a ``target`` against that. ``epsilon`` smooths the target in
    reverse KL, which is to be compared with others at the same one. A split without a classified response is left out,
    and logged.

    Hinted responses are left out, and counted in ``hinted``: the policy does not give them by itself.

    Raises MadrlError that names file and line for the first bad line, for a file with no lines or whose groups are
    named in another key, and for one in which all responses are hinted or none has been classified; OSError for a file
    that cannot be read.
    """
    records = read_graded(source, categories)
    samples = unhinted(records)
    if not samples:
        raise MadrlError(f"all responses in {source} are hinted: they say nothing of what the policy does by itself")
    check_groups(groups(samples), source, one_each=True)
    name = stem_of(source) if isinstance(source, Path) else str(source)
    splits = _scorable(by_split(samples, name), source)
    if not splits:
        raise MadrlError(f"{source}: {UNCLASSIFIED}")
    return {
        "file": source.name if isinstance(source, Path) else name,
        "target": dict(zip(categories, target.tolist(), strict=True)),
        "epsilon": epsilon,
        "hinted": len(records) - len(samples),
        "evaluations": [
            {"step": None, "split": split, **score_samples(of_split, categories, target, epsilon)}
            for split, of_split in splits
        ],
    }


def before_last(evaluations: Sequence[Evaluation]) -> int | None:
    """The place of the one that the last evaluation is compared with: the first of its split, or of any where that is
    itself; None where nothing was evaluated at an earlier step."""
    last = evaluations[-1]
    earlier = [place for place, one in enumerate(evaluations) if one["step"] < last["step"]]
    of_split = [place for place in earlier if evaluations[place]["split"] == last["split"]]
    return next(iter([*of_split, *earlier]), None)


def by_split(records: Iterable[Record], otherwise: str) -> dict[str, list[Record]]:
    """The records of each split; ``otherwise`` is the split of those that name none."""
    splits: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        split = record.get("split")
        splits[otherwise if split is None else str(split)].append(record)
    return splits


def _scorable(splits: Mapping[str, list[Record]], source: object) -> list[tuple[str, list[Record]]]:
    """The splits in order, but for those of which no response has been classified."""
    for split, samples in splits.items():
        if not classified(last_turns(samples)):
            n = len(samples)
            logger.warning("%s, split %s, is left out: the category of none of %d responses is known", source, split, n)
    return [(split, samples) for split, samples in sorted(splits.items()) if classified(last_turns(samples))]
