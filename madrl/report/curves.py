"""Divergence over training steps: the validation dumps of the runs of a row, one mean and band per step and metric.

As in the table of the task: of the pooled shares, and for SYNTHETIC the mean over prompts of each prompt's own
(``study.is_mean_of_prompts``)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from madrl.divergence import DIVERGENCES
from madrl.evaluation.dumps import DONE
from madrl.report.rows import FloorAt, Study, pooled_floor, prompt_floor
from madrl.report.study import ScoredRun, is_mean_of_prompts


class Curve(NamedTuple):
    """One training objective of one dataset and target, under one metric."""

    reward: str
    metric: str
    steps: list[int]
    """Those at which all of its runs have a dump."""
    mean: list[float]
    """inf where one run's value is."""
    low: list[float]
    high: list[float]
    runs: int
    expected: int


class Curves(NamedTuple):
    """All curves of one dataset and target."""

    dataset: str
    target: str
    curves: list[Curve]
    floor: FloorAt
    """Of the JSD, at the numbers of responses of the dump that has the median one."""
    counts: list[tuple[str, int, int]]
    """Each objective that a grid has, with how many runs there are and should be; also where there are none."""

    def of(self, metric: str) -> list[Curve]:
        return [curve for curve in self.curves if curve.metric == metric]


def study_curves(study: Study) -> list[Curves]:
    """The curves of every dataset and target that has any."""
    found = []
    for dataset in study.datasets:
        for target in study.targets(dataset):
            curves, points, counts, p_star = [], [], [], None
            for reward in ("rlvr", *DIVERGENCES):
                weights = [""] if reward == "rlvr" else study.weights(dataset)
                cells = study.keys(dataset, target, reward, weights)
                runs = [run for run in study.of(dataset) if run.key in cells and run.state == DONE and run.curve]
                if runs or reward in DIVERGENCES:
                    counts.append((reward, len(runs), len(cells)))
                if not runs:
                    continue
                p_star = runs[0].settings.target
                points += [point for run in runs for point in run.curve]
                curves += [_curve(reward, metric, runs, len(cells)) for metric in DIVERGENCES]
            if curves and p_star is not None:
                middle = sorted(points, key=lambda point: (point.n, sum(point.prompt_counts)))[len(points) // 2]
                floor = (
                    prompt_floor(p_star, middle.prompt_counts, middle.n)
                    if is_mean_of_prompts(dataset, "jsd")
                    else pooled_floor(p_star, middle.n)
                )
                found.append(Curves(dataset, target, curves, floor, counts))
    return found


def _curve(reward: str, metric: str, runs: Sequence[ScoredRun], expected: int) -> Curve:
    by_run = [{point.step: point.values[metric] for point in run.curve} for run in runs]
    steps = sorted(set.intersection(*(set(values) for values in by_run)))
    values = np.array([[of_run[step] for step in steps] for of_run in by_run])
    return Curve(
        reward,
        metric,
        steps,
        values.mean(axis=0).tolist(),
        values.min(axis=0).tolist(),
        values.max(axis=0).tolist(),
        len(runs),
        expected,
    )
