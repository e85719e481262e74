"""Which checkpoint training starts from: the one that reaches every category, not the one that is right most often.

A category that the policy never samples earns nothing and cannot be steered to, and GRPO teaches correctness later.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.evaluation.metrics import jsd_floor, jsd_to_target, off_support_rate, pass_at_1, shares
from madrl.files import write_json
from madrl.frequency import category_counts, category_indices
from madrl.records import Record, classified, ungraded_rate

RULE = "largest reach, then lowest jsd to the target, then the earliest step; the base model is shown and not chosen"


class Coverage(NamedTuple):
    """What one checkpoint samples on prompts that name no category."""

    step: int
    """0 for the base model."""
    samples: int
    shares: dict[str, float | None]
    """The share of each category among the on-support responses."""
    reach: float
    """Of the wanted categories, the least share of all responses, off-support ones included, as a group's frequencies
    count them in training, in units of the target's share: 1 on target, 0 where one is never sampled."""
    jsd: float | None
    """The JSD of ``shares`` to the target, in nats; None when nothing is on-support."""
    floor: float | None
    """The JSD that a policy on the target would show at as many on-support responses."""
    off_support: float
    ungraded: float
    pass_at_1: float | None


def coverage_of(step: int, lines: Sequence[Record], categories: Sequence[str], target: NDArray[np.float64]) -> Coverage:
    """Measure one checkpoint against ``target``, shape (K,). Raises MadrlError when there are no responses."""
    if not lines:
        raise MadrlError(f"no responses of step {step}: the selection split is empty")
    known = classified(lines)
    indices = category_indices([line["category"] for line in known], categories)
    counts = category_counts(indices, len(categories))
    found = shares(indices, len(categories))
    return Coverage(
        step=step,
        samples=len(lines),
        shares={name: float(s) if np.isfinite(s) else None for name, s in zip(categories, found, strict=True)},
        reach=float((counts[target > 0] / target[target > 0]).min() / max(1, len(known))),
        jsd=jsd_to_target(target, indices),
        floor=jsd_floor(target, int(counts.sum())).mean if counts.sum() else None,
        off_support=off_support_rate(indices) or 0.0,
        ungraded=ungraded_rate(lines) or 0.0,
        pass_at_1=pass_at_1([line["correct"] for line in known]),
    )


def choose(checkpoints: Sequence[Coverage], wanted: Sequence[str]) -> Coverage:
    """The checkpoint to start training from, by RULE. Raises MadrlError when none of them reaches every ``wanted``
    category."""
    candidates = [found for found in checkpoints if found.step > 0]
    best = min(candidates, key=lambda found: (-found.reach, found.jsd if found.jsd is not None else np.inf, found.step))
    if best.reach == 0.0:
        never = [name for name in wanted if not best.shares[name]]
        raise MadrlError(
            f"no checkpoint reaches every wanted category: even the best, step {best.step}, never samples "
            f"{', '.join(never)}: finetune longer (warm_start.epochs), on more responses (warm_start.per_category), or "
            "with a larger learning rate (sft.optim.lr)"
        )
    return best


def write_selection(path: Path, checkpoints: Sequence[Coverage], chosen: Coverage) -> None:
    """The table of all checkpoints beside the choice, as JSON."""
    table: dict[str, Any] = {
        "chosen": chosen.step,
        "rule": RULE,
        "checkpoints": [found._asdict() for found in checkpoints],
    }
    write_json(path, table)


def read_selection(path: Path) -> tuple[list[Coverage], int]:
    """What ``write_selection`` wrote: the checkpoints and the chosen step."""
    table = json.loads(path.read_text(encoding="utf-8"))
    return [Coverage(**found) for found in table["checkpoints"]], int(table["chosen"])
