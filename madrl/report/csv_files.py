"""The numbers behind a report as CSV, at full precision; a number that does not exist is empty."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from madrl.report.rows import FloorAt, Number, TableRow, comparisons
from madrl.report.study import ScoredRun


def rows_csv(compared: Sequence[Sequence[TableRow]]) -> str:
    """One line a row. ``compared`` are the rows that are compared with each other: those of one table, dataset and
    target."""
    lines = []
    for rows in compared:
        for row, comparison in zip(rows, comparisons(rows), strict=True):
            lines.append(
                {
                    "table": row.kind,
                    "dataset": row.dataset,
                    "target": row.target,
                    "row": row.reward,
                    "weight": row.weight,
                    "statistic": row.statistic,
                    "spread": row.spread,
                    "runs": row.runs,
                    "expected": row.expected,
                    "complete": row.complete,
                    **_number("jsd", row.jsd),
                    **_floor("floor", row.floor),
                    "off_target": row.off_target,
                    "best": comparison.best,
                    "differs_from_best": comparison.differs,
                    **_number("prompt_jsd", row.prompt_jsd),
                    "prompt_n": row.prompt_n,
                    **_floor("prompt_floor", row.prompt_floor),
                    "train_jsd": row.train_jsd.value,
                    "train_n": row.train_n,
                    **_floor("train_floor", row.train_floor),
                    "per_prompt": row.per_prompt.value,
                    **{name: row.divergences[name].value for name in ("l2", "fkl", "rkl")},
                    **_number("pass@1", row.pass_at_1),
                    "off_support": row.off_support.value,
                    "ungraded": row.ungraded.value,
                    "missing": "; ".join(row.missing),
                }
            )
    return _csv(lines)


OF_AN_EVALUATION = (
    *("split", "samples", "on_support", "l2", "fkl", "rkl", "jsd", "floor", "floor_p95", "off_target"),
    *("effective_on_support", "floor_p95_effective", "pass@1", "off_support", "ungraded"),
)


def runs_csv(runs: Sequence[ScoredRun]) -> str:
    """One line a run, also those that are not done."""
    lines = []
    for run in runs:
        final: Mapping[str, Any] = run.final or {}
        of_prompts = final.get("jsd_per_prompt", {})
        lines.append(
            {
                **vars(run.key),
                "state": run.state,
                "reason": run.reason,
                "profile": run.profile,
                "steps": run.steps,
                **{name: final.get(name) for name in OF_AN_EVALUATION},
                **_number("jsd", Number(final.get("jsd"), *(final.get("jsd_interval") or ()))),
                **_number("pass@1", Number(final.get("pass@1"), *(final.get("pass@1_interval") or ()))),
                **_number("prompt_jsd", Number(of_prompts.get("mean"), *(of_prompts.get("interval") or ()))),
                "prompt_n": of_prompts.get("n"),
                "prompt_floor": of_prompts.get("floor"),
                "prompt_floor_p95": of_prompts.get("floor_p95"),
                "train_jsd": run.train_jsd,
                "train_n": run.group_size,
                "least_wanted_share": run.least_wanted_share,
                "folder": run.folder.root,
            }
        )
    return _csv(lines)


def _number(name: str, number: Number) -> dict[str, Any]:
    return {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}


def _floor(name: str, floor: FloorAt | None) -> dict[str, Any]:
    return {name: floor and floor.mean, f"{name}_p95": floor and floor.p95}


def _csv(lines: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, lines[0], lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({name: str(v).lower() if isinstance(v, bool) else v for name, v in line.items()})
    return out.getvalue()
