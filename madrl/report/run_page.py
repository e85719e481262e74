"""The page of one run, for every day of its training: where the shares are, whether the fit is real, what it costs in
accuracy, what the reward is made of, which alarms were raised, and what the policy actually writes.

Works on a run that has only just begun, one that failed, and one that is done; what is not there yet is left out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from madrl.alarms import Stretch, read_events, stretches
from madrl.errors import MadrlError
from madrl.evaluation.dumps import Evaluation, Run, before_last
from madrl.files import read_json
from madrl.report.evaluation_tables import category_table, evaluation_tables, tables_of_attribute
from madrl.report.folder import PAGE, report_folder
from madrl.report.page import page, plot_section, text
from madrl.report.run_plots import attribute_plots, run_plots
from madrl.report.sample_responses import sample_responses, samples_html
from madrl.report.table import NOTHING, Section, Shown, Table, table_html
from madrl.report.tables import panel_label, row_label
from madrl.run_folder import RunFolder


def report_run_page(path: str, folder: Path) -> list[Path]:
    """Write the run's page into ``folder``, which is made. Raises MadrlError when ``path`` is no run, or one that has
    neither dumps nor metrics yet, and as ``report_folder``."""
    run = Run.load(path)
    history = run.folder.history()
    evaluations = sorted(run.evaluations(), key=lambda one: one["step"])
    if not (history or evaluations):
        raise MadrlError(f"{path} has no dumps and no metrics yet: there is something to see after its first step")
    html = run_page(run, history, evaluations)
    with report_folder(folder) as unfinished:
        (unfinished / PAGE).write_text(html, encoding="utf-8")
    return [folder / PAGE]


def run_page(run: Run, history: Mapping[int, Mapping[str, float]], evaluations: Sequence[Evaluation]) -> str:
    """The whole page as HTML."""
    alarms = sorted(stretches(read_events(run.folder.alarms)), key=lambda one: one.cleared is not None)
    plots = run_plots(run, history, evaluations)
    reward = f"{row_label(run.key.reward)} {run.key.weight}".strip()
    at = max([*history, *(one["step"] for one in evaluations)], default=0)
    lead = (
        f"{panel_label(run.key.dataset, run.key.target)}; reward {reward}; seed {run.key.seed}; "
        f"{run.profile} profile. Step {at} of {run.steps}, {run.state}{': ' + run.reason if run.reason else ''}."
    )
    samples = list(sample_responses(run))
    tables: list[Table] = []
    if evaluations:
        tables = evaluation_tables(evaluations, run.settings.reward.epsilon)
        tables[-1] = category_table(evaluations[-1:])
    further: list[Table] = []
    for name in run.settings.attributes:
        of_it = sorted(run.of_attribute(name).evaluations(), key=lambda one: one["step"])
        plots += attribute_plots(run, history, of_it, name)
        if of_it:
            further += tables_of_attribute(name, of_it, run.settings.reward.epsilon)
    before = before_last(evaluations) if evaluations else None
    parts = [
        f"<h1>{text(run.name)}</h1><p class='lead'>{text(lead)}</p>",
        *(_tiles(table, before) for table in tables[:2]),
        *(_tiles(table, before) for table in further if table.name.startswith("evaluations-")),
        _alarms(alarms, bool(history)),
    ]
    for first, second in zip(plots[::2], [*plots[1::2], None], strict=False):
        pair = plot_section(first) + (plot_section(second) if second else "")
        parts.append(f'<div class="pair">{pair}</div>')
    parts += map(table_html, [*tables, *further])
    parts += [samples_html(run, samples), _facts(run.folder)]
    return page(run.name, "\n".join(parts), plots)


def _tiles(table: Table, before: int | None) -> str:
    """The last row of a table as tiles: the numbers that one looks at first. The row ``before`` stands in the JSD's."""
    rows = table.sections[-1].rows
    kinds = {"off target": "bad", "within the floor": "good"}
    tiles = []
    for place, (column, (value, detail, _)) in enumerate(zip((table.title, *table.columns[1:]), rows[-1], strict=True)):
        kind = kinds.get(" ".join(value.split()), "")
        tiles.append(f'<div class="tile {kind}"><span>{text(column)}</span><b>{text(value)}</b>')
        tiles.append(f"<small>{text(detail)}</small>")
        if before is not None and column.startswith("JSD"):
            where, then = rows[before][0], rows[before][place]
            step = " ".join(where.text.split())
            tiles.append(f"<small>before: {text(then.text)}, {text(step)}, {text(where.detail)}</small>")
        tiles.append("</div>")
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _alarms(alarms: Sequence[Stretch], logged: bool) -> str:
    """The alarms as the run's own training wrote them down, those that are on first."""
    if not alarms:
        return (
            f'<p class="lead" id="alarms">{"No alarm was raised." if logged else "No training step is logged yet."}</p>'
        )
    items = []
    for event, cleared in alarms:
        name = f"{event.name} ({', '.join(event.categories)})" if event.categories else event.name
        when = f"since step {event.step}" if cleared is None else f"steps {event.step} to {cleared - 1}, over"
        items.append(f"<li><b>{text(name)}</b>, {when}: {text(event.text)}</li>")
    kind = "notice alarm" if any(one.cleared is None for one in alarms) else "notice"
    return f'<div class="{kind}" id="alarms">Alarms<ul>{"".join(items)}</ul></div>'


def _facts(folder: RunFolder) -> str:
    """Where and with what it ran."""
    if not folder.facts.exists():
        return ""
    attempts = read_json(folder.facts)["attempts"]
    rows = []
    for number, attempt in enumerate(attempts, start=1):
        versions = ", ".join(f"{name} {version}" for name, version in attempt.get("versions", {}).items())
        git = attempt.get("git") or {}
        commit = f"{git['commit'][:12]}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else NOTHING
        when = f"{attempt.get('started', '?')} to {attempt.get('ended', 'now')}"
        overrides = " ".join(attempt.get("overrides", []))
        rows.append([Shown(str(number)), *map(Shown, (attempt["status"], when, commit)), Shown(versions, overrides)])
    columns = ["attempt", "ended", "when", "commit", "versions and overrides"]
    table = Table("attempts", "How it ran", "", [], columns, [Section("", rows)])
    count = "1 attempt" if len(attempts) == 1 else f"{len(attempts)} attempts"
    return f"<details><summary>How it ran: {count}</summary>{table_html(table)}</details>"
