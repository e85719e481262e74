"""The paper's published numbers beside ours (``paper/mad_rl.csv``: all of its three tables)."""

import csv
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from madrl.report.rows import SYNTHETIC, Floor, Number, Row, Study, grid_rows, is_synthetic, main_rows, synthetic_rows
from madrl.report.tables import (
    INCOMPLETE,
    MISSING,
    NOTHING,
    PLAIN,
    Section,
    Shown,
    Table,
    dataset_label,
    row_label,
    target_label,
)

SOURCE = files("madrl.report") / "paper" / "mad_rl.csv"


COMPARISON = "paper"
"""The name of the comparison's table."""


class Published(NamedTuple):
    """One number of the paper."""

    table: str
    """The label of its table in the paper's source."""
    dataset: str
    target: str
    row: str
    weight: str
    metric: str
    """jsd, pass@1, off_support or train_jsd, as the table defines it: the JSD of table:closedset is per prompt."""
    value: float


class Compared(NamedTuple):
    """One number of the paper and ours; ours None where there is no run, and ``complete`` False where some miss."""

    published: Published
    ours: Number
    complete: bool
    runs: str
    floor: Floor | None
    """Of a JSD."""

    @property
    def resolved(self) -> bool | None:
        """Whether the two JSDs differ by more than the floor at our number of responses; None for other metrics."""
        if self.ours.value is None or self.floor is None:
            return None
        return abs(self.ours.value - self.published.value) > self.floor.noise


def published() -> list[Published]:
    """Every number of the data file, in the order of the paper's tables."""
    with SOURCE.open(encoding="utf-8") as file:
        return [_published(line) for line in csv.DictReader(file)]


def _published(line: dict[str, str]) -> Published:
    value = float(line.pop("value"))
    return Published(**line, value=value)


def compare(study: Study) -> list[Compared]:
    """Each published number of the datasets that ``study`` has runs of, beside ours."""
    ours: dict[tuple[str, str, str, str, str], Row] = {}
    for dataset in study.datasets:
        for target in study.targets(dataset):
            if is_synthetic(dataset):
                rows = [("table:closedset", row) for row in synthetic_rows(study, dataset, target)]
            else:
                rows = [("table:rl-main", row) for row in main_rows(study, dataset, target)]
                rows += [("table:rl-grid", row) for row in grid_rows(study, dataset, target)]
            ours.update({(table, dataset, target, row.reward, row.weight): row for table, row in rows})
    return [
        _compared(number, ours.get((number.table, number.dataset, number.target, number.row, number.weight)))
        for number in published()
        if number.dataset in study.datasets and number.target in study.targets(number.dataset)
    ]


def _compared(number: Published, row: Row | None) -> Compared:
    if row is None:
        return Compared(number, Number(None), False, "", None)
    per_prompt = row.kind == SYNTHETIC
    ours = {
        "jsd": row.prompt_jsd if per_prompt else row.jsd,
        "pass@1": row.pass_at_1,
        "off_support": row.off_support,
        "train_jsd": row.train_jsd,
    }[number.metric]
    floor = (row.prompt_floor if per_prompt else row.floor) if number.metric == "jsd" else None
    return Compared(number, ours, row.complete, f"{row.runs}/{row.expected}", floor)


def comparison_table(compared: Sequence[Compared], tiny: bool) -> Table:
    """A line for each published number."""
    sections: dict[tuple[str, str, str], list[list[Shown]]] = {}
    for one in compared:
        number = one.published
        name = f"{row_label(number.row)} {number.weight}".strip()
        lines = sections.setdefault((number.table, number.dataset, number.target), [])
        lines.append([Shown(name), Shown(number.metric), Shown(_form(number.metric, number.value)), *_ours(one)])
    caption = (
        "The paper's number, and ours with its spread over as many runs as the last column says (the paper's: 12 in "
        "table:rl-main, 3 elsewhere and for RLVR). A JSD is resolved from the paper's where they differ "
        "by more than the floor at our number of responses. (Parentheses): runs are missing."
    )
    if tiny:
        caption = (
            f"These runs are miniatures, on other problems and with another model: nothing here is to agree. {caption}"
        )
    return Table(
        COMPARISON,
        "Beside the paper",
        caption,
        [],
        ["Row", "metric", "paper", "ours", "difference", "verdict", "runs"],
        [
            Section(f"{table}: {dataset_label(dataset)}, {target_label(target)}", lines)
            for (table, dataset, target), lines in sections.items()
        ],
    )


def _ours(one: Compared) -> list[Shown]:
    metric, ours = one.published.metric, one.ours
    if ours.value is None:
        return [Shown("missing", mark=MISSING), Shown(NOTHING), Shown(NOTHING), Shown(one.runs or NOTHING)]
    detail = ""
    if ours.low is not None and ours.high is not None:
        detail = f"{_form(metric, ours.low)}–{_form(metric, ours.high)}"
    difference = ours.value - one.published.value
    sign = "+" if difference >= 0 else "−"
    mark = PLAIN if one.complete else INCOMPLETE
    verdict = {None: NOTHING, True: "resolved", False: "not resolved"}[one.resolved]
    return [
        Shown(_form(metric, ours.value), detail, mark),
        Shown(sign + _form(metric, abs(difference))),
        Shown(verdict),
        Shown(one.runs, mark=mark),
    ]


def _form(metric: str, value: float) -> str:
    return f"{value:.3f}" if metric == "pass@1" else f"{value:.4f}"
