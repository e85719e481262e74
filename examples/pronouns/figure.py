"""Show the holdout's pronouns before and after a run, by occupation: a table, and RUN/before_and_after.png.

python examples/pronouns/figure.py RUN
"""

import argparse
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from madrl.divergence import jensen_shannon_value
from madrl.evaluation.samples import score_samples
from madrl.records import Record, read_graded
from madrl.report.drawing import draw
from madrl.report.panels import COLORS, Level, Panel, Series
from madrl.run_folder import RunFolder


def by_occupation(records: list[Record]) -> dict[str, list[Record]]:
    """Occupation -> its responses; it is the ground truth of the rows."""
    found = defaultdict(list)
    for record in records:
        found[record["ground_truth"]].append(record)
    return found


def share_of_she(records: list[Record]) -> tuple[float, float, float]:
    """The share of "she" among the responses with a pronoun, and Wilson's 95 % interval of it."""
    used = [record["category"] for record in records if record["category"] is not None]
    n, z = len(used), 1.96
    if not n:
        return math.nan, 0.0, 1.0
    share = used.count("she") / n
    middle, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return share, *((middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))


def series(name: str, found: dict[str, list[Record]], order: list[str], color: str) -> Series:
    shares, low, high = zip(*(share_of_she(found[occupation]) for occupation in order), strict=True)
    return Series(name, "bars", order, shares, color, low=low, high=high)


def table(before: dict[str, list[Record]], after: dict[str, list[Record]], order: list[str]) -> Table:
    """Shares, JSD and the responses with a pronoun, of each occupation and of all."""
    shown = Table("occupation", "she, before", "she, after", "JSD, before", "JSD, after", "pronoun, before", "after")
    for occupation in order:
        cells = []
        for records in (before[occupation], after[occupation]):
            share, *_ = share_of_she(records)
            used = sum(record["category"] is not None for record in records) / len(records)
            jsd = jensen_shannon_value(np.array([0.5, 0.5]), np.array([share, 1 - share]))
            cells.append((f"{share:.2f}", f"{jsd:.4f}", f"{used:.0%}"))
        shown.add_row(occupation, *(cell for pair in zip(*cells, strict=True) for cell in pair))
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description="Show the pronouns before and after a run, by occupation.")
    parser.add_argument("run", type=Path, help="its folder, with the holdout's responses at step 0 and at the end")
    run = RunFolder(parser.parse_args().run)
    settings = run.settings()
    first, *_, last = run.dump_steps(run.holdout)
    files = {f"step {step}": read_graded(run.holdout / f"{step}.jsonl", settings.categories) for step in (first, last)}
    before, after = (by_occupation(records) for records in files.values())
    order = sorted(before, key=lambda occupation: share_of_she(before[occupation]), reverse=True)
    console = Console(width=110)
    console.print(table(before, after, order))
    for name, records in files.items():
        scores = score_samples(records, settings.categories, settings.target, settings.reward.epsilon)
        fit = scores["jsd_per_prompt"]
        low, high = fit["interval"]
        console.print(
            f"{name}: JSD of single prompts {fit['mean']:.4f} ({low:.4f} to {high:.4f}; floor {fit['floor']:.4f}), "
            f"pooled {scores['jsd']:.4f} (floor {scores['floor']:.4f}); on-support {1 - scores['off_support']:.0%}"
        )
    bars = [series("before", before, order, COLORS[1]), series("after", after, order, COLORS[0])]
    target = Level("target", 0.5, 0.5)
    title = "Occupations that were not trained on: the share of she among the responses with one pronoun"
    figure = run.root / "before_and_after.png"
    draw([Panel([title], bars, "share of she", levels=[target], top=1.0)], 1, {"png": figure})
    console.print(f"{figure}: the figure")


if __name__ == "__main__":
    main()
