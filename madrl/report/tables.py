"""The tables as text with marks, whatever they are written in afterwards (``madrl.report.formats``).

A cell's mark says what its number may be used for: ``best`` of its column, ``tied`` with the best within the floor,
``incomplete`` when runs are missing behind it (in parentheses, never compared), ``missing`` when nothing is there.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from madrl.divergence import DIVERGENCES
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.cells import DATASETS, is_synthetic
from madrl.report.rows import (
    Floor,
    Number,
    Row,
    Study,
    Verdict,
    grid_rows,
    grid_weights,
    main_rows,
    reward_weights,
    synthetic_rows,
    verdicts,
)

NOTHING = "—"
BEST, TIED, INCOMPLETE, MISSING, PLAIN = "best", "tied", "incomplete", "missing", ""

REWARDS = {"rlvr": "RLVR", "entropy": "RLVR + entropy bonus", "gapo": "GAPO"}
"""What a row is called where its reward's own name is not it."""


class Shown(NamedTuple):
    """One cell of a table."""

    text: str
    detail: str = ""
    """What stands small beside it: a spread, or how many of its runs there are."""
    mark: str = PLAIN


MISSING_CELL = Shown("missing", mark=MISSING)


class Section(NamedTuple):
    """Rows under a heading of their own."""

    heading: str
    rows: list[list[Shown]]


class Table(NamedTuple):
    """A table ready to be written."""

    name: str
    """Of its files."""
    title: str
    caption: str
    groups: list[tuple[str, int]]
    """Headings over several columns, and how many; none at all where no column needs one."""
    columns: list[str]
    sections: list[Section]


def study_tables(study: Study) -> list[Table]:
    """All tables for which there are runs, in the paper's order."""
    real = [dataset for dataset in study.datasets if not is_synthetic(dataset)]
    synthetic = [dataset for dataset in study.datasets if is_synthetic(dataset)]
    tables = []
    if real:
        tables.append(main_table(study, real))
        # One additive weight alone: the main table says it all. The gated form is in no other table.
        if any(grid_weights(study, dataset) != reward_weights(study, dataset)[:1] for dataset in real):
            tables.append(grid_table(study, real))
        tables.append(accuracy_table(study, real))
    if synthetic:
        tables.append(synthetic_table(study, synthetic))
    tables.append(divergence_table(study))
    return tables


READING = (
    "Bold: the lowest JSD among the four divergences; ≈: not resolved from it, the difference being below the floor; "
    "∘: not resolved from the target itself. (Parentheses) n/m: only n of the m runs are there, and the number is "
    "compared with none. Floor: the JSD of a policy exactly on the target at n on-support responses, mean and 95th "
    "percentile."
)


def main_table(study: Study, datasets: Sequence[str]) -> Table:
    """Fit and accuracy of every row of the paper's main table, for each target."""
    targets = _targets(study, datasets)
    sections = []
    for dataset in datasets:
        by_target = {t: {row.reward: row for row in main_rows(study, dataset, t)} for t in targets}
        verdict = {t: dict(zip(rows, verdicts(list(rows.values())), strict=True)) for t, rows in by_target.items()}
        # A file of responses that another dataset has and this one lacks is missing here.
        files = dict.fromkeys(row.reward for row in study.baselines)
        names = list(dict.fromkeys([*files, *(name for target in targets for name in by_target[target])]))
        lines = []
        for name in _ordered(names):
            line = [Shown(row_label(name))]
            for target in targets:
                row = by_target[target].get(name)
                missing = row is None and name in files
                line += [MISSING_CELL] * len(MAIN_COLUMNS) if missing else _main_cells(row, verdict[target].get(name))
            lines.append(line)
        floors = [Shown("floor, mean to p95")]
        for target in targets:
            floor = _common_floor(list(by_target[target].values()))
            floors += [_floor_range(floor), *[Shown("")] * (len(MAIN_COLUMNS) - 1)]
        sections.append(Section(dataset_label(dataset), [*lines, floors]))
    return Table(
        "main",
        "Distribution fit and accuracy",
        "JSD in nats of the pooled on-support shares, lower is better. Rows of a reward: median over its additive runs "
        "(all weights and seeds), and in small print their interquartile range; RLVR: median over seeds, against the "
        "uniform target only. A single run or file has its 95 % interval in place of the range. Evaluated on: "
        f"{_evaluated_on(study, datasets)}. {READING}",
        [("", 1), *[(target_label(target), len(MAIN_COLUMNS)) for target in targets]],
        ["Model / reward", *MAIN_COLUMNS * len(targets)],
        sections,
    )


MAIN_COLUMNS = ["JSD ↓", "pass@1 ↑", "off-support", "ungraded", "runs"]


def _main_cells(row: Row | None, verdict: Verdict | None) -> list[Shown]:
    if row is None:
        return [Shown(NOTHING)] * len(MAIN_COLUMNS)
    runs = Shown(f"{row.runs}/{row.expected}", mark=PLAIN if row.complete else INCOMPLETE)
    return [
        _fit(row, row.jsd, verdict),
        _shown(row, row.pass_at_1, ".3f"),
        _shown(row, Number(row.off_support.value), ".1%"),
        _shown(row, Number(row.ungraded.value), ".1%"),
        runs,
    ]


def grid_table(study: Study, datasets: Sequence[str]) -> Table:
    """JSD of every divergence and weight, for each target and dataset: means over seeds."""
    targets = _targets(study, datasets)
    columns = [(target, dataset) for target in targets for dataset in datasets]
    rows = {c: {(r.reward, r.weight): r for r in grid_rows(study, c[1], c[0])} for c in columns}
    verdict = {c: dict(zip(rows[c], verdicts(list(rows[c].values())), strict=True)) for c in columns}
    weights = list(dict.fromkeys(weight for dataset in datasets for weight in grid_weights(study, dataset)))
    sections = []
    for reward in DIVERGENCES:
        lines = []
        for weight in weights:
            line = [Shown(reward), Shown(weight)]
            for column in columns:
                row = rows[column].get((reward, weight))
                line.append(
                    Shown(NOTHING) if row is None else _fit(row, row.jsd, verdict[column][reward, weight], counted=True)
                )
            lines.append(line)
        sections.append(Section("", lines))
    floors = [_floor_range(_common_floor(list(rows[column].values()))) for column in columns]
    sections.append(Section("", [[Shown("floor"), Shown("mean to p95"), *floors]]))
    return Table(
        "grid",
        "Full reward grid",
        "JSD to the target in nats at the last step, mean over seeds, and in small print their minimum and maximum (of "
        "a single seed: its 95 % interval). add90 to add55: the additive form with that weight, in percent, on "
        f"correctness; gated: the correctness-gated form. {READING}",
        [("", 2), *[(target_label(target), len(datasets)) for target in targets]],
        ["Reward", "Weight", *[dataset_label(dataset) for _, dataset in columns]],
        sections,
    )


def synthetic_table(study: Study, datasets: Sequence[str]) -> Table:
    """The paper's closed-set table: train and held-out JSD of single prompts, off-support rate; means over seeds."""
    sections = []
    for dataset in datasets:
        for target in study.targets(dataset):
            rows = synthetic_rows(study, dataset, target)
            lines = []
            by_prompt, pooled = verdicts(rows, per_prompt=True), verdicts(rows)
            for row, of_prompt, of_pool in zip(rows, by_prompt, pooled, strict=True):
                lines.append(
                    [
                        Shown(row.reward),
                        _shown(row, row.train_jsd, ".4f"),
                        _fit(row, row.prompt_jsd, of_prompt, floor=row.prompt_floor),
                        _fit(row, row.jsd, of_pool),
                        _shown(row, row.off_support, ".4f"),
                        Shown(f"{row.runs}/{row.expected}", mark=PLAIN if row.complete else INCOMPLETE),
                    ]
                )
            floors = [
                _floor_range(_largest([row.train_floor for row in rows])),
                _floor_range(_largest([row.prompt_floor for row in rows])),
                _floor_range(_common_floor(rows)),
            ]
            lines.append([Shown("floor, mean to p95"), *floors, Shown(""), Shown("")])
            sections.append(Section(f"{dataset_label(dataset)}, {target_label(target)}", lines))
    return Table(
        "synthetic",
        "Synthetic choice, options shown and inferred",
        "Mean over seeds, and in small print their minimum and maximum. Train: the mean of the last ten logged points. "
        "JSD per prompt: of each prompt's own shares, averaged over prompts, as in the paper: it has a large floor, "
        "which is set by the number of responses to a prompt, the n beside it. The floor is common to all rewards at "
        "equal n, so that differences are resolved above the scatter around it; at different n nothing is compared. "
        "JSD pooled: of the shares over all prompts. Evaluated on: "
        f"{_evaluated_on(study, datasets)}. {READING}",
        [("", 1), ("train", 1), ("evaluation", 4)],
        ["Reward", "JSD per prompt ↓", "JSD per prompt ↓", "JSD pooled ↓", "off-support", "runs"],
        sections,
    )


def accuracy_table(study: Study, datasets: Sequence[str]) -> Table:
    """pass@1 within each category, counts pooled over the runs of a row."""
    targets = _targets(study, datasets)
    same = len({study.of(dataset)[0].settings.categories for dataset in datasets}) == 1
    sections = []
    for dataset in datasets:
        categories = study.of(dataset)[0].settings.categories
        for target in targets:
            lines = []
            for row in main_rows(study, dataset, target):
                line = [Shown(row_label(row.reward))]
                for name in categories:
                    pooled = row.accuracy.get(name)
                    if pooled is None:
                        line.append(Shown("missing", mark=MISSING))
                    elif pooled.accuracy is None:
                        line.append(Shown("·", f"n={pooled.graded}"))
                    else:
                        text = f"{pooled.accuracy:.3f}"
                        line.append(
                            Shown(text, f"n={pooled.graded}")
                            if row.complete
                            else Shown(text, f"n={pooled.graded}", INCOMPLETE)
                        )
                lines.append([*line, *[Shown("")] * (_most_categories(study, datasets) - len(categories))])
            heading = f"{dataset_label(dataset)}, {target_label(target)}" + (
                "" if same else f": {', '.join(categories)}"
            )
            sections.append(Section(heading, lines))
    most = _most_categories(study, datasets)
    names = list(study.of(datasets[0])[0].settings.categories) if same else [str(i + 1) for i in range(most)]
    return Table(
        "accuracy",
        "pass@1 within each category",
        "Correct and graded responses summed over the runs of a row (additive runs only), not averaged over their "
        f"rates. A dot: fewer than {MIN_COMPLETIONS} graded responses, which is not a measured zero. Each run chooses "
        "which problems it answers in which category, so this is not a clean measure of competence in it. "
        "(Parentheses): runs are missing.",
        [],
        ["Model / reward", *names],
        sections,
    )


def divergence_table(study: Study) -> Table:
    """All four divergences of the final evaluations, pooled shares."""
    sections = []
    for dataset in study.datasets:
        for target in study.targets(dataset):
            rows = (synthetic_rows if is_synthetic(dataset) else main_rows)(study, dataset, target)
            lines = [
                [
                    Shown(row_label(row.reward)),
                    *[_shown(row, row.divergences.get(name, Number(None)), ".4f") for name in DIVERGENCES],
                    _shown(row, row.per_prompt, ".4f"),
                    Shown(f"{row.runs}/{row.expected}", mark=PLAIN if row.complete else INCOMPLETE),
                ]
                for row in rows
            ]
            sections.append(Section(f"{dataset_label(dataset)}, {target_label(target)}", lines))
    return Table(
        "divergences",
        "Every row under all four metrics",
        "Of the pooled on-support shares: median over runs with their interquartile range (SYNTHETIC: mean over seeds, "
        "minimum to maximum). L2 has no unit, the others are in nats; reverse KL is taken of the smoothed target. ∞: a "
        "wanted category never occurs. Per prompt: mean squared distance of a prompt's own mix from the target, "
        "without bias; it is small only where single prompts get the mix, and not just all of them together. "
        "(Parentheses): runs are missing.",
        [("", 1), ("pooled ↓", 4), ("", 2)],
        ["Reward", *DIVERGENCES, "per prompt ↓", "runs"],
        sections,
    )


def _targets(study: Study, datasets: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(target for dataset in datasets for target in study.targets(dataset)))


def _evaluated_on(study: Study, datasets: Sequence[str]) -> str:
    """The splits behind the runs' numbers: validation where no run of a dataset has a holdout dump."""
    splits = {run.final.split for dataset in datasets for run in study.of(dataset) if run.final is not None}
    return ", ".join(sorted(splits)) or "nothing yet"


def _most_categories(study: Study, datasets: Sequence[str]) -> int:
    return max(len(study.of(dataset)[0].settings.categories) for dataset in datasets)


def _ordered(names: Sequence[str]) -> list[str]:
    """Files of responses first, as they were given; then baselines that were trained; then the divergences."""
    known = [*REWARDS, *DIVERGENCES]
    return [name for name in names if name not in known] + [name for name in known if name in names]


def _common_floor(rows: Sequence[Row]) -> Floor | None:
    """The floor that a column is read with: the largest of its rows', which differ by their off-support responses."""
    return _largest([row.floor for row in rows])


def _largest(floors: Sequence[Floor | None]) -> Floor | None:
    return max((floor for floor in floors if floor is not None), key=lambda floor: floor.p95, default=None)


def _floor_range(floor: Floor | None) -> Shown:
    return Shown(NOTHING) if floor is None else Shown(f"{floor.mean:.4f}–{floor.p95:.4f}", f"n={floor.n}")


def _fit(
    row: Row, number: Number, verdict: Verdict | None, *, counted: bool = False, floor: Floor | None = None
) -> Shown:
    """A JSD with its marks. ``counted``: say how many runs there are where no column does."""
    shown = _shown(row, number, ".4f", counted)
    if shown.mark:
        return shown
    floor = floor or row.floor
    on_target = floor is not None and number.value is not None and number.value <= floor.p95
    mark = BEST if verdict and verdict.best else TIED if verdict and verdict.resolved is False else PLAIN
    return Shown(shown.text + (" ∘" if on_target else ""), shown.detail, mark)


def _shown(row: Row, number: Number, form: str, counted: bool = False) -> Shown:
    if number.value is None:
        return Shown("missing", "" if row.runs else f"0/{row.expected}" if counted else "", MISSING)
    detail = (
        "" if number.low is None or number.high is None else f"{_number(number.low, form)}–{_number(number.high, form)}"
    )
    if row.complete:
        return Shown(_number(number.value, form), detail)
    if counted:
        detail = f"{row.runs}/{row.expected}"
    return Shown(_number(number.value, form), detail, INCOMPLETE)


def _number(value: float, form: str) -> str:
    return "∞" if math.isinf(value) else format(value, form)


def row_label(reward: str) -> str:
    """A row's name for people."""
    return REWARDS.get(reward, reward)


def dataset_label(dataset: str) -> str:
    """The paper's name of a task, or the task's own."""
    return DATASETS.get(dataset, dataset)


def target_label(target: str) -> str:
    """``uniform target``, ``peaked target``, or the weights."""
    return {"uniform": "uniform target", "peak": "peaked target"}.get(target, target)


def missing_runs(study: Study) -> list[str]:
    """Every run that a table waits for, once, with the reason."""
    rows: list[Row] = []
    for dataset in study.datasets:
        kinds: list[Callable[[Study, str, str], list[Row]]] = [main_rows, grid_rows]
        if is_synthetic(dataset):
            kinds = [synthetic_rows]
        rows += [row for target in study.targets(dataset) for kind in kinds for row in kind(study, dataset, target)]
    return list(dict.fromkeys(reason for row in rows for reason in row.missing))
