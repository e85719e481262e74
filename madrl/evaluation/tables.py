"""Tables for people: a run before and after training, in 80 columns."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table


def evaluation_table(result: Mapping[str, Any]) -> Table:
    """The first and the last evaluation of each split, side by side; all of them are in metrics.json.

    JSD stands beside its floor, the JSD of a policy exactly on the target at as many samples, each share beside its
    target, and a category's accuracy beside the number of its responses.
    """
    rows = first_and_last(result)
    table = Table(title=f"{result['run']}: {result['form']} {result['divergence']} reward", box=SIMPLE_HEAD)
    table.add_column("")
    table.add_column("target", justify="right")
    for row in rows:
        table.add_column(f"{row['split']}\nstep {row['step']}", justify="right")
    for name, key, form in (
        ("samples", "samples", "d"),
        ("JSD (nats)", "jsd", ".4f"),
        ("  floor (nats)", "floor", ".4f"),
        ("off-support", "off_support", ".1%"),
        ("unjudged", "unjudged", ".1%"),
        ("pass@1", "pass@1", ".3f"),
    ):
        table.add_row(name, "", *(_number(row[key], form) for row in rows), end_section=key == "pass@1")
    for name, share in result["target"].items():
        table.add_row(f"share {name}", f"{share:.3f}", *(_number(row["shares"][name], ".3f") for row in rows))
    table.add_section()
    for name in result["target"]:
        accuracies = (row["by_category"][name] for row in rows)
        table.add_row(f"pass@1 {name}", "", *(f"{_number(a['pass@1'], '.3f')} of {a['count']}" for a in accuracies))
    return table


def first_and_last(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """For each split in order of appearance, its evaluation at the lowest and at the highest step."""
    rows: list[Mapping[str, Any]] = []
    for split in dict.fromkeys(row["split"] for row in result["evaluations"]):
        of_split = sorted((r for r in result["evaluations"] if r["split"] == split), key=lambda row: row["step"])
        rows += [of_split[0]] if len(of_split) == 1 else [of_split[0], of_split[-1]]
    return rows


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
