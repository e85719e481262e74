"""The training reward for responses that already exist: a JSONL file in, the same file with rewards out.

Scores through ``reward.score_group``, the very function that training calls. Classifies and verifies nothing: each
line brings its category and its verdict.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.frequency import category_indices
from madrl.records import (
    HINTED,
    check_groups,
    destination_of,
    groups,
    line_of,
    read_graded,
    session_of,
    source_of,
    write,
)
from madrl.reward import RewardConfig, score_group


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
    what it earns, as in training. A response that has ``hinted`` is rewarded, and counted in no frequency. Other keys
    are kept, an older ``divergence_reward`` and ``reward`` replaced, blank lines dropped, sessions and turns without a
    number numbered. The output appears complete or not at all, and may be the input itself. The whole file is held in
    memory.

    Args:
        categories: the declared categories, in the order of ``target``.
        target: p*, shape (K,), unsmoothed.

    Raises MadrlError that names file and line for the first bad line, for a file with no lines or with none but groups
    of one, for an ``out_path`` that cannot be written, and for a target that the reward's form does not have; OSError
    for an ``in_path`` that cannot be read.
    """
    config.check_target(target)
    source, destination = source_of(in_path), destination_of(out_path)
    records = read_graded(source, categories)
    found = groups(records)
    check_groups(found, source)
    earned = {}
    for group in found:
        indices = category_indices([record["category"] for record in group], categories)
        hinted = np.array([bool(record.get(HINTED)) for record in group])
        score = score_group(indices, [record["correct"] for record in group], target, config, hinted)
        for record, divergence_reward, reward in zip(group, score.divergence_reward, score.reward, strict=True):
            earned[session_of(record)] = {"divergence_reward": float(divergence_reward), "reward": float(reward)}
    write(destination, (line_of(record | earned[session_of(record)]) for record in records))
    return Rescored(len(records), len(found))
