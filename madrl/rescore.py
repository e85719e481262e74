"""The training reward for responses that already exist: a JSONL file in, the same file with rewards out.

Scores through ``reward.score_group``, the very function that training calls. Classifies and verifies nothing: each
line brings its category and its verdict.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.frequency import category_indices
from madrl.response_file import line_of, read_responses, writable
from madrl.reward import RewardConfig, score_group
from madrl.rollout import is_correctness


class Rescored(NamedTuple):
    """How much ``rescore_file`` wrote."""

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

    A line is one response, an object with at least

        uid        string; the lines that share one are a group, wherever they stand in the file
        category   one of ``categories``, or null for off-support
        correct    a number in [0, 1], true, false, or null for unjudged

    Other keys are kept, an older ``divergence_reward`` and ``reward`` replaced, blank lines dropped. The output appears
    complete or not at all, and may be the input itself. The whole file is held in memory.

    Args:
        categories: the declared categories, in the order of ``target``.
        target: p*, shape (K,), unsmoothed.

    Raises MadrlError that names file and line for the first bad line, for a file with no lines, for an ``out_path``
    that cannot be written, and for a target that the reward's form does not have; OSError for an ``in_path`` that
    cannot be read.
    """
    config.check_target(target)
    destination = writable(Path(out_path))
    rows = list(read_responses(Path(in_path), lambda row: _check_row(row, categories)))
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["uid"], []).append(row)
    for group in groups.values():
        score = score_group(
            category_indices([row["category"] for row in group], categories),
            [row["correct"] for row in group],
            target,
            config,
        )
        for row, divergence_reward, reward in zip(group, score.divergence_reward, score.reward, strict=True):
            row["divergence_reward"] = float(divergence_reward)
            row["reward"] = float(reward)
    try:
        with replacing(destination) as partial, partial.open("wb") as file:
            file.writelines(map(line_of, rows))
    except OSError as error:
        raise MadrlError(f"cannot write {destination}: {error.strerror}") from error
    return Rescored(len(rows), len(groups))


def _check_row(row: dict[str, Any], categories: Sequence[str]) -> None:
    """Raises MadrlError unless the line's uid, category and correct are as ``rescore_file`` says."""
    for key in ("uid", "category", "correct"):
        if key not in row:
            raise MadrlError(f"no {key!r}: every line needs uid, category and correct")
    if not isinstance(row["uid"], str):
        raise MadrlError(f"uid {row['uid']!r} is not a string: put it in quotes")
    if not (row["category"] is None or isinstance(row["category"], str)):
        raise MadrlError(f"category {row['category']!r} is not a string: use a declared name, or null for off-support")
    category_indices([row["category"]], categories)
    if not is_correctness(row["correct"]):
        raise MadrlError(
            f"correct {row['correct']!r} is no verdict: use a number in [0, 1], true, false, or null for unjudged"
        )
