"""Everything that `madrl report` writes for several runs: DIR/index.html, report.md, *.tex, *.csv, *.png and *.pdf."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.evaluation.accuracy import AccuracyChange
from madrl.evaluation.dumps import DONE, Evaluation, evaluate_file, short_target
from madrl.markdown import markdown_text
from madrl.report.csv_files import rows_csv, runs_csv
from madrl.report.differences import differing_settings
from madrl.report.drawing import draw
from madrl.report.evaluation_tables import at_target_cell
from madrl.report.folder import PAGE, report_folder
from madrl.report.frontier import frontier_plots
from madrl.report.page import page, plot_section, text
from madrl.report.panels import Plot
from madrl.report.paper import COMPARISON, comparison_table
from madrl.report.rows import Study, TableRow, baseline_row, compared_rows
from madrl.report.study import COLLAPSED_PART, COLLAPSED_SHARE, ScoredRun, dataset_label, load_runs, run_roots
from madrl.report.study_plots import study_plots
from madrl.report.table import MISSING_CELL, Section, Shown, Table, latex, markdown, measured, table_html
from madrl.report.tables import REWARDS, missing_runs, row_label, study_tables

OF_PROFILES = {
    "tiny": (
        "These runs are of the tiny profile: miniature problems and a model made for them. They show that the method "
        "and its measurement work, not how well it does on the benchmark."
    ),
    "small": (
        "These runs are of the small profile: a language model of 135 million parameters, 30 times smaller than the "
        "paper's."
    ),
}
"""What a reader has to know of runs of these profiles."""

OWN_TARGETS = "Targets that have a short name here:"

MISSING_RUNS = "Missing from the tables, where the numbers they belong to are in parentheses and compared with none:"

DIFFERENCES = (
    "These runs differ in more than their names say, so that a difference between their numbers may come from there:"
)

LEFT_OUT = "Left out, because their cell of the grid ran again:"


class BaselineFile(NamedTuple):
    """A file of responses that is a row of the main table, or of SYNTHETIC's."""

    dataset: str
    """Empty: the only one there is."""
    name: str
    path: Path


def parse_baseline(value: str) -> BaselineFile:
    """``[DATASET:]NAME=FILE``. Raises MadrlError for anything else."""
    label, separator, path = value.partition("=")
    dataset, _, name = label.rpartition(":")
    if not (separator and name.strip() and path):
        raise MadrlError(f"--baseline {value!r} is not [DATASET:]NAME=FILE: write --baseline 'SFT init=init.jsonl'")
    return BaselineFile(dataset.strip(), name.strip(), Path(path))


def load_study(
    roots: Sequence[Path],
    baselines: Sequence[BaselineFile],
    folder: Path,
    advance: Callable[[int], None] = lambda count: None,
) -> Study:
    """The runs and the files of responses, whose own numbers go into ``folder``. Raises MadrlError for runs that cannot
    stand in one table, and for a file that is not what ``dumps.evaluate_file`` reads or belongs to no dataset of the
    runs."""
    study = Study(tuple(load_runs(roots, advance)), ())
    for dataset in study.datasets:
        for what, found in (
            ("profiles", {run.profile for run in study.of(dataset)}),
            ("numbers of steps", {run.steps for run in study.of(dataset)}),
            ("lists of categories", {run.settings.categories for run in study.of(dataset)}),
        ):
            if len(found) > 1:
                raise MadrlError(f"the runs of {dataset} have several {what} ({found}): report them one at a time")
    _check_names(study, baselines)
    rows = [row for file in baselines for row in _baseline_rows(study, file, folder)]
    return study._replace(baselines=tuple(rows))


def _check_names(study: Study, files: Sequence[BaselineFile]) -> None:
    """Raises MadrlError for a file whose row would have the name of another row of its dataset."""
    own = {*DIVERGENCES, *REWARDS, *REWARDS.values()}
    own |= {name for run in study.runs for name in (run.key.reward, row_label(run.key.reward))}
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        where = f"--baseline {file.name}={file.path}"
        if file.name.partition(", ")[0] in own:
            raise MadrlError(f"{where}: {file.name!r} is the name of a reward's own row: call the file something else")
        name = file.dataset or " ".join(study.datasets), _in_a_file_name(file.name)
        if name in seen:
            raise MadrlError(
                f"{where}: {seen[name]} has that name, or one too like it: call one of them something else"
            )
        seen[name] = file.path


def _in_a_file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _baseline_rows(study: Study, file: BaselineFile, folder: Path) -> list[TableRow]:
    """The file's rows, one for each target of its dataset."""
    dataset = file.dataset or (study.datasets[0] if len(study.datasets) == 1 else "")
    if dataset not in study.datasets:
        found = ", ".join(study.datasets)
        raise MadrlError(f"--baseline {file.name}={file.path}: which dataset? write DATASET:{file.name}, of {found}")
    rows = []
    for target in study.targets(dataset):
        settings = study.settings(dataset, target)
        name = _in_a_file_name(f"{dataset}_{file.name}_{short_target(target)}")
        output = folder / f"baseline_{name}.metrics.json"
        evaluation = evaluate_file(file.path, settings.categories, settings.target, settings.reward.epsilon)
        output.write_text(json.dumps(evaluation, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        found_rows = evaluation["evaluations"]
        if len(found_rows) > 1:
            splits = ", ".join(row["split"] for row in found_rows)
            raise MadrlError(f"{file.path} has several splits ({splits}): keep the responses of one")
        rows.append(baseline_row(file.name, dataset, target, found_rows[0], settings))
    return rows


def report_study(
    paths: Sequence[str],
    folder: Path,
    baselines: Sequence[BaselineFile] = (),
    beside_paper: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Path]:
    """Write the report into ``folder`` (``report_folder``) and return what was written, the page first."""
    with report_folder(folder) as unfinished:
        study = load_study(run_roots(paths), baselines, unfinished, advance)
        tables = study_tables(study)
        if beside_paper:
            tables.append(comparison_table(study))
        plots = [*study_plots(study), *frontier_plots(study)]
        figures = [f"{plot.name}.{form}" for plot in plots for form in ("png", "pdf")]
        for plot in plots:
            draw(plot.panels, plot.columns, {form: unfinished / f"{plot.name}.{form}" for form in ("png", "pdf")})
        files = {
            PAGE: _study_page(study, tables, plots),
            "report.md": _study_markdown(study, tables, plots),
            "rows.csv": rows_csv(compared_rows(study)),
            "runs.csv": runs_csv(study.runs),
            **{f"{table.name}.tex": latex(table) for table in tables},
        }
        for name, content in files.items():
            (unfinished / name).write_text(content, encoding="utf-8")
    return [folder / name for name in (*files, *figures)]


def _headline(study: Study) -> tuple[str, str]:
    """The report's title, and one line on what it is of."""
    done = sum(run.state == DONE for run in study.runs)
    names = ", ".join(dict.fromkeys(dataset_label(dataset) for dataset in study.datasets))
    states = (
        f"{done} of {len(study.runs)} runs are complete" if done < len(study.runs) else f"{done} runs, all complete"
    )
    seeds = sorted({run.key.seed for run in study.runs})
    named = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return f"MaD-RL: {names}", f"{states}; {named}."


def _notices(study: Study) -> dict[str, list[str]]:
    """What a reader has to know before the tables, each with its cases."""
    found = {MISSING_RUNS: missing_runs(study), DIFFERENCES: differing_settings(study.runs)}
    found[LEFT_OUT] = [f"{name}, for {run.folder.root.name}" for run in study.runs for name in run.left_out]
    profiles: dict[str, list[str]] = {said: [] for name, said in OF_PROFILES.items() if name in study.profiles}
    targets = dict.fromkeys(target for _, target in study.panels())
    found[OWN_TARGETS] = [f"{short}: {target}" for target in targets if (short := short_target(target)) != target]
    return profiles | {said: cases for said, cases in found.items() if cases}


def _study_markdown(study: Study, tables: Sequence[Table], plots: Sequence[Plot]) -> str:
    title, lead = _headline(study)
    parts = [f"# {markdown_text(title)}", "", markdown_text(lead), ""]
    for said, cases in _notices(study).items():
        parts += [f"**{said}**", "", *(f"- {markdown_text(case)}" for case in cases), ""]
    parts += [markdown(table) for table in tables]
    parts += ["## Figures", "", *(f"![{plot.name}]({plot.name}.png)\n" for plot in plots)]
    return "\n".join(parts)


def _study_page(study: Study, tables: Sequence[Table], plots: Sequence[Plot]) -> str:
    title, lead = _headline(study)
    parts = [f"<h1>{text(title)}</h1><p class='lead'>{text(lead)}</p>"]
    for said, cases in _notices(study).items():
        listed = "".join(f"<li>{text(case)}</li>" for case in cases)
        alarm = " alarm" * (said in (MISSING_RUNS, DIFFERENCES))
        parts.append(f'<div class="notice{alarm}">{said}<ul>{listed}</ul></div>')
    main, *rest = tables
    parts += [table_html(main), *(plot_section(plot) for plot in plots), *(_folded(table) for table in rest)]
    parts.append(_runs_html(study.runs))
    return page(title, "\n".join(parts), plots)


def _folded(table: Table) -> str:
    """The table; folded up where it has a line for every number of the paper."""
    if table.name != COMPARISON:
        return table_html(table)
    lines = sum(len(section.rows) for section in table.sections)
    return f"<details><summary>{text(table.title)}: {lines} numbers</summary>{table_html(table)}</details>"


def _runs_html(runs: Sequence[ScoredRun]) -> str:
    """Every run that was read, and how it ended."""
    rows = []
    for run in runs:
        least, lost = run.least_wanted_share, run.lost_categories
        change = run.pass_at_1_change or {}
        rows.append(
            [
                Shown(str(run.key)),
                Shown(run.state if not run.reason else f"{run.state}: {run.reason}"),
                *_final_cells(run.final),
                *(
                    measured(change.get(part), "+z.3f", change.get(f"{part}_interval"))
                    for part in AccuracyChange._fields
                ),
                Shown("" if least is None else f"{least:.3f}", f"lost {', '.join(lost)}" if lost else ""),
                Shown(run.folder.root.name),
            ]
        )
    lost_runs = sum(bool(row[-2].detail) for row in rows)
    limits = f"below {COLLAPSED_SHARE:.0%}, and below {COLLAPSED_PART:.0%} of its target"
    collapsed = f"; {lost_runs} lost a wanted category ({limits})" if lost_runs else ""
    columns = [
        "run", "state", "JSD", "pass@1", "at the target mix", "off-support", "change", "of the mix",
        "within categories", "least wanted share", "folder",
    ]  # fmt: skip
    caption = (
        "Intervals: 95 %, problems or their clusters resampled. Change: of pass@1, from the first to the last "
        "validation with a classified response."
    )
    table = Table("runs", "Runs", caption, [], columns, [Section("", rows)])
    return f"<details><summary>all {len(runs)}, with their folders{collapsed}</summary>{table_html(table)}</details>"


def _final_cells(final: Evaluation | None) -> list[Shown]:
    """JSD, pass@1, accuracy at the target mix and off-support rate of a run's final evaluation."""
    if final is None:
        return [MISSING_CELL] * 4
    return [
        measured(final["jsd"], ".4f", final["jsd_interval"]),
        measured(final["pass@1"], ".3f", final["pass@1_interval"]),
        at_target_cell(final),
        measured(final["off_support"], ".1%", final["off_support_interval"]),
    ]
