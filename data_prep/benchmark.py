"""From a dataset's checked problems to its folder: train, selection, validation and holdout as veRL parquet files,
and a manifest that accounts for every row that was read."""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_prep.save_folder import write_splits
from data_prep.sources import Part, Record
from data_prep.splits import DroppedRow, SourceProblem, Splits, without_duplicates
from madrl.progress import progress
from madrl.schema import make_row


@dataclass
class RowAccount:
    """Reads a dataset, and accounts for every row that was read: kept, or dropped and why."""

    hub: str
    """The dataset's name on the Hugging Face hub."""
    parts: Sequence[Part]
    published_rows: Mapping[str, int]
    """Split -> rows as published, to notice a file that was cut at the end of a line."""
    read: Counter[str] = field(default_factory=Counter)
    dropped: list[DroppedRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def problems(self, parse: Callable[[Record], SourceProblem | DroppedRow]) -> list[SourceProblem]:
        """Every row that ``parse`` makes a problem of, without duplicates. The others are dropped."""
        found = []
        with progress("reading", sum(part.rows for part in self.parts)) as advance:
            for record in itertools.chain.from_iterable(part.read() for part in self.parts):
                self.read[record.split] += 1
                parsed = parse(record)
                if isinstance(parsed, SourceProblem):
                    found.append(parsed)
                else:
                    self.dropped.append(parsed)
                advance(1)
        for split, rows in self.published_rows.items():
            if self.read[split] and self.read[split] != rows:
                self.note(f"{split} has {self.read[split]} rows, {rows} were published: is that meant?")
        kept, duplicates = without_duplicates(found)
        self.dropped += duplicates
        return kept

    def keep(self, problems: Sequence[SourceProblem], drops: Mapping[str, DroppedRow]) -> list[SourceProblem]:
        """The problems whose origin is not in ``drops``. The others are dropped."""
        self.dropped += [drops[problem.origin] for problem in problems if problem.origin in drops]
        return [problem for problem in problems if problem.origin not in drops]

    def note(self, text: str) -> None:
        """Tell the user on stderr, and keep the note for the manifest."""
        print(f"warning: {text}", file=sys.stderr)
        self.notes.append(text)


def write_benchmark(
    folder: Path,
    name: str,
    ability: str,
    prompt: Callable[[str], str],
    splits: Splits,
    account: RowAccount,
    args: argparse.Namespace,
    **facts: Any,
) -> list[str]:
    """Write the four files and the manifest into ``folder``. Returns what to tell the user.

    ``name`` begins its data sources, ``prompt`` makes a problem's text what a model is asked, ``args`` are those of
    benchmark_parser, and ``facts`` are the dataset's own additions to the manifest.
    """
    for note in splits.notes:
        account.note(note)
    rows = {
        split: [
            make_row(
                data_source=f"{name}_{split}",  # veRL averages validation metrics per data source
                prompt=prompt(problem.text),
                ability=ability,
                ground_truth=problem.ground_truth,
                index=i,
                split=split,
                extra={"problem": problem.text, "origin": problem.origin, **problem.extra},
            )
            for i, problem in enumerate(chosen)
        ]
        for split, chosen in splits.problems.items()
    }
    drops = dict(sorted(Counter(row.reason for row in account.dropped).items()))
    dropped_of = Counter(row.source_split for row in account.dropped)
    lines = write_splits(
        folder,
        name,
        args.seed,
        rows,
        source=account.hub if args.local_dataset_path is None else "local files",
        inputs=[{"name": part.name, "split": part.split, **part.identity} for part in account.parts],
        rows_read=dict(account.read),
        rows_kept={split: count - dropped_of[split] for split, count in account.read.items()},
        held_out_rows_unused=splits.unused,
        notes=account.notes,
        **facts,
        drops=drops,
        dropped=[
            {"row": row.origin, "split": row.source_split, "reason": row.reason, "detail": row.detail}
            for row in account.dropped
        ],
    )
    return [*lines, *(f"dropped: {count} rows, {reason}" for reason, count in drops.items())]
