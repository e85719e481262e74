"""Tables for people, in 80 columns: how far from the target, how well known that is, and each category's numbers."""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from madrl.divergence import DIVERGENCES
from madrl.evaluation.samples import MIN_COMPLETIONS

NOTHING = "–"


def evaluation_table(result: Mapping[str, Any]) -> Table:
    """The first and the last evaluation of each split, a row each with 95 % intervals; all are in metrics.json."""
    rows = first_and_last(result)
    note = (
        "Intervals: 95 %, problems resampled. n: on-support responses, pooled. Floor: the JSD of a policy on the "
        "target at n, mean and 95th percentile."
    )
    if any(_only_these_problems(row) for row in rows):
        note += " (*) Responses to one problem are alike: for problems like these, not above the floor."
    table = _table(title(result), note)
    for header in ("", "JSD, nats", "floor", "verdict", "pass@1", "off-support", "ungraded"):
        table.add_column(header, justify="left" if header in ("", "verdict") else "right")
    for row in rows:
        table.add_row(
            f"{label(row)}\nn = {row['on_support']}",
            _with_interval(row["jsd"], ".4f", row["jsd_interval"], ".4f"),
            f"{_number(row['floor'], '.4f')}\n{_number(row['floor_p95'], '.4f')}",
            _verdict(row["resolved"], _only_these_problems(row)),
            _with_interval(row["pass@1"], ".3f", row["pass@1_interval"], ".2f"),
            _with_interval(row["off_support"], ".1%", row["off_support_interval"], ".1%"),
            _number(row["ungraded"], ".1%"),
        )
    return table


def per_prompt_table(result: Mapping[str, Any]) -> Table:
    """How far single prompts are from the target, for the same evaluations."""
    rows = first_and_last(result)
    note = (
        "n: responses to a prompt, and how many are on-support. JSD: mean over prompts, which is comparable at equal n "
        "only; floor: the same of a policy that answers each prompt on the target. Distance: squared, unbiased at any "
        f"n; {rows[0]['per_prompt']['collapsed']:.3f} when each prompt has one category and the pool is on target. One "
        "category: prompts with all that is on-support in one."
    )
    table = _table("Single prompts", note)
    for header in ("", "JSD, nats", "floor", "verdict", "distance", "one\ncategory"):
        table.add_column(header, justify="left" if header in ("", "verdict") else "right")
    for row in rows:
        jsd, distance = row["jsd_per_prompt"], row["per_prompt"]
        table.add_row(
            f"{label(row)}\nn = {prompt_n(jsd)}",
            _with_interval(jsd["mean"], ".4f", jsd["interval"], ".4f"),
            f"{_number(jsd['floor'], '.4f')}\n{_number(jsd['floor_p95'], '.4f')}",
            _verdict(jsd["resolved"], marked=False),
            _with_interval(distance["distance"], ".3f", distance["interval"], ".2f"),
            _number(row["single_category_prompts"], ".1%"),
        )
    return table


def prompt_n(jsd: Mapping[str, Any]) -> str:
    """The n of a ``jsd_per_prompt`` (``score_samples``), with how many of them are on-support where not all are."""
    counts = jsd["n_on_support"]
    return str(jsd["n"]) if counts in (None, [jsd["n"]] * 2) else f"{jsd['n']} ({'–'.join(map(str, counts))})"


def divergence_table(result: Mapping[str, Any]) -> Table:
    """The four divergences of the same evaluations, and how many independent responses theirs are worth."""
    note = (
        f"Reverse KL: to the target smoothed with epsilon {result['epsilon']:g}. Effective n: how many independent "
        "responses n are worth, as those to one problem are alike."
    )
    table = _table("", note)
    for header in ("", *DIVERGENCES, "effective\nn", "floor p95\nat it"):
        table.add_column(header, justify="left" if header == "" else "right")
    for row in first_and_last(result):
        values = ("∞" if name in row["infinite"] else _number(row[name], ".4f") for name in DIVERGENCES)
        table.add_row(
            label(row),
            *values,
            _number(row["effective_on_support"], ".0f"),
            _number(row["floor_p95_effective"], ".4f"),
        )
    return table


def category_table(result: Mapping[str, Any]) -> Table:
    """Share and accuracy of each category with the counts behind them, for the same evaluations."""
    note = f"pass@1 within a category, from {MIN_COMPLETIONS} graded responses on; each run chooses which problems it "
    table = _table("", note + "answers in which category.")
    for header in ("", "category", "target", "share", "95 %", "count", "pass@1", "graded"):
        table.add_column(header, justify="left" if header in ("", "category") else "right")
    for row in first_and_last(result):
        # The label's lines stand once, beside the first categories.
        lines = chain(label(row).splitlines(), repeat(""))
        for where, (name, target) in zip(lines, result["target"].items(), strict=False):
            of_category = row["by_category"][name]
            table.add_row(
                where,
                name,
                f"{target:.3f}",
                _number(of_category["share"], ".3f"),
                _interval(of_category["share_interval"], ".3f"),
                str(of_category["count"]),
                _number(of_category["pass@1"], ".3f"),
                str(of_category["graded"]),
            )
        table.add_section()
    return table


def first_and_last(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """For each split in order of appearance, its evaluation at the lowest and at the highest step."""
    rows: list[Mapping[str, Any]] = []
    for split in dict.fromkeys(row["split"] for row in result["evaluations"]):
        of_split = sorted((r for r in result["evaluations"] if r["split"] == split), key=lambda row: row["step"])
        rows += [of_split[0]] if len(of_split) == 1 else [of_split[0], of_split[-1]]
    return rows


def title(result: Mapping[str, Any]) -> str:
    """What was evaluated: a run with its reward, or a file."""
    return f"{result['run']}: {result['form']} {result['divergence']} reward" if "run" in result else result["file"]


def label(row: Mapping[str, Any]) -> str:
    """One evaluation's split, and its step where it has one, in two lines."""
    return str(row["split"]) if row["step"] is None else f"{row['split']}\nstep {row['step']}"


def _table(heading: str, note: str) -> Table:
    return Table(
        title=heading, caption=note, caption_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )


def _verdict(resolved: bool | None, marked: bool) -> str:
    if resolved is None:
        return NOTHING
    return ("resolved" if resolved else "not\nresolved") + ("\n(*)" if marked else "")


def _only_these_problems(row: Mapping[str, Any]) -> bool:
    """Resolved from the target as it stands, but not at the number of independent responses that ours are worth."""
    worth = row["floor_p95_effective"]
    return bool(row["resolved"] and worth is not None and row["jsd"] <= worth)


def _with_interval(value: float | None, form: str, interval: Sequence[float] | None, interval_form: str) -> str:
    return f"{_number(value, form)}\n{_interval(interval, interval_form)}"


def _interval(interval: Sequence[float] | None, form: str) -> str:
    return NOTHING if interval is None else "–".join(format(end, form) for end in interval)


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)
