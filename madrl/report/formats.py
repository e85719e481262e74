"""Tables as Markdown, LaTeX (booktabs) and HTML, and the rows behind them as CSV. Names are escaped."""

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from madrl.report.cells import Run
from madrl.report.rows import Number, Row, verdicts
from madrl.report.tables import BEST, INCOMPLETE, MISSING, TIED, Shown, Table

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↓": r"$\downarrow$", "↑": r"$\uparrow$", "∞": r"$\infty$",
    "≈": r"$\approx$", "∘": r"$\circ$", "–": "--", "—": "---", "·": r"$\cdot$", "−": "$-$",
}  # fmt: skip


def markdown(table: Table) -> str:
    """A heading, the caption, and one pipe table; sections are rows in bold."""
    groups = [name for name, span in table.groups for _ in range(span)] or [""] * len(table.columns)
    header = [f"{group}: {column}" if group else column for group, column in zip(groups, table.columns, strict=True)]
    lines = [_pipes(map(_md, header)), _pipes(["---"] * len(header))]
    for section in table.sections:
        if section.heading:
            lines.append(_pipes([f"**{_md(section.heading)}**", *[""] * (len(header) - 1)]))
        lines += [_pipes(_md_cell(cell) for cell in row) for row in section.rows]
    return "\n".join([f"## {table.title}", "", _md(table.caption), "", *lines, ""])


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    """One line of Markdown that is text and nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _md_cell(cell: Shown) -> str:
    text = _md(cell.text)
    if cell.mark == BEST:
        text = f"**{text}**"
    elif cell.mark == TIED:
        text = f"≈ {text}"
    elif cell.mark == INCOMPLETE:
        text = f"({text})"
    elif cell.mark == MISSING:
        text = f"*{text}*"
    return f"{text} <sub>{_md(cell.detail)}</sub>" if cell.detail else text


def latex(table: Table) -> str:
    """A table* in booktabs; nothing but ``\\usepackage{booktabs}`` is needed."""
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table*}[t]\centering\scriptsize\setlength{\tabcolsep}{3pt}",
        r"\begin{tabular}{l" + "c" * (len(table.columns) - 1) + "}",
        r"\toprule",
    ]
    if any(name for name, _ in table.groups):
        start, heads, rules = 1, [], []
        for name, span in table.groups:
            heads.append(rf"\multicolumn{{{span}}}{{c}}{{{_tex(name)}}}")
            if name:
                rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
            start += span
        lines += [" & ".join(heads) + r" \\", "".join(rules)]
    lines += [" & ".join(map(_tex, table.columns)) + r" \\"]
    for section in table.sections:
        lines.append(r"\midrule")
        if section.heading:
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\emph{{{_tex(section.heading)}}}}} \\")
        lines += [" & ".join(map(_tex_cell, row)) + r" \\" for row in section.rows]
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{\textbf{{{_tex(table.title)}.}} {_tex(table.caption)}}}",
        rf"\label{{table:{table.name}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _tex_cell(cell: Shown) -> str:
    text = _tex(cell.text)
    if cell.mark == BEST:
        text = rf"\textbf{{{text}}}"
    elif cell.mark == TIED:
        text = rf"$\approx$\,{text}"
    elif cell.mark == INCOMPLETE:
        text = f"({text})"
    elif cell.mark == MISSING:
        text = rf"\emph{{{text}}}"
    return rf"{text} {{\tiny {_tex(cell.detail)}}}" if cell.detail else text


def table_html(table: Table) -> str:
    """The table with its title and caption; marks are classes that the page's style knows."""
    out = [f'<section class="table" id="table-{html.escape(table.name)}"><h2>{html.escape(table.title)}</h2>']
    out.append('<div class="scroll"><table><thead>')
    if any(name for name, _ in table.groups):
        heads = "".join(f'<th colspan="{span}">{html.escape(name)}</th>' for name, span in table.groups)
        out.append(f'<tr class="groups">{heads}</tr>')
    out.append("<tr>" + "".join(f"<th>{html.escape(column)}</th>" for column in table.columns) + "</tr></thead>")
    for section in table.sections:
        out.append("<tbody>")
        if section.heading:
            out.append(
                f'<tr class="section"><th colspan="{len(table.columns)}">{html.escape(section.heading)}</th></tr>'
            )
        for row in section.rows:
            out.append("<tr>" + "".join(_html_cell(cell) for cell in row) + "</tr>")
        out.append("</tbody>")
    out.append(f'</table></div><p class="caption">{html.escape(table.caption)}</p></section>')
    return "\n".join(out)


def _html_cell(cell: Shown) -> str:
    text = html.escape(cell.text)
    if cell.mark == TIED:
        text = f"≈ {text}"
    elif cell.mark == INCOMPLETE:
        text = f"({text})"
    small = f"<small>{html.escape(cell.detail)}</small>" if cell.detail else ""
    attribute = f' class="{cell.mark}"' if cell.mark else ""
    return f"<td{attribute}>{text}{small}</td>"


ROW_COLUMNS = [
    *("table", "dataset", "target", "row", "weight", "statistic", "spread", "runs", "expected", "complete"),
    *("jsd", "jsd_low", "jsd_high", "floor", "floor_p95", "resolved_from_target", "best", "resolved_from_best"),
    *("prompt_jsd", "prompt_jsd_low", "prompt_jsd_high", "prompt_n", "prompt_floor", "prompt_floor_p95"),
    *("train_jsd", "train_n", "train_floor", "train_floor_p95", "per_prompt", "l2", "fkl", "rkl"),
    *("pass@1", "pass@1_low", "pass@1_high", "off_support", "ungraded", "missing"),
]


def rows_csv(columns: Sequence[Sequence[Row]]) -> str:
    """One line a row, every number at full precision and empty where it does not exist. ``columns`` are the rows that
    are compared with each other: those of one table, dataset and target."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(ROW_COLUMNS)
    for rows in columns:
        for row, verdict in zip(rows, verdicts(rows), strict=True):
            floor, prompt_floor, train_floor = row.floor, row.prompt_floor, row.train_floor
            nothing = Number(None)
            writer.writerow(
                _csv(value)
                for value in (
                    *(row.kind, row.dataset, row.target, row.reward, row.weight, row.statistic, row.spread),
                    *(row.runs, row.expected, row.complete, *row.jsd),
                    *(floor and floor.mean, floor and floor.p95, None if row.on_target is None else not row.on_target),
                    *(verdict.best, verdict.resolved, *row.prompt_jsd, row.prompt_n),
                    *(prompt_floor and prompt_floor.mean, prompt_floor and prompt_floor.p95),
                    *(row.train_jsd.value, row.train_n),
                    *(train_floor and train_floor.mean, train_floor and train_floor.p95, row.per_prompt.value),
                    *(row.divergences.get(name, nothing).value for name in ("l2", "fkl", "rkl")),
                    *(*row.pass_at_1, row.off_support.value, row.ungraded.value, "; ".join(row.missing)),
                )
            )
    return out.getvalue()


def _csv(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value


RUN_COLUMNS = [
    *("dataset", "target", "reward", "weight", "seed", "state", "reason", "profile", "steps", "split", "samples"),
    *("on_support", "l2", "fkl", "rkl", "jsd", "jsd_low", "jsd_high", "floor", "floor_p95", "resolved"),
    *("effective_on_support", "floor_p95_effective", "prompt_jsd", "prompt_jsd_low", "prompt_jsd_high", "prompt_n"),
    *("prompt_floor", "prompt_floor_p95", "train_jsd", "train_n", "pass@1", "pass@1_low", "pass@1_high"),
    *("off_support", "ungraded", "least_wanted_share", "folder"),
]


def runs_csv(runs: Sequence[Run]) -> str:
    """One line a run, also those that are not done."""
    out = io.StringIO()
    writer = csv.DictWriter(out, RUN_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in runs:
        cell = run.cell
        line: dict[str, Any] = {"dataset": cell.dataset, "target": cell.target, "reward": cell.reward}
        line |= {"weight": cell.weight, "seed": cell.seed, "state": run.state, "reason": run.reason}
        line |= {"profile": run.profile, "steps": run.steps, "folder": run.folder.root}
        line |= {"train_jsd": run.train_jsd, "train_n": run.group_size}
        if run.final is not None:
            scores = run.final.scores
            of_prompts = scores["jsd_per_prompt"]
            line |= {name: scores[name] for name in RUN_COLUMNS if name in scores}
            line |= {
                "least_wanted_share": run.least_wanted_share,
                "split": run.final.split,
                "prompt_jsd": of_prompts["mean"],
                "prompt_n": of_prompts["n"],
                "prompt_floor": of_prompts["floor"],
                "prompt_floor_p95": of_prompts["floor_p95"],
            }
            for name, interval in (
                ("jsd", scores["jsd_interval"]),
                ("pass@1", scores["pass@1_interval"]),
                ("prompt_jsd", of_prompts["interval"]),
            ):
                line |= dict(zip((f"{name}_low", f"{name}_high"), interval or ("", ""), strict=True))
        writer.writerow({name: _csv(value) for name, value in line.items()})
    return out.getvalue()
