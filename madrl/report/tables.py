"""The paper's tables of a study: fit and accuracy, the reward grid, SYNTHETIC, categories, all four divergences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from madrl.divergence import DIVERGENCES
from madrl.evaluation.dumps import short_target
from madrl.evaluation.metrics import exceeds
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.evaluation_tables import AT_TARGET, CHANGE, PARTIAL, few_graded, no_graded
from madrl.report.numbers import FloorAt, Number
from madrl.report.rows import (
    GATED,
    Comparison,
    Study,
    TableRow,
    compared_rows,
    comparisons,
    grid_rows,
    has_divergence,
    main_rows,
    place,
    rows_of,
    synthetic_rows,
)
from madrl.report.study import dataset_label, is_synthetic
from madrl.report.table import (
    BEST,
    INCOMPLETE,
    MISSING,
    MISSING_CELL,
    NOTHING,
    PLAIN,
    TIED,
    Section,
    Shown,
    Table,
    formatted,
    interval_text,
)

REWARDS = {"rlvr": "RLVR", "entropy": "RLVR + entropy bonus", "gapo": "GAPO"}
"""What a row is called where its reward's own name is not it."""


def study_tables(study: Study) -> list[Table]:
    """All tables for which there are runs, in the paper's order."""
    real = [dataset for dataset in study.datasets if not is_synthetic(dataset)]
    synthetic = [dataset for dataset in study.datasets if is_synthetic(dataset)]
    tables = []
    if real:
        tables += [main_table(study, real), mix_table(study, real)]
        # One additive weight alone: the main table says it all. The gated form is in no other table.
        weights = [
            study.weights(*panel, reward)
            for panel in study.panels()
            if panel[0] in real
            for reward in study.rewards(*panel)
            if has_divergence(reward)
        ]
        if any(len(of) > 1 or GATED in of for of in weights):
            tables.append(grid_table(study, real))
        tables.append(accuracy_table(study, real))
    if synthetic:
        tables.append(synthetic_table(study, synthetic))
    tables.append(divergence_table(study))
    return tables


READING = (
    "Bold: the lowest JSD among the four divergences; ≈: not told from it by its runs (Games and Howell's test, 5 % in "
    "all of a column; of single runs, whose error is that of other problems alone, by their intervals, and only where "
    "they differ by more than the floor's scatter; of runs that are all alike by that scatter); ∘: no more than as "
    "many runs on the target show (95th percentile) at as many independent responses as these are worth, or than one "
    "run shows where the category depends on the problem, which all runs share, and so on target as far as can be "
    "told. (Parentheses) n/m: only n of the m runs are there, and the number is compared with none. Floor: the JSD of "
    "a policy exactly on the target at n on-support responses, mean and 95th percentile."
)


def main_table(study: Study, datasets: Sequence[str]) -> Table:
    """Fit and accuracy of every row of the paper's main table, for each target."""
    targets = _targets(study, datasets)
    sections = []
    for dataset in datasets:
        by_target = {t: {row.reward: row for row in main_rows(study, dataset, t)} for t in targets}
        compared = {t: _compared(rows) for t, rows in by_target.items()}
        # A file of responses that another dataset has and this one lacks is missing here.
        files = dict.fromkeys(row.reward for row in study.baselines if row.dataset in datasets)
        found = {name for rows in by_target.values() for name in rows}
        lines = []
        for name in (*files, *sorted(found - files.keys(), key=place)):
            line = [Shown(row_label(name))]
            for target in targets:
                row = by_target[target].get(name)
                missing = row is None and name in files
                line += [MISSING_CELL] * len(MAIN_COLUMNS) if missing else _main_cells(row, compared[target].get(name))
            lines.append(line)
        floors = [Shown("floor, mean to p95")]
        for target in targets:
            floor = _largest([row.floor for row in by_target[target].values()])
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


def _main_cells(row: TableRow | None, comparison: Comparison | None) -> list[Shown]:
    if row is None:
        return [Shown(NOTHING)] * len(MAIN_COLUMNS)
    return [
        _fit(row, row.jsd, comparison),
        number_cell(row, row.pass_at_1, ".3f"),
        number_cell(row, Number(row.off_support.value), ".1%"),
        number_cell(row, Number(row.ungraded.value), ".1%"),
        runs_cell(row),
    ]


def grid_table(study: Study, datasets: Sequence[str]) -> Table:
    """JSD of every divergence and weight, for each target and dataset: means over seeds."""
    targets = _targets(study, datasets)
    columns = [(target, dataset) for target in targets for dataset in datasets]
    rows = {c: {(r.reward, r.weight): r for r in grid_rows(study, c[1], c[0])} for c in columns}
    compared = {c: _compared(rows[c]) for c in columns}
    cells = list(dict.fromkeys(cell for column in columns for cell in rows[column]))
    sections = []
    for reward in dict.fromkeys(reward for reward, _ in cells):
        lines = []
        for weight in (weight for of, weight in cells if of == reward):
            line = [Shown(reward), Shown(weight)]
            for column in columns:
                row = rows[column].get((reward, weight))
                compare = compared[column].get((reward, weight))
                line.append(Shown(NOTHING) if row is None else _fit(row, row.jsd, compare, counted=True))
            lines.append(line)
        sections.append(Section("", lines))
    floors = [_floor_range(_largest([row.floor for row in rows[column].values()])) for column in columns]
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
    """The paper's closed-set table, with every other reward and weight that there is: train and held-out JSD of single
    prompts, off-support rate; means over seeds."""
    sections = []
    for dataset in datasets:
        for target in study.targets(dataset):
            rows = synthetic_rows(study, dataset, target)
            lines = []
            by_prompt, pooled = comparisons(rows, per_prompt=True), comparisons(rows)
            for row, of_prompt, of_pool in zip(rows, by_prompt, pooled, strict=True):
                lines.append(
                    [
                        Shown(_name(row)),
                        # A file of responses comes from no training.
                        Shown(NOTHING) if row.runs and row.train_n is None else number_cell(row, row.train_jsd, ".4f"),
                        _fit(row, row.prompt_jsd, of_prompt, floor=row.prompt_floor),
                        _fit(row, row.jsd, of_pool),
                        number_cell(row, row.off_support, ".4f"),
                        runs_cell(row),
                    ]
                )
            floors = [
                _floor_range(_largest([row.train_floor for row in rows])),
                _floor_range(_largest([row.prompt_floor for row in rows])),
                _floor_range(_largest([row.floor for row in rows])),
            ]
            lines.append([Shown("floor, mean to p95"), *floors, Shown(""), Shown("")])
            sections.append(Section(panel_label(dataset, target), lines))
    return Table(
        "synthetic",
        "Synthetic choice, options shown and inferred",
        "Mean over seeds, and in small print their minimum and maximum; a single run or file has its 95 % interval in "
        "place of them. A divergence's row is at alpha 0, as in the paper, where it names no weight (add70: 70 % on "
        "correctness; gated: the correctness-gated form). Train: the mean of the last ten logged points. "
        "JSD per prompt: of each prompt's own shares, averaged over prompts, as the paper's floor implies: it has a "
        "large floor, which is set by the number of responses to a prompt, the n beside it. The floor is common to all "
        "rewards at equal n, and so in no difference between them; at different n nothing is compared. "
        "JSD pooled: of the shares over all prompts. Evaluated on: "
        f"{_evaluated_on(study, datasets)}. {READING}",
        [("", 1), ("train", 1), ("evaluation", 4)],
        ["Model / reward", "JSD per prompt ↓", "JSD per prompt ↓", "JSD pooled ↓", "off-support", "runs"],
        sections,
    )


def mix_table(study: Study, datasets: Sequence[str]) -> Table:
    """pass@1, what it would be at the target mix, and why it changed over training."""
    rows = [row for dataset, target in study.panels() if dataset in datasets for row in rows_of(study, dataset, target)]
    partial = any(row.is_partial for row in rows)
    return Table(
        "mix",
        "Accuracy and the mix",
        f"Final evaluation: median over the runs of a row with their interquartile range. {AT_TARGET} Change: of "
        "pass@1, from each run's first to its last validation with a classified response, the mean over the runs with "
        f"their minimum and maximum; it {CHANGE} A single run or file has its 95 % intervals. (Parentheses): runs are "
        "missing." + f" {PARTIAL}" * partial,
        [("", 1), ("final evaluation", 2 + partial), ("since the first validation", 3), ("", 1)],
        [
            "Model / reward",
            "pass@1 ↑",
            *["full marks ↑"] * partial,
            "at the target mix ↑",
            "change",
            "of the mix",
            "within categories",
            "runs",
        ],
        _sections(
            study,
            datasets,
            lambda row: [
                number_cell(row, row.pass_at_1, ".3f"),
                *[number_cell(row, row.full_marks, ".3f")] * partial,
                _at_target(row),
                *(_change(row, change) for change in row.pass_at_1_change.values()),
                runs_cell(row),
            ],
        ),
    )


def _at_target(row: TableRow) -> Shown:
    if row.accuracy_at_target_lacks:
        return Shown(NOTHING, no_graded(row.accuracy_at_target_lacks))
    if row.runs == 1 and row.complete and row.accuracy_at_target_few:
        return Shown(formatted(row.accuracy_at_target.value, ".3f"), few_graded(row.accuracy_at_target_few))
    return number_cell(row, row.accuracy_at_target, ".3f")


def _change(row: TableRow, change: Number) -> Shown:
    """NOTHING where the runs are there and a change is not: of a file, or with a single validation."""
    return Shown(NOTHING) if row.runs and change.value is None else number_cell(row, change, "+z.3f")


def accuracy_table(study: Study, datasets: Sequence[str]) -> Table:
    """pass@1 within each category, counts pooled over the runs of a row."""
    names = list(dict.fromkeys(name for dataset in datasets for name in study.of(dataset)[0].settings.categories))
    return Table(
        "accuracy",
        "pass@1 within each category",
        "Correct and graded responses summed over the runs of a row (additive runs only), not averaged over their "
        f"rates. A dot: fewer than {MIN_COMPLETIONS} graded responses, which is not a measured zero. Each run chooses "
        "which problems it answers in which category, so this is not a clean measure of competence in it. "
        "(Parentheses): runs are missing.",
        [],
        ["Model / reward", *names],
        _sections(study, datasets, lambda row: [_accuracy(row, name) for name in names]),
    )


def _accuracy(row: TableRow, category: str) -> Shown:
    pooled = row.accuracy.get(category)
    if pooled is None:  # a category of another task, or no run at all
        return Shown("") if row.runs else MISSING_CELL
    if pooled.accuracy is None:
        return Shown("·", f"n={pooled.graded}")
    return Shown(f"{pooled.accuracy:.3f}", f"n={pooled.graded}", PLAIN if row.complete else INCOMPLETE)


def divergence_table(study: Study) -> Table:
    """All four divergences of the final evaluations, pooled shares."""
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
        _sections(
            study,
            study.datasets,
            lambda row: [
                *(number_cell(row, row.divergences[name], ".4f") for name in DIVERGENCES),
                number_cell(row, row.per_prompt, ".4f"),
                runs_cell(row),
            ],
        ),
    )


def _sections(study: Study, datasets: Sequence[str], cells: Callable[[TableRow], list[Shown]]) -> list[Section]:
    """The rows of the datasets' first table with these cells, for each target."""
    return [
        Section(
            panel_label(dataset, target),
            [[Shown(_name(row)), *cells(row)] for row in rows_of(study, dataset, target)],
        )
        for dataset, target in study.panels()
        if dataset in datasets
    ]


def _targets(study: Study, datasets: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(target for dataset in datasets for target in study.targets(dataset)))


def _evaluated_on(study: Study, datasets: Sequence[str]) -> str:
    """The splits behind the runs' numbers: validation where no run of a dataset has a holdout dump."""
    splits = {run.final["split"] for dataset in datasets for run in study.of(dataset) if run.final is not None}
    return ", ".join(sorted(splits)) or "nothing yet"


def _largest(floors: Sequence[FloorAt | None]) -> FloorAt | None:
    """The floor that a column is read with; those of its rows differ by their off-support responses."""
    return max((floor for floor in floors if floor is not None), key=lambda floor: floor.p95, default=None)


def _compared(rows: Mapping[Any, TableRow]) -> dict[Any, Comparison]:
    return dict(zip(rows, comparisons(list(rows.values())), strict=True))


def runs_cell(row: TableRow) -> Shown:
    """How many of its runs a row has."""
    return Shown(f"{row.runs}/{row.expected}", mark=PLAIN if row.complete else INCOMPLETE)


def _floor_range(floor: FloorAt | None) -> Shown:
    return Shown(NOTHING) if floor is None else Shown(f"{floor.mean:.4f}–{floor.p95:.4f}", f"n={floor.n}")


def _fit(
    row: TableRow,
    number: Number,
    comparison: Comparison | None,
    *,
    counted: bool = False,
    floor: FloorAt | None = None,
) -> Shown:
    """A JSD with its marks; ``counted`` as in ``number_cell``."""
    shown = number_cell(row, number, ".4f", counted)
    if shown.mark:
        return shown
    floor = floor or row.floor_effective
    on_target = floor is not None and number.value is not None and not exceeds(number.value, floor.p95_of_runs)
    best, differs = comparison or (False, None)
    mark = BEST if best else TIED if differs is False else PLAIN
    return Shown(shown.text + (" ∘" if on_target else ""), shown.detail, mark)


def number_cell(row: TableRow, number: Number, form: str, counted: bool = False) -> Shown:
    """A number with its spread. ``counted``: say how many runs there are, where no column does."""
    if number.value is None:
        return Shown("missing", "" if row.runs or not counted else f"0/{row.expected}", MISSING)
    detail = interval_text((number.low, number.high), form)
    if row.complete:
        return Shown(formatted(number.value, form), detail)
    return Shown(formatted(number.value, form), f"{row.runs}/{row.expected}" if counted else detail, INCOMPLETE)


def row_label(reward: str) -> str:
    """A row's name for people."""
    name, space, more = reward.partition(" ")
    return f"{REWARDS.get(name, name)}{space}{more}"


def _name(row: TableRow) -> str:
    return f"{row_label(row.reward)} {row.weight}".strip()


def target_label(target: str) -> str:
    """``uniform target``, ``peaked target``, or the weights, which many have a short name for."""
    return {"uniform": "uniform target", "peak": "peaked target"}.get(target) or short_target(target)


def panel_label(dataset: str, target: str) -> str:
    """A dataset and target for people."""
    return f"{dataset_label(dataset)}, {target_label(target)}"


def missing_runs(study: Study) -> list[str]:
    """Every run that a table waits for, once, with the reason."""
    rows = [row for rows in compared_rows(study) for row in rows]
    return list(dict.fromkeys(reason for row in rows for reason in row.missing))
