"""The training reward for responses that already exist: a JSONL file in, the same file with rewards out.

Scores through ``reward.score_prompt``, the very function that training calls. Classifies and verifies nothing: each
line brings its category and its verdict.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.prompt_targets import PromptTarget
from madrl.records import (
    ATTRIBUTES,
    HINTED,
    check_groups,
    destination_of,
    groups,
    is_classified,
    line_of,
    read_graded,
    session_of,
    source_of,
    target_of,
    write,
)
from madrl.reward import RewardConfig, score_prompt


class Rescored(NamedTuple):
    """The amount that ``rescore_file`` wrote."""

    responses: int
    groups: int


def rescore_file(
    in_path: str | Path,
    out_path: str | Path,
    categories: Sequence[str],
    target: NDArray[np.float64],
    config: RewardConfig,
) -> Rescored:
    """Write the lines of ``in_path`` to ``out_path``, in order, each with its ``divergence_reward`` and ``reward``.
    ``-`` is standard input, and standard output.

    A line is one response (``madrl.records``) with at least ``group``, ``category`` and ``correct``; the lines of a
    group may stand anywhere in the file. When a session has several turns, the last one is scored and all of them earn
    what it earns, as in training. A response that has ``hinted``, or ``classified`` false, is rewarded and counted in
    no frequency. A lone response earns 0. A group that has a ``target`` is scored by that. Other keys are kept, an
    older ``divergence_reward`` and ``reward`` replaced, blank lines dropped, sessions and turns without a number
    numbered. The output appears complete or not at all, and may be the input itself. The whole file is held in memory.

    Args:
        categories: the declared categories, in the order of ``target``.
        target: p*, shape (K,), unsmoothed, of the groups that have none of their own.

    Raises MadrlError that names file and line for the first bad line, for a file with no lines or with none but groups
    of one, for an ``out_path`` that cannot be written, and for a target that the reward's form does not have; OSError
    for an ``in_path`` that cannot be read. MadrlError also for responses with further attributes
    (``madrl.attributes``).
    """
    config.check_target(target)
    source, destination = source_of(in_path), destination_of(out_path)
    records = read_graded(source, categories)
    if further := sorted({name for record in records for name in record.get(ATTRIBUTES) or {}}):
        raise MadrlError(
            f"{source}: its responses earned something for {', '.join(further)} too, whose targets are not known here: "
            f"remove the key {ATTRIBUTES!r} from its lines to score the first attribute alone"
        )
    found = groups(records)
    check_groups(found, source)
    earned = {}
    for group in found:
        own = target_of(group[0], categories)
        if own is not None:
            config.check_target(own.array)
        score = score_prompt(
            [record["category"] for record in group],
            [record["correct"] for record in group],
            own or PromptTarget.of(categories, target),
            categories,
            config,
            np.array([bool(record.get(HINTED)) for record in group]),
            list(map(is_classified, group)),
        )
        for record, divergence_reward, reward in zip(group, score.divergence_reward, score.reward, strict=True):
            # GRPO gives a response without siblings its raw reward as advantage: in training it earns nothing.
            earned[session_of(record)] = {
                "divergence_reward": float(divergence_reward),
                "reward": float(reward) if len(group) > 1 else 0.0,
            }
    write(destination, (line_of(record | earned[session_of(record)]) for record in records))
    return Rescored(len(records), len(found))
