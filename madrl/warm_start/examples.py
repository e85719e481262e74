"""From usable responses to the rows of the finetuning: as many of each category, and prompts that name none."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from madrl.files import replacing
from madrl.records import Record, name_of
from madrl.sampling.requests import Row


def balanced(kept: Mapping[str, Sequence[Record]], at_most: int, seed: int) -> list[Record]:
    """The same number of responses of each category, in random order: as many as the scarcest has, the first ones, and
    not more than ``at_most``."""
    count = min(at_most, *(len(lines) for lines in kept.values()))
    chosen = [line for lines in kept.values() for line in lines[:count]]
    random.Random(seed).shuffle(chosen)
    return chosen


def messages(line: Record, rows: Mapping[int, Row]) -> list[dict[str, str]]:
    """The conversation that is learnt: the row's own prompt, which names no category, and the response."""
    prompt = [{"role": turn["role"], "content": turn["content"]} for turn in rows[line["row"]]["prompt"]]
    return [*prompt, {"role": "assistant", "content": line["response"]}]


def write_examples(lines: Sequence[Record], rows: Mapping[int, Row], path: Path) -> None:
    """veRL's multi-turn SFT file: a column ``messages``, and for the reader the category and the response's name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    records: list[dict[str, Any]] = [
        {"messages": messages(line, rows), "category": line["asked"], **name_of(line)._asdict()} for line in lines
    ]
    with replacing(path) as unfinished:
        pq.write_table(pa.Table.from_pylist(records), unfinished)
