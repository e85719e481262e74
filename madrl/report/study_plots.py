"""The plots of many runs: shares against the target, accuracy within categories, divergence over steps.

Runs that are missing behind a bar or a curve are said in its panel, and what is left is drawn weakly. A curve has the
mean and the range of its runs at the validation dumps that all of them have: of the pooled shares, and for SYNTHETIC
the mean over prompts of each prompt's own (``study.is_mean_of_prompts``).
"""

from collections.abc import Sequence

import numpy as np

from madrl.divergence import DIVERGENCES
from madrl.evaluation.dumps import DONE
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.evaluation.targets import mean_target
from madrl.report.numbers import FloorAt
from madrl.report.panels import COLORS, GREY, INK, Level, Panel, Plot, Series
from madrl.report.rows import GATED, Study, TableRow, main_rows, pooled_floor, prompt_floor
from madrl.report.study import ScoredRun, is_mean_of_prompts, is_synthetic
from madrl.report.tables import panel_label, row_label

REWARD_COLORS = dict(zip((*DIVERGENCES, "rlvr"), (COLORS[i] for i in (5, 0, 2, 1, 3)), strict=True))

METRICS = {"jsd": "JSD", "l2": "L2", "fkl": "forward KL", "rkl": "reverse KL"}
"""In the order in which they are shown: the one that everything else is told in comes first."""

OTHERS = "Of RLVR and the four divergences: what else there is stands in the tables alone."
"""What the plots do not show."""


def study_plots(study: Study) -> list[Plot]:
    """Every plot for which there are runs."""
    panels = study.panels()
    graded = [panel for panel in panels if not is_synthetic(panel[0])]

    plots = [
        Plot(
            "shares",
            "Category shares against the target",
            "Bars: median over the runs of a reward. Whiskers: interquartile range; of a single run or file its "
            f"95 % interval. Dashes: the target. Pale: runs are missing. {OTHERS}",
            [_shares(study, *panel) for panel in panels],
            len({target for _, target in panels}),
        )
    ]
    if graded:
        plots.append(
            Plot(
                "accuracy",
                "pass@1 within each category",
                f"Correct and graded responses summed over the runs of a reward. {OTHERS} A dot on the axis: fewer "
                f"than {MIN_COMPLETIONS} graded responses, which is not a measured zero.",
                [_accuracy(study, *panel) for panel in graded],
                len({target for _, target in graded}),
            )
        )
    curves = [curve for panel in panels for curve in divergence_panels(study, *panel)]
    if curves:
        plots.append(
            Plot(
                "divergence",
                "Divergence over training steps",
                "Validation responses under each of the four metrics: of the pooled shares; for SYNTHETIC, on topics "
                "that are not trained on (the paper's figure is of training), the mean over prompts of each prompt's "
                "own, but for forward KL, which is infinite as soon as one prompt lacks a wanted category. Lines: mean "
                "over the runs of a training objective; bands: their "
                "minimum and maximum; dots: runs are missing; a gap: infinite, as a wanted category is missing. "
                f"{OTHERS} The grey band is the JSD of a policy on the target at n responses. Click a name to hide its "
                "curve.",
                curves,
                len(METRICS),
            )
        )
    return plots


def _bars(study: Study, dataset: str, target: str) -> list[TableRow]:
    """The rows that the bar charts show: the SFT init where its file was given, RLVR and the four divergences."""
    rows = main_rows(study, dataset, target)
    return [row for row in rows if row.reward == "SFT init" or (row.reward in REWARD_COLORS and row.runs)]


def bars_note(study: Study, dataset: str, target: str) -> str:
    """What is missing behind the bars, also where a bar is."""
    rows = main_rows(study, dataset, target)
    if not any(row.reward in DIVERGENCES for row in rows):
        return "no additive run"
    return incomplete_note([(row.reward, row.runs, row.expected) for row in rows if row.reward in REWARD_COLORS])


def incomplete_note(rows: Sequence[tuple[str, int, int]]) -> str:
    """Which of (reward, runs, expected) have runs missing; nothing when none has."""
    missing = [f"{row_label(reward)} {runs} of {expected}" for reward, runs, expected in rows if runs < expected]
    return f"runs there: {', '.join(missing)}" if missing else ""


def _shares(study: Study, dataset: str, target: str) -> Panel:
    names = study.settings(dataset, target).categories
    series = [
        Series(
            row_label(row.reward),
            "bars",
            names,
            [row.shares[name].value for name in names],
            REWARD_COLORS.get(row.reward, GREY),
            [row.shares[name].low for name in names],
            [row.shares[name].high for name in names],
            [f"({row.runs} of {row.expected} runs)"] * len(names),
            weak=not row.complete,
        )
        for row in _bars(study, dataset, target)
    ]
    levels = [
        Level("target", share, share, INK, place) for place, share in enumerate(study.target(dataset, target).tolist())
    ]
    note = bars_note(study, dataset, target)
    return Panel([panel_label(dataset, target)], series, "share of on-support", levels=levels, note=note)


def _accuracy(study: Study, dataset: str, target: str) -> Panel:
    names = study.settings(dataset, target).categories
    series = []
    for row in _bars(study, dataset, target):
        pooled = [row.accuracy[name] for name in names]
        series.append(
            Series(
                row_label(row.reward),
                "bars",
                names,
                [one.accuracy for one in pooled],
                REWARD_COLORS.get(row.reward, GREY),
                notes=[f"{one.right:g} of {one.graded}" for one in pooled],
                weak=not row.complete,
                dots=f"below {MIN_COMPLETIONS} graded responses",
            )
        )
    note = bars_note(study, dataset, target)
    return Panel([panel_label(dataset, target)], series, "pass@1, counts pooled", note=note, top=1.0)


def divergence_panels(study: Study, dataset: str, target: str) -> list[Panel]:
    """A panel for each metric, with a curve for each training objective; none without a validation dump."""
    found: dict[str, list[ScoredRun]] = {}
    expected = {}
    for reward in ("rlvr", *DIVERGENCES):
        weights = [weight for weight in study.weights(dataset, target, reward) if weight != GATED]
        keys = study.keys(dataset, target, reward, weights)
        of_it = [run for run in study.of(dataset) if run.key in keys]
        if of_it:
            found[reward] = [run for run in of_it if run.state == DONE and run.curve]
            expected[reward] = len(keys)
    if not any(found.values()):
        return []
    floor = _floor(dataset, [run for runs in found.values() for run in runs])
    return [
        Panel(
            [panel_label(dataset, target), name],
            [_curve(reward, metric, runs, expected[reward]) for reward, runs in found.items() if runs],
            name + ("" if metric == "l2" else ", nats") + _measured_on(dataset, metric),
            "training step",
            [Level(f"floor at n={floor.n}: mean to p95", floor.mean, floor.p95)] if metric == "jsd" else [],
            incomplete_note([(reward, len(runs), expected[reward]) for reward, runs in found.items()]),
            log=True,
        )
        for metric, name in METRICS.items()
    ]


def _floor(dataset: str, runs: Sequence[ScoredRun]) -> FloorAt:
    """The floor of the JSD, at the numbers of responses and the targets of the dump that has the median one."""
    points = sorted((point for run in runs for point in run.curve), key=lambda p: (p.n, sum(p.prompt_counts)))
    middle = points[len(points) // 2]
    if is_mean_of_prompts(dataset, "jsd"):
        return prompt_floor(middle.prompt_targets, middle.prompt_counts, middle.n)
    return pooled_floor(mean_target(middle.prompt_targets, np.array(middle.prompt_counts)), middle.n)


def _measured_on(dataset: str, metric: str) -> str:
    """What follows a metric's name where its curves are not of the pooled shares, or alone in being so."""
    if is_mean_of_prompts(dataset, metric):
        return ", mean of prompts"
    return ", pooled" if is_synthetic(dataset) else ""


def _curve(reward: str, metric: str, runs: Sequence[ScoredRun], expected: int) -> Series:
    """The mean over runs and their range, at the steps at which all of them have a dump; inf where one run's is."""
    by_run = [{point.step: point.values[metric] for point in run.curve} for run in runs]
    steps = sorted(set.intersection(*(set(values) for values in by_run)))
    values = np.array([[of_run[step] for step in steps] for of_run in by_run])
    return Series(
        row_label(reward),
        "line",
        steps,
        values.mean(axis=0).tolist(),
        REWARD_COLORS[reward],
        values.min(axis=0).tolist(),
        values.max(axis=0).tolist(),
        [f"({len(runs)} of {expected} runs)"] * len(steps),
        weak=len(runs) < expected,
        markers=True,
    )
