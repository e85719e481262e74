"""The frontier: what each run has in accuracy and validity at its distance to the target, and which runs are beaten.

A median over runs cannot show it: the weights of one objective lie on a line from much accuracy far from the target to
little accuracy near it. Differences are taken as they were measured, those that chance explains among them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from madrl.evaluation.dumps import Evaluation
from madrl.report.panels import COLORS, Level, Panel, Plot, Series, Symbol
from madrl.report.rows import Study, has_divergence, pooled_floor
from madrl.report.study import ScoredRun, is_synthetic
from madrl.report.study_plots import REWARD_COLORS
from madrl.report.tables import panel_label, row_label

DOT_COLORS = REWARD_COLORS | {"entropy": COLORS[4], "gapo": COLORS[7]}

VARIANT_COLOR = "#8C564B"
"""Of the rewards with something beside the paper's (``RunKey.reward``)."""

SYMBOLS: dict[str, Symbol] = {"additive": "circle", "gated": "square"}
"""Form of the reward -> its dots; any other form has diamonds."""

HEIGHTS = {"pass@1": "pass@1", "off_support": "off-support rate"}
"""What of an evaluation its JSD is drawn against, and the name of that axis."""


class Outcome(NamedTuple):
    """What a run is compared by."""

    jsd: float
    pass_at_1: float
    off_support: float


def dominated(outcomes: Sequence[Outcome]) -> list[bool]:
    """For each outcome, whether another one is at least as good in all three, and better in one: a lower JSD, a higher
    pass@1, a lower off-support rate. Equal ones do not dominate each other."""
    if not outcomes:
        return []
    costs = np.array(outcomes) * (1.0, -1.0, 1.0)
    return [bool((costs <= own).all(axis=1) @ (costs < own).any(axis=1)) for own in costs]


def frontier_plots(study: Study) -> list[Plot]:
    """The frontier of each task that has correctness, for each target with a run to draw; or no plot at all."""
    panels = [
        panel
        for dataset, target in study.panels()
        if not is_synthetic(dataset)
        for panel in _panels(study, dataset, target)
    ]
    if not panels:
        return []
    return [
        Plot(
            "frontier",
            "The frontier: fit against accuracy and validity",
            "A dot is the final evaluation of one run, with its 95 % intervals, problems or their clusters resampled. "
            "To the left is nearer to the target, as far as the grey band, the JSD of a policy on the target; better "
            "is higher for pass@1 and lower for off-support. Pale: dominated, as another run of the task and target "
            "is at least as good in JSD, pass@1 and off-support and better in one. Differences within the intervals "
            "may be chance.",
            panels,
            len(HEIGHTS),
        )
    ]


class Dot(NamedTuple):
    """A run that can be drawn."""

    run: ScoredRun
    final: Evaluation
    pale: bool


def _panels(study: Study, dataset: str, target: str) -> list[Panel]:
    """A panel for each of HEIGHTS; none without a run to draw."""
    runs = [run for run in study.of(dataset) if run.key.target == target]
    dots = _dots(runs)
    if not dots:
        return []
    on_support = int(np.median([dot.final["on_support"] for dot in dots]))
    floor = pooled_floor(study.target(dataset, target), on_support)
    missing = len(runs) - len(dots)
    return [
        Panel(
            [panel_label(dataset, target), name],
            _series(dots, height),
            name,
            "JSD to the target, nats",
            [Level(f"floor at n={floor.n}: mean to p95", floor.mean, floor.p95, axis="x")],
            f"runs there: {len(dots)} of {len(runs)}" if missing else "",
            log_x=True,
            from_zero=height != "pass@1",
        )
        for height, name in HEIGHTS.items()
    ]


def _dots(runs: Sequence[ScoredRun]) -> list[Dot]:
    """The runs whose final evaluation has all that they are compared by."""
    found = [
        (run, run.final, Outcome(run.final["jsd"], run.final["pass@1"], run.final["off_support"]))
        for run in runs
        if run.final and run.final["jsd"] is not None and run.final["pass@1"] is not None
    ]
    pale = dominated([outcome for _, _, outcome in found])
    return [Dot(run, final, beaten) for (run, final, _), beaten in zip(found, pale, strict=True)]


def _series(dots: Sequence[Dot], height: str) -> list[Series]:
    """The dots of each reward and form, those that are not pale first: the legend takes its colours from them."""
    groups: dict[tuple[str, bool], list[Dot]] = {}
    for dot in sorted(dots, key=lambda dot: dot.pale):
        groups.setdefault((_name(dot.run), dot.pale), []).append(dot)
    series = []
    for (name, pale), group in groups.items():
        run = group[0].run
        finals = [dot.final for dot in group]
        low, high = _ends(finals, height)
        x_low, x_high = _ends(finals, "jsd")
        series.append(
            Series(
                name,
                "dots",
                [final["jsd"] for final in finals],
                [final[height] for final in finals],
                DOT_COLORS.get(run.key.reward.partition(" ")[0], VARIANT_COLOR),
                low,
                high,
                [f"{dot.run.key.weight} seed {dot.run.key.seed}".strip() for dot in group],
                weak=pale,
                x_low=x_low,
                x_high=x_high,
                labels=["" if pale else dot.run.key.weight for dot in group],
                symbol=SYMBOLS.get(run.settings.reward.form, "diamond"),
            )
        )
    return series


def _name(run: ScoredRun) -> str:
    """The row's name, with the form of a divergence's reward where it is not the additive one."""
    form = run.settings.reward.form
    label = row_label(run.key.reward)
    return label if form == "additive" or not has_divergence(run.key.reward) else f"{label} {form}"


def _ends(finals: Sequence[Evaluation], name: str) -> tuple[list[float | None], list[float | None]]:
    """The lower and the upper ends of the number's intervals."""
    intervals = [final[f"{name}_interval"] or (None, None) for final in finals]
    return [low for low, _ in intervals], [high for _, high in intervals]
