"""What is asked of a model: one request for each row, asked-for category and sample, with a seed of its own."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from madrl.prompts import Naming, asking_for
from madrl.records import Name
from madrl.schema import Message, Row, check_parquet


class Request(NamedTuple):
    """One response that is wanted."""

    row: int
    """The row's ``extra_info.index``."""
    asked: str | None
    """The category that the prompt names; None when it names none."""
    sample: int
    """0, 1, ... among the responses to the same prompt, or, where the category was drawn, to the row."""
    drawn: bool = False
    """Whether ``asked`` was drawn for this response alone."""

    @property
    def name(self) -> Name:
        """The response's in the file. A group is all samples of one prompt, or of one row where
        categories are drawn."""
        of_row = self.asked is None or self.drawn
        return Name(str(self.row) if of_row else f"{self.row}-{self.asked}", self.sample, 0)

    def seed(self, run_seed: int) -> int:
        """The seed of this response alone, in 0..2^31 - 1: what it is does not depend on when it is sampled."""
        name = "_".join(map(str, self.name))
        return int.from_bytes(hashlib.sha256(f"{run_seed}/{name}".encode()).digest()[:4]) >> 1


def read_rows(path: Path, categories: Sequence[str] = ()) -> dict[int, Row]:
    """``extra_info.index`` -> row, in the file's order. Raises MadrlError for a file that is not in veRL's columns, or
    with a target that is not over the declared ``categories``, where any are."""
    check_parquet(path, categories or None)
    return {row["extra_info"]["index"]: row for row in pq.read_table(path).to_pylist()}


def messages_of(row: Row, asked: str | None, naming: Naming | None) -> list[Message]:
    """The row's prompt, its last turn naming ``asked`` unless that is None."""
    if asked is None or naming is None:
        return [Message(role=turn["role"], content=turn["content"]) for turn in row["prompt"]]
    return asking_for(asked, row["prompt"], row["reward_model"]["ground_truth"], naming)
