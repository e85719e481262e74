"""The paper's published numbers beside ours (``paper/mad_rl.csv``: all of its three tables)."""

import csv
from importlib.resources import files
from typing import NamedTuple

from madrl.evaluation.metrics import exceeds
from madrl.report.numbers import NO_NUMBER, FloorAt, Number, more_than_chance
from madrl.report.rows import SYNTHETIC, Range, Study, TableRow, compared_rows
from madrl.report.study import dataset_label
from madrl.report.table import MISSING_CELL, NOTHING, Section, Shown, Table, formatted
from madrl.report.tables import number_cell, panel_label, row_label, runs_cell

SOURCE = files("madrl.report") / "paper" / "mad_rl.csv"

COMPARISON = "paper"
"""The name of the comparison's table."""

PAPER_TABLES = {"main": "table:rl-main", "grid": "table:rl-grid", "synthetic": "table:closedset"}
"""Kind of our row -> the label of the table in the paper's source."""

PAPER_N = {"table:rl-main": 800, "table:rl-grid": 800, "table:closedset": 32}
"""Responses behind a JSD of the paper's tables: 4 to each of 200 problems, pooled; and in the synthetic table to a
prompt, in training as in evaluation ("at K=5 and G=32 the finite-sample floor is 0.017")."""

EXTRACTED = ("gsm8k", "math")
"""Tasks whose correctness is in the paper "exact match after answer extraction"."""


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
    """One number of the paper and ours."""

    published: Published
    row: TableRow | None
    """Ours; None where no table of ours has the paper's row."""
    ours: Number
    n: Range | None
    """The responses behind our JSD, counted as in PAPER_N; None for other metrics, and where nothing is ours."""
    floor: FloorAt | None
    """The floor of an evaluation's JSD at that n; of a pooled one, at as many independent responses as n is worth."""

    @property
    def comparable(self) -> bool:
        """Whether both numbers were taken at the same n: a JSD is biased by it; a rate is not, and always comparable.
        Not where one of the two is missing, or a run of ours."""
        if self.row is None or not self.row.complete or self.ours.value is None:
            return False
        paper = PAPER_N[self.published.table]
        return self.published.metric not in ("jsd", "train_jsd") or self.n == (paper, paper)

    @property
    def verdict(self) -> str:
        """How a comparable JSD stands to the paper's, in words, or that runs of ours are missing; NOTHING for other
        metrics, and where a number is missing."""
        if self.row is None or self.ours.value is None:
            return NOTHING
        if not self.row.complete:
            return "runs are missing"
        if not self.comparable:
            return f"not comparable (n={self.n} against {PAPER_N[self.published.table]})"
        if self.floor is None:
            return NOTHING
        if not exceeds(self.ours.value, self.floor.p95_of_runs):
            return "within the floor"
        # The paper gives no spread of its own: taken for as large as ours.
        theirs = self.ours._replace(value=self.published.value)
        floor = self.floor if self.row.runs == 1 else None
        further, closer = (more_than_chance(*pair, floor) for pair in ((self.ours, theirs), (theirs, self.ours)))
        if further is None:
            return "off target"
        if not (further or closer):
            return "off target, not told from the paper's"
        return f"off target, {'further' if further else 'closer'} than the paper's"


def published() -> list[Published]:
    """Every number of the data file, in the order of the paper's tables."""
    with SOURCE.open(encoding="utf-8") as file:
        return [Published(value=float(line.pop("value")), **line) for line in csv.DictReader(file)]


def compare(study: Study) -> list[Compared]:
    """Each published number of the datasets that ``study`` has runs of, beside ours."""
    ours = {
        (PAPER_TABLES[row.kind], row.dataset, row.target, row.reward, row.weight): row
        for rows in compared_rows(study)
        for row in rows
    }
    return [
        _compared(number, ours.get((number.table, number.dataset, number.target, number.row, number.weight)))
        for number in published()
        if number.dataset in study.datasets and number.target in study.targets(number.dataset)
    ]


def _compared(number: Published, row: TableRow | None) -> Compared:
    if row is None:
        return Compared(number, None, NO_NUMBER, None, None)
    # A training point's off-support responses are not known by prompt, and so neither is its floor.
    ours, n, floor = {
        "jsd": (row.prompt_jsd, row.prompt_n, row.prompt_floor)
        if row.kind == SYNTHETIC
        else (row.jsd, row.samples, row.floor_effective),
        "pass@1": (row.pass_at_1, None, None),
        "off_support": (row.off_support, None, None),
        "train_jsd": (row.train_jsd, row.train_n, None),
    }[number.metric]
    return Compared(number, row, ours, n, floor)


def correctness_note(study: Study) -> str:
    """Which verifier decided pass@1 where the paper's own rule is a choice; nothing where no such task is there."""
    used = [
        f"{dataset_label(dataset)}: {', '.join(sorted({run.settings.verifier for run in study.of(dataset)}))}"
        for dataset in EXTRACTED
        if dataset in study.datasets
    ]
    if not used:
        return ""
    return (
        f"Correctness was decided by the verifier of the runs ({'; '.join(used)}); the paper: exact match after answer "
        "extraction."
    )


def comparison_table(study: Study) -> Table:
    """A line for each published number of the datasets that ``study`` has runs of."""
    compared = compare(study)
    sections: dict[tuple[str, str, str], list[list[Shown]]] = {}
    for one in compared:
        number = one.published
        name = f"{row_label(number.row)} {number.weight}".strip()
        lines = sections.setdefault((number.table, number.dataset, number.target), [])
        lines.append([Shown(name), Shown(number.metric), Shown(f"{number.value:{_form(number.metric)}}"), *_ours(one)])
    caption = (
        "The paper's number, and ours with its spread over as many runs as the last column says (the paper's: 12 in "
        "table:rl-main, 3 elsewhere and for RLVR). A JSD is compared at the paper's number of responses only, n: 800 "
        "pooled; in table:closedset, whose JSD is a mean over prompts, 32 to a prompt. Within the floor: ours is not "
        "above what as many runs on the target show at that n (95th percentile); closer or further: it is above, and "
        "the two differ by more than chance between runs (between problems, of a single run), of which the paper's "
        "numbers are taken to "
        f"have as much as ours. (Parentheses): runs are missing. {correctness_note(study)}"
    ).rstrip()
    if "tiny" in study.profiles:
        caption = (
            f"These runs are miniatures, on other problems and with another model: nothing here is to agree. {caption}"
        )
    elif "small" in study.profiles:
        caption = f"These runs are of a model 30 times smaller than the paper's: nothing here is to agree. {caption}"
    return Table(
        COMPARISON,
        "Beside the paper",
        caption,
        [],
        ["Row", "metric", "paper", "ours", "difference", "verdict", "runs"],
        [
            Section(f"{table}: {panel_label(dataset, target)}", lines)
            for (table, dataset, target), lines in sections.items()
        ],
    )


def _ours(one: Compared) -> list[Shown]:
    if one.row is None:
        return [MISSING_CELL, *[Shown(NOTHING)] * 3]
    form, difference = _form(one.published.metric), NOTHING
    if one.comparable and one.ours.value is not None:
        difference = formatted(one.ours.value - one.published.value, f"+{form}")
    return [number_cell(one.row, one.ours, form), Shown(difference), Shown(one.verdict), runs_cell(one.row)]


def _form(metric: str) -> str:
    return ".3f" if metric == "pass@1" else ".4f"
