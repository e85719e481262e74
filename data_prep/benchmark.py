"""From a benchmark's checked problems to its folder: train, selection, validation and holdout as veRL parquet files,
and a manifest that accounts for every row that was read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import progress_bar, warn
from save_folder import MANIFEST, write_manifest
from sources import Part, Record
from splits import Dropped, Problem, Splits, without_duplicates

from madrl import __version__
from madrl.files import sha256_of
from madrl.schema import make_row, write_parquet


@dataclass
class Ledger:
    """Every row that was read, and what became of it."""

    parts: Sequence[Part]
    published_rows: Mapping[str, int]
    """Split -> rows as published, to notice a file that was cut at the end of a line."""
    read: Counter[str] = field(default_factory=Counter)
    dropped: list[Dropped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def records(self) -> Iterator[Record]:
        """All rows of all parts, counted, with a progress bar."""
        counts = [part.rows for part in self.parts]
        total = None if None in counts else sum(filter(None, counts))
        with progress_bar("reading", total) as advance:
            for part in self.parts:
                for record in part.read():
                    self.read[record.split] += 1
                    advance()
                    yield record
        for split, rows in self.published_rows.items():
            if self.read[split] and self.read[split] != rows:
                self.note(f"{split} has {self.read[split]} rows, {rows} were published: is that meant?")

    def problems(self, parse: Callable[[Record], Problem | Dropped]) -> list[Problem]:
        """Every record that ``parse`` makes a problem of, without duplicates; the others are dropped."""
        found = []
        for record in self.records():
            parsed = parse(record)
            if isinstance(parsed, Problem):
                found.append(parsed)
            else:
                self.dropped.append(parsed)
        kept, duplicates = without_duplicates(found)
        self.dropped += duplicates
        return kept

    def keep(self, problems: Iterable[Problem], drops: Mapping[str, Dropped]) -> list[Problem]:
        """The problems whose origin is not in ``drops``; those are dropped."""
        kept = []
        for problem in problems:
            if problem.origin in drops:
                self.dropped.append(drops[problem.origin])
            else:
                kept.append(problem)
        return kept

    def note(self, text: str) -> None:
        """For the manifest and the user's eyes."""
        warn(text)
        self.notes.append(text)


def write_benchmark(
    folder: Path,
    name: str,
    ability: str,
    splits: Splits,
    prompt: Callable[[str], str],
    ledger: Ledger,
    source: str,
    seed: int,
    facts: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write the four files and the manifest into ``folder``, and return what to tell the user. ``source`` says
    where the rows are from, ``seed`` is what made the splits, ``facts`` are the dataset's own additions."""
    for note in splits.notes:
        ledger.note(note)
    files = {}
    for split, chosen in splits.problems.items():
        data_source = f"{name}_{split}"  # veRL averages validation metrics per data source
        path = folder / f"{split}.parquet"
        rows = [
            make_row(
                data_source=data_source,
                prompt=prompt(problem.text),
                ability=ability,
                ground_truth=problem.ground_truth,
                index=i,
                split=split,
                extra={"problem": problem.text, "origin": problem.origin, **problem.extra},
            )
            for i, problem in enumerate(chosen)
        ]
        write_parquet(rows, path)
        files[path.name] = {"rows": len(rows), "data_source": data_source, "sha256": sha256_of(path)}
    reasons = Counter(drop.reason for drop in ledger.dropped)
    dropped_by_split = Counter(drop.source_split for drop in ledger.dropped)
    manifest = {
        "dataset": name,
        "source": source,
        "seed": seed,
        "madrl_version": __version__,
        "inputs": [{"name": p.name, "split": p.split, **p.identity} for p in ledger.parts],
        "rows_read": dict(ledger.read),
        "rows_kept": {split: count - dropped_by_split[split] for split, count in ledger.read.items()},
        "held_out_rows_unused": splits.unused,
        "files": files,
        "notes": ledger.notes,
        **(facts or {}),
        "drops": dict(sorted(reasons.items())),
        "dropped": [
            {"row": drop.origin, "split": drop.source_split, "reason": drop.reason, "detail": drop.detail}
            for drop in ledger.dropped
        ],
    }
    write_manifest(folder, manifest)
    lines = [f"{name_}: {entry['rows']} rows" for name_, entry in files.items()]
    lines += [f"dropped: {count} rows, {reason}" for reason, count in sorted(reasons.items())]
    return [*lines, f"{MANIFEST}: what became of every row"]
