"""Tables for people: what ``evaluate_run`` found, one line for each split at each step."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table


def evaluation_table(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] | None = None) -> Table:
    """JSD beside its floor, validity, accuracy and shares; the target's shares are in the column heads.

    ``rows`` defaults to all of the result's evaluations.
    """
    table = Table(title=f"{result['run']}: reward {result['form']} {result['divergence']}", title_justify="left")
    for head in ("split", "step", "samples", "JSD (nats)", "floor", "off-support", "pass@1"):
        table.add_column(head, justify="left" if head == "split" else "right", no_wrap=True)
    for name, share in result["target"].items():
        table.add_column(f"{name}\n→ {share:.3f}", justify="right", no_wrap=True)
    for row in result["evaluations"] if rows is None else rows:
        table.add_row(
            row["split"],
            str(row["step"]),
            str(row["samples"]),
            _number(row["jsd"], ".4f"),
            _number(row["floor"], ".4f"),
            _number(row["off_support"], ".1%"),
            _number(row["pass@1"], ".3f"),
            *(_number(row["shares"][name], ".3f") for name in result["target"]),
        )
    return table


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
