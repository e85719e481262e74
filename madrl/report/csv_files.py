"""The numbers behind a report as CSV, at full precision; a number that does not exist is empty."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from madrl.report.numbers import FloorAt, Number
from madrl.report.rows import Pooled, TableRow, comparisons
from madrl.report.study import ScoredRun


def rows_csv(compared: Sequence[Sequence[TableRow]]) -> str:
    """One line a row. ``compared`` are the rows that are compared with each other: those of one table, dataset and
    target."""
    return _csv(
        {**vars(row), "complete": row.complete, "off_target": row.off_target, **comparison._asdict()}
        for rows in compared
        for row, comparison in zip(rows, comparisons(rows), strict=True)
    )


def runs_csv(runs: Sequence[ScoredRun]) -> str:
    """One line a run, also those that are not done."""
    own = ("state", "reason", "profile", "steps", "group_size", "train_jsd", "least_wanted_share", "pass_at_1_change")
    return _csv(
        {**vars(run.key), **{name: getattr(run, name) for name in own}, "folder": run.folder.root, **(run.final or {})}
        for run in runs
    )


def _columns(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The names and values of the cells that ``value`` fills. A nested one is named by its path, as in ``floor_p95``,
    and the ends of an interval are ``_low`` and ``_high``."""
    match value:
        case Number():  # its units are the row's
            yield from _columns({key: of for key, of in value._asdict().items() if key != "units"}, name)
        case FloorAt() | Pooled():
            yield from _columns(value._asdict(), name)
        case Mapping():
            for key, inner in value.items():
                yield from _columns(inner, f"{name}_{key}".removeprefix("_").removesuffix("_value"))
        case [float() | int(), float() | int()] if isinstance(value, list):
            yield from zip((f"{name}_low", f"{name}_high"), value, strict=True)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            yield name, "; ".join(value)
        case _ if value is not None:
            yield name, value


def _csv(records: Iterator[Mapping[str, Any]]) -> str:
    lines = [dict(_columns(record)) for record in records]
    out = io.StringIO()
    writer = csv.DictWriter(out, dict.fromkeys(name for line in lines for name in line), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()
