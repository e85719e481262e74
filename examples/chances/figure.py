"""Show how often the holdout's prompts were answered as their odds say, before and after a run: a table by kind of
chance, and the reliability plot RUN/before_and_after.png.

python examples/chances/figure.py RUN
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from chances import PLACES
from rich.console import Console
from rich.table import Table

from madrl.evaluation.samples import score_samples
from madrl.records import Record, groups, read_graded
from madrl.report.drawing import draw
from madrl.report.panels import COLORS, Panel, Series
from madrl.reward import RewardConfig
from madrl.run_folder import RunFolder
from madrl.targets import uniform

EVERYTHING = "all"


class Answers(NamedTuple):
    """The responses to one prompt that name one of its outcomes, of which there is at least one."""

    odds: float
    """Of the outcome that the prompt names first."""
    share: float
    """How often that is the answer."""
    responses: int


def truth_of(record: Record) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(record["ground_truth"])
    return truth


def of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if kind in (truth_of(record)["kind"], EVERYTHING)]


def answers_of(records: Sequence[Record]) -> list[Answers]:
    found = []
    for group in groups(records):
        first, *others = truth_of(group[0])["odds"].values()
        named = [record["category"] for record in group if record["category"] is not None]
        if named:
            found.append(Answers(first / sum((first, *others)), named.count(PLACES[0]) / len(named), len(named)))
    return found


def scores_of(records: Sequence[Record]) -> dict[str, Any]:
    """The numbers of ``madrl evaluate``: each prompt is measured against its own target, which its responses carry."""
    return score_samples(records, PLACES, uniform(len(PLACES)), RewardConfig.epsilon)


def cells_of(scores: dict[str, Any]) -> list[str]:
    fit = scores["jsd_per_prompt"]
    if not fit["problems"]:
        return ["", "", "", "0%"]
    interval = "-".join(f"{end:.4f}" for end in fit["interval"] or ())
    return [f"{fit['mean']:.4f}", interval, f"{fit['floor']:.4f}", f"{1 - scores['off_support']:.0%}"]


def table(before: Sequence[Record], after: Sequence[Record], kinds: Sequence[str]) -> Table:
    shown = Table("before -> after", "prompts", "JSD to its own odds", "95 %", "floor", "names one outcome")
    for kind in (*kinds, EVERYTHING):
        sides = [scores_of(of_kind(records, kind)) for records in (before, after)]
        columns = zip(*map(cells_of, sides), strict=True)
        shown.add_row(kind, str(sides[0]["problems"]), *(f"{one} -> {other}" for one, other in columns))
    return shown


def panel(name: str, records: Sequence[Record], kinds: Sequence[str]) -> Panel:
    """A dot for each prompt: the odds of the outcome that it names first, and how often that was the answer."""
    draws = int(np.median([answers.responses for answers in answers_of(records)] or [1]))
    stated = np.linspace(0, 1, 101)
    spread = 1.96 * np.sqrt(stated * (1 - stated) / draws)
    low, high = (np.clip(stated + sign * spread, 0, 1).tolist() for sign in (-1, 1))
    fair = Series("fair draws, 95 %", "line", stated.tolist(), stated.tolist(), "#777777", low=low, high=high)
    dots = []
    for kind, color in zip(kinds, COLORS, strict=False):
        found = answers_of(of_kind(records, kind))
        dots.append(Series(kind, "dots", [one.odds for one in found], [one.share for one in found], color))
    jsd, _, floor, named = cells_of(scores_of(records))
    note = f"mean JSD {jsd}, floor {floor}; {named} name one outcome"
    return Panel([name], [fair, *dots], "answered", x="odds of the outcome named first", note=note, top=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Show how often prompts were answered as their odds say.")
    parser.add_argument("run", type=Path, help="its folder, with the holdout's responses at step 0 and at the end")
    run = RunFolder(parser.parse_args().run)
    first, *_, last = run.dump_steps(run.holdout)
    before, after = (read_graded(run.holdout / f"{step}.jsonl", PLACES) for step in (first, last))
    kinds = list(dict.fromkeys(truth_of(record)["kind"] for record in before))
    console = Console(width=130)
    console.print(table(before, after, kinds))
    figure = run.root / "before_and_after.png"
    draw([panel("before", before, kinds), panel(f"after {last} steps", after, kinds)], 2, {"png": figure})
    console.print(f"{figure}: the figure")


if __name__ == "__main__":
    main()
