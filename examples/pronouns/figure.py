"""Show the holdout's pronouns before and after a run, by occupation: a table, and RUN/before_and_after.png.

python examples/pronouns/figure.py RUN
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence
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
from madrl.settings import Settings

Responses = dict[str, list[Record]]
"""Occupation, which is the ground truth of its row -> the responses."""


def by_occupation(records: Sequence[Record]) -> Responses:
    found = defaultdict(list)
    for record in records:
        found[record["ground_truth"]].append(record)
    return found


def share_of(pronoun: str, records: Sequence[Record]) -> tuple[float, float, float]:
    """The share of a pronoun among the on-support responses, and Wilson's 95 % interval of it."""
    used = [record["category"] for record in records if record["category"] is not None]
    n, z = len(used), 1.96
    if not n:
        return math.nan, 0.0, 1.0
    share = used.count(pronoun) / n
    middle, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return share, (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def table(settings: Settings, before: Responses, after: Responses, order: Sequence[str]) -> Table:
    """Of each occupation: the share of each pronoun, the JSD to the target, and the on-support responses."""
    shown = Table("before -> after", *settings.categories, "JSD", "on-support")
    for occupation in order:
        columns = []
        for records in (before[occupation], after[occupation]):
            shares = np.array([share_of(pronoun, records)[0] for pronoun in settings.categories])
            used = sum(record["category"] is not None for record in records) / len(records)
            jsd = jensen_shannon_value(settings.target, shares)
            columns.append([*(f"{share:.2f}" for share in shares), f"{jsd:.3f}", f"{used:.0%}"])
        shown.add_row(occupation, *(f"{one} -> {other}" for one, other in zip(*columns, strict=True)))
    return shown


def panel(pronoun: str, wanted: float, before: Responses, after: Responses, order: Sequence[str]) -> Panel:
    """Its share in each occupation, before and after."""
    bars = []
    for name, found, color in (("before", before, COLORS[1]), ("after", after, COLORS[0])):
        share, low, high = zip(*(share_of(pronoun, found[occupation]) for occupation in order), strict=True)
        bars.append(Series(name, "bars", order, share, color, low=low, high=high))
    target = Level("target", wanted, wanted)
    return Panel([f'The share of "{pronoun}", occupations not trained on'], bars, "share", levels=[target], top=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Show the pronouns before and after a run, by occupation.")
    parser.add_argument("run", type=Path, help="its folder, with the holdout's responses at step 0 and at the end")
    run = RunFolder(parser.parse_args().run)
    settings = run.settings()
    first, *_, last = run.dump_steps(run.holdout)
    dumps = {step: read_graded(run.holdout / f"{step}.jsonl", settings.categories) for step in (first, last)}
    before, after = (by_occupation(records) for records in dumps.values())
    order = sorted(before, key=lambda occupation: share_of(settings.categories[0], before[occupation]), reverse=True)
    console = Console(width=110)
    console.print(table(settings, before, after, order))
    for step, records in dumps.items():
        scores = score_samples(records, settings.categories, settings.target, settings.reward.epsilon)
        fit = scores["jsd_per_prompt"]
        low, high = fit["interval"]
        console.print(
            f"step {step}: JSD of single prompts {fit['mean']:.4f} ({low:.4f} to {high:.4f}; "
            f"floor {fit['floor']:.4f}), pooled {scores['jsd']:.4f} (floor {scores['floor']:.4f}); "
            f"on-support {1 - scores['off_support']:.0%}"
        )
    # The last pronoun's share is what the others leave.
    wanted = dict(zip(settings.categories[:-1], settings.target.tolist(), strict=False))
    panels = [panel(pronoun, share, before, after, order) for pronoun, share in wanted.items()]
    figure = run.root / "before_and_after.png"
    draw(panels, 1, {"png": figure})
    console.print(f"{figure}: the figure")


if __name__ == "__main__":
    main()
