"""A table as text with marks, and its four writers: the terminal, Markdown, LaTeX (booktabs) and HTML.

A cell's mark says what its number may be used for: ``best`` of its column, ``tied`` with the best within the floor,
``incomplete`` when runs are missing behind it (in parentheses, never compared), ``missing`` when nothing is there.
Texts are escaped by the writers.
"""

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from madrl.markdown import markdown_text

if TYPE_CHECKING:
    from rich.table import Table as RichTable

NOTHING = "—"
BEST, TIED, INCOMPLETE, MISSING, PLAIN = "best", "tied", "incomplete", "missing", ""


class Shown(NamedTuple):
    """One cell of a table."""

    text: str
    """A line end is one in the terminal, and a space elsewhere."""
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
    """The stem of its files' names."""
    title: str
    caption: str
    groups: list[tuple[str, int]]
    """Headings over several columns, and how many; none at all where no column needs one."""
    columns: list[str]
    sections: list[Section]


def formatted(value: float | None, form: str) -> str:
    """The number as text, with a minus sign that is no hyphen; NOTHING for None, and the sign for an infinite one."""
    return NOTHING if value is None else "∞" if math.isinf(value) else format(value, form).replace("-", "−")


def interval_text(interval: Sequence[float | None] | None, form: str) -> str:
    """``low–high``; nothing where an end is not known."""
    return "" if interval is None or None in interval else "–".join(formatted(end, form) for end in interval)


def measured(value: float | None, form: str, interval: Sequence[float | None] | None = None) -> Shown:
    """A number with its interval in small print."""
    return Shown(formatted(value, form), interval_text(interval, form))


TEXT_MARKS = {PLAIN: "{}", BEST: "{}", TIED: "≈ {}", INCOMPLETE: "({})", MISSING: "{}"}
MARKDOWN_MARKS = TEXT_MARKS | {BEST: "**{}**", MISSING: "*{}*"}
LATEX_MARKS = TEXT_MARKS | {BEST: r"\textbf{{{}}}", TIED: r"$\approx$\,{}", MISSING: r"\emph{{{}}}"}

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↓": r"$\downarrow$", "↑": r"$\uparrow$", "∞": r"$\infty$",
    "≈": r"$\approx$", "∘": r"$\circ$", "–": "--", "—": "---", "·": r"$\cdot$", "−": "$-$",
}  # fmt: skip


def console(table: Table) -> "RichTable":
    """The table for a terminal, for rich's ``Console.print``. It is made for tables without groups."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    rich = RichTable(
        title=table.title,
        caption=table.caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for number, column in enumerate(table.columns):
        rich.add_column(column, justify="right" if number else "left")
    for section in table.sections:
        for row in section.rows:
            rich.add_row(*(Text("\n".join(filter(None, (TEXT_MARKS[c.mark].format(c.text), c.detail)))) for c in row))
        rich.add_section()
    return rich


def markdown(table: Table) -> str:
    """A heading, the caption, and one pipe table; sections are rows in bold."""
    groups = [name for name, span in table.groups for _ in range(span)] or [""] * len(table.columns)
    header = [f"{group}: {column}" if group else column for group, column in zip(groups, table.columns, strict=True)]
    lines = [_pipes(map(markdown_text, header)), _pipes(["---"] * len(header))]
    for section in table.sections:
        if section.heading:
            lines.append(_pipes([f"**{markdown_text(section.heading)}**", *[""] * (len(header) - 1)]))
        lines += [_pipes(map(_md_cell, row)) for row in section.rows]
    return "\n".join([f"## {markdown_text(table.title)}", "", markdown_text(table.caption), "", *lines, ""])


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_cell(cell: Shown) -> str:
    text = MARKDOWN_MARKS[cell.mark].format(markdown_text(cell.text))
    return f"{text} <sub>{markdown_text(cell.detail)}</sub>" if cell.detail else text


def latex(table: Table) -> str:
    """A table* in booktabs; nothing but ``\\usepackage{booktabs}`` is needed."""
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table*}[t]\centering\scriptsize\setlength{\tabcolsep}{3pt}",
        r"\begin{tabular}{l" + "c" * (len(table.columns) - 1) + "}",
        r"\toprule",
    ]
    if table.groups:
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
    text = LATEX_MARKS[cell.mark].format(_tex(cell.text))
    return rf"{text} {{\tiny {_tex(cell.detail)}}}" if cell.detail else text


def table_html(table: Table) -> str:
    """The table with its title and caption; marks are classes that the page's style knows."""
    out = [f'<section class="table" id="table-{html.escape(table.name)}"><h2>{html.escape(table.title)}</h2>']
    # With the keyboard only what has the focus can be scrolled.
    name = html.escape(table.title)
    out.append(f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table><thead>')
    if table.groups:
        heads = "".join(f'<th colspan="{span}">{html.escape(name)}</th>' for name, span in table.groups)
        out.append(f'<tr class="groups">{heads}</tr>')
    out.append("<tr>" + "".join(f"<th>{html.escape(column)}</th>" for column in table.columns) + "</tr></thead>")
    for section in table.sections:
        out.append("<tbody>")
        if section.heading:
            heading = html.escape(section.heading)
            out.append(f'<tr class="section"><th colspan="{len(table.columns)}">{heading}</th></tr>')
        out += ["<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in section.rows]
        out.append("</tbody>")
    out.append(f'</table></div><p class="caption">{html.escape(table.caption)}</p></section>')
    return "\n".join(out)


def _html_cell(cell: Shown) -> str:
    text = TEXT_MARKS[cell.mark].format(html.escape(cell.text))
    small = f"<small>{html.escape(cell.detail)}</small>" if cell.detail else ""
    attribute = f' class="{cell.mark}"' if cell.mark else ""
    return f"<td{attribute}>{text}{small}</td>"
