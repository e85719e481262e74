"""The warm start's two tables for people: what came back when asked, and what each checkpoint reaches."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from madrl.warm_start.selection import Coverage


def sampling_table(report: Mapping[str, Mapping[str, Any]]) -> Table:
    """One row for each category that was asked for."""
    table = Table(title="Rejection sampling", box=SIMPLE_HEAD)
    for name in ("category", "asked", "on category", "correct", "cut off", "kept", "yield", "ungraded", "used"):
        table.add_column(name, justify="left" if name == "category" else "right")
    for category, found in report.items():
        counts = (str(found[key]) for key in ("asked", "on_category", "correct", "cut_off", "kept"))
        table.add_row(category, *counts, f"{found['yield']:.1%}", str(found["ungraded"]), str(found["used"]))
    return table


def selection_table(checkpoints: Sequence[Coverage], chosen: int) -> Table:
    """One row for each checkpoint; the chosen one is marked."""
    table = Table(title="Checkpoints on the selection split, asked for no category", box=SIMPLE_HEAD)
    names = list(checkpoints[0].shares)
    for name in ("step", *names, "reach", "JSD", "floor", "off-supp.", "pass@1"):
        table.add_column(name, justify="right")
    for found in checkpoints:
        label = "base" if found.step == 0 else f"{'* ' if found.step == chosen else ''}{found.step}"
        table.add_row(
            label,
            *(_number(found.shares[name], ".3f") for name in names),
            _number(found.reach, ".3f"),
            _number(found.jsd, ".4f"),
            _number(found.floor, ".4f"),
            _number(found.off_support, ".1%"),
            _number(found.pass_at_1, ".3f"),
            style="bold" if found.step == chosen else "",
        )
    return table


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
