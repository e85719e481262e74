"""The numbers behind a report as CSV, at full precision; a number that does not exist is empty."""

import csv
import io
from collections import Counter
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


def _cells(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The paths and values of the cells that ``value`` fills; the ends of an interval are ``low`` and ``high``."""
    match value:
        case Number():  # its units are the row's
            yield from _cells(value.value, path)
            yield from _cells({"low": value.low, "high": value.high, "error": value.error}, path)
        case FloorAt() | Pooled():
            yield from _cells(value._asdict(), path)
        case Mapping():
            for key, inner in value.items():
                yield from _cells(inner, (*path, key))
        case [float() | int() as low, float() | int() as high] if isinstance(value, list):
            yield from _cells({"low": low, "high": high}, path)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            yield path, "; ".join(value)
        case _ if value is not None:
            yield path, value


def _csv(records: Iterator[Mapping[str, Any]]) -> str:
    """A column is named by its path, as in ``floor_p95``. Where that makes two alike, as with a category ``risk_low``
    and the lower end of ``risk``, dots join both paths."""
    lines = [dict(_cells(record)) for record in records]
    paths = dict.fromkeys(path for line in lines for path in line)
    alike = Counter(map("_".join, paths))
    names = {path: ("_" if alike["_".join(path)] == 1 else ".").join(path) for path in paths}
    out = io.StringIO()
    writer = csv.DictWriter(out, names.values(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({names[path]: value for path, value in line.items()} for line in lines)
    return out.getvalue()
