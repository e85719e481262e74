"""The training reward for responses that already exist: a JSONL file in, the same file with rewards out.

Scores through ``reward.score_group``, the very function that training calls. Classifies and verifies nothing: each
line brings its category and its verdict.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.frequency import category_indices
from madrl.reward import RewardConfig, score_group


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
        correct    true, false, 0, 1, or null for unjudged

    Other keys are kept, an older ``divergence_reward`` and ``reward`` replaced, blank lines dropped. The output appears
    complete or not at all, and may be the input itself. The whole file is held in memory.

    Args:
        categories: the declared categories, in the order of ``target``.
        target: p*, shape (K,), unsmoothed.

    Raises MadrlError that names file and line for the first bad line, for a file with no lines, and for an
    ``out_path`` that cannot be written; OSError for an ``in_path`` that cannot be read.
    """
    destination = _writable(Path(out_path))
    rows = _read_rows(Path(in_path), categories)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["uid"], []).append(row)
    for group in groups.values():
        score = score_group(
            category_indices([row["category"] for row in group], categories),
            [None if row["correct"] is None else bool(row["correct"]) for row in group],
            target,
            config,
        )
        for row, divergence_reward, reward in zip(group, score.divergence_reward, score.reward, strict=True):
            row["divergence_reward"] = float(divergence_reward)
            row["reward"] = float(reward)
    _write_rows(rows, destination)
    return Rescored(len(rows), len(groups))


def _read_rows(path: Path, categories: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                rows.append(_parse_row(line, categories))
            except MadrlError as error:
                raise MadrlError(f"{path}, line {number}: {error}") from error
    if not rows:
        raise MadrlError(f"{path} holds no responses: write one JSON object per line")
    return rows


def _parse_row(line: bytes, categories: Sequence[str]) -> dict[str, Any]:
    """One line as an object whose uid, category and correct are as ``rescore_file`` says. Raises MadrlError if not."""
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested beyond reason
        raise MadrlError(f"not JSON ({error}): write one object per line, in UTF-8") from error
    if not isinstance(row, dict):
        raise MadrlError(f"a JSON {type(row).__name__} where an object belongs: write one object per line")
    for key in ("uid", "category", "correct"):
        if key not in row:
            raise MadrlError(f"no {key!r}: every line needs uid, category and correct")
    if not isinstance(row["uid"], str):
        raise MadrlError(f"uid {row['uid']!r} is not a string: put it in quotes")
    if not (row["category"] is None or isinstance(row["category"], str)):
        raise MadrlError(f"category {row['category']!r} is not a string: use a declared name, or null for off-support")
    category_indices([row["category"]], categories)
    if row["correct"] not in (True, False, None):  # 1 and 0 equal True and False
        raise MadrlError(f"correct {row['correct']!r} is no verdict: use true, false, 1, 0, or null for unjudged")
    return row


def _writable(path: Path) -> Path:
    """Where ``path`` really lies, symbolic links followed. Raises MadrlError where a file cannot be put there."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise MadrlError(f"cannot write {path}: its folder does not exist, create it first")
    if path.exists() and not path.is_file():  # replacing a folder fails late, replacing /dev/null succeeds
        raise MadrlError(f"cannot write {path}: it is not a regular file, name another")
    return path


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    try:
        # A lone surrogate, which JSON can hold and UTF-8 cannot, is written back as its JSON escape.
        with replacing(path) as partial, partial.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise MadrlError(f"cannot write {path}: {error.strerror}") from error
