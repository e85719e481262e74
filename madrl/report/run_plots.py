"""The interactive plots of one run: what is logged at every step, with the evaluations as larger markers."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from madrl.evaluation.dumps import Evaluation, Run
from madrl.evaluation.figures import COLORS
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.evaluation_tables import prompt_n
from madrl.report.plots import Choice, Plot, floor_band, layout
from madrl.report.rows import FloorAt, pooled_floor, prompt_floor
from madrl.report.study import is_synthetic

BINS = 12
"""Points of the accuracy over steps: single steps have too few responses of a category."""

RATES = {
    "off-support": "mad/off_support_rate",
    "ungraded": "mad/ungraded_rate",
    "failed to come back": "mad/failed_session_rate",
    "cut at the length limit": "mad/truncated_rate",
    "groups in one category": "mad/single_category_group_rate",
    "groups of equal rewards": "mad/equal_reward_group_rate",
}

REWARD = {
    "reward": "mad/reward/mean",
    "correctness": "mad/correctness/mean",
    "divergence reward": "mad/divergence_reward/mean",
    "spread": "mad/reward/std_within_group",
}

TRAINING = {
    "response tokens": "response_length/mean",
    "KL": "actor/kl_loss",
    "gradient norm": "actor/grad_norm",
    "seconds per step": "timing_s/step",
}

Drawn = tuple[list[dict[str, Any]], dict[str, Any]]


def run_plots(run: Run, history: Mapping[int, Mapping[str, float]], evaluations: Sequence[Evaluation]) -> list[Plot]:
    """What is logged at every step, with the evaluations as larger markers."""
    distances = [_pooled(run), _of_prompts(run)]
    if is_synthetic(run.key.dataset):  # the paper's distance of the task comes first
        distances.reverse()
    names = run.settings.categories
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(names)}
    target = dict(zip(names, run.settings.target.tolist(), strict=True))
    checked = [e for e in evaluations if e["split"] == evaluations[0]["split"]]
    plots = [
        Plot(
            "shares",
            "Category shares",
            "Lines: the training batch; diamonds: the evaluation; dashes: the target. Of on-support responses.",
            [Choice(["shares"], *_shares(history, checked, target, colors))],
        ),
        Plot(
            "jsd",
            "Distance to the target",
            "JSD in nats, of the shares of all responses together, or the mean over prompts of each prompt's own. "
            "Line: each training batch, whose floor is the grey band. Diamonds: the evaluation, with its 95 % "
            "interval; its own n and floor are in its label, and means over prompts are comparable at equal n only.",
            [
                choice
                for distance in distances
                if (choice := Choice([distance.name], *_jsd(history, checked, distance))).data
            ],
        ),
        Plot(
            "accuracy",
            "Accuracy by category",
            f"Of the training responses, steps pooled; a gap: fewer than {MIN_COMPLETIONS} graded. Each step's "
            "problems differ, and each category is tried on problems of its own.",
            [Choice(["accuracy"], *_accuracy(run, colors))],
        ),
        Plot(
            "rates",
            "Rates to watch",
            "Shares of the training batch's responses, or of its groups.",
            [Choice(["rates"], *_lines(history, RATES, "rate"))],
        ),
        Plot(
            "reward",
            "Reward components",
            "Means over the training batch; spread: the mean standard deviation within a group, which is all that GRPO "
            "learns from.",
            [Choice(["reward"], *_lines(history, REWARD, "reward"))],
        ),
        Plot(
            "training",
            "The training itself",
            "Of veRL's own metrics; KL: to the model that the run started from.",
            [
                choice
                for name, metric in TRAINING.items()
                if (choice := Choice([name], *_lines(history, {name: metric}, name))).data
            ],
        ),
    ]
    return [plot for plot in plots if any(choice.data for choice in plot.choices)]


def _shares(
    history: Mapping[int, Mapping[str, float]],
    evaluations: Sequence[Evaluation],
    target: Mapping[str, float],
    colors: Mapping[str, str],
) -> Drawn:
    data = []
    for name in target:
        metric = f"mad/share/{name}"
        steps, values = _logged(history, metric)
        data.append(_line(name, steps, values, colors[name], ".3f") | {"legendgroup": name})
        shares = [e["by_category"][name]["share"] for e in evaluations]
        data.append(_diamonds(name, evaluations, shares, colors[name]) | {"legendgroup": name, "showlegend": not steps})
    whole = layout("share", "training step")
    whole["yaxis"]["range"] = [0, 1]
    # Equal shares of the target would hide each other's line: one for each different share, black.
    dash = {"color": "#333", "width": 1.3, "dash": "dash"}
    whole["shapes"] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": share, "y1": share, "line": dash}
        for share in sorted(set(target.values()))
    ]
    return [trace for trace in data if trace["x"]], whole


class Distance(NamedTuple):
    """One way to take the JSD of several prompts' responses."""

    name: str
    metric: str
    """Of the training batch."""
    floor: FloorAt
    """Of the training batch."""
    of: Callable[[Evaluation], dict[str, Any]]
    """``jsd``, ``interval``, ``n``, ``floor`` and ``floor_p95`` of an evaluation."""


def _pooled(run: Run) -> Distance:
    def of(evaluation: Evaluation) -> dict[str, Any]:
        scores = evaluation
        return {"jsd": scores["jsd"], "interval": scores["jsd_interval"], "n": scores["on_support"]} | {
            name: scores[name] for name in ("floor", "floor_p95")
        }

    floor = pooled_floor(run.settings.target, run.prompts_per_step * run.group_size)
    return Distance("pooled", "mad/jsd", floor, of)


def _of_prompts(run: Run) -> Distance:
    def of(evaluation: Evaluation) -> dict[str, Any]:
        scores = evaluation["jsd_per_prompt"]
        return {"jsd": scores["mean"], "interval": scores["interval"], "n": prompt_n(scores)} | {
            name: scores[name] for name in ("floor", "floor_p95")
        }

    floor = prompt_floor(run.settings.target, (run.group_size,) * run.prompts_per_step, run.group_size)
    return Distance("mean of prompts", "mad/jsd_per_prompt", floor, of)


def _jsd(history: Mapping[int, Mapping[str, float]], evaluations: Sequence[Evaluation], distance: Distance) -> Drawn:
    steps, values = _logged(history, distance.metric)
    data = [_line("training batch", steps, values, COLORS[0], ".4f")] if steps else []
    shown = [(e, found) for e in evaluations if (found := distance.of(e))["jsd"] is not None]
    if shown:
        intervals = [found["interval"] or (found["jsd"],) * 2 for _, found in shown]
        jsds = [found["jsd"] for _, found in shown]
        data.append(
            _diamonds(shown[0][0]["split"], [e for e, _ in shown], jsds, COLORS[5])
            | {
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    # The interval of the pooled JSD is centred below the value, which may lie above it.
                    "array": [max(0.0, high - jsd) for jsd, (_, high) in zip(jsds, intervals, strict=True)],
                    "arrayminus": [max(0.0, jsd - low) for jsd, (low, _) in zip(jsds, intervals, strict=True)],
                    "thickness": 1.2,
                },
                "customdata": [[found["n"], found["floor"], found["floor_p95"]] for _, found in shown],
                "hovertemplate": "step %{x}: %{y:.4f} at n=%{customdata[0]}, floor %{customdata[1]:.4f} to "
                "%{customdata[2]:.4f}",
            }
        )
    whole = layout("JSD, nats", "training step")
    whole["yaxis"] |= {"type": "log", "dtick": "D2", "tickformat": "~g"}
    whole["shapes"] = [floor_band(distance.floor)]
    return data, whole


def _accuracy(run: Run, colors: Mapping[str, str]) -> Drawn:
    """Of the scores that the run dumps at every step, in BINS stretches of equal length."""
    folder = run.folder
    scores = dict(run.dumps(folder.scores))
    steps = list(scores)
    whole = layout("pass@1", "training step")
    whole["yaxis"]["range"] = [0, 1]
    if not steps:
        return [], whole
    length = max(1, math.ceil(len(steps) / BINS))
    bins = [steps[i : i + length] for i in range(0, len(steps), length)]
    points: dict[str, list[tuple[float, float | None, str]]] = defaultdict(list)
    for stretch in bins:
        right: dict[str, float] = defaultdict(int)
        graded: dict[str, int] = defaultdict(int)
        for step in stretch:
            for score in scores[step]:
                for name in filter(None, ("all", score["category"])):
                    graded[name] += score["correct"] is not None
                    right[name] += score["correct"] or 0.0
        for name in ("all", *run.settings.categories):
            enough = graded[name] >= MIN_COMPLETIONS
            label = f"steps {stretch[0]} to {stretch[-1]}: {right[name]:g} of {graded[name]}"
            points[name].append(((stretch[0] + stretch[-1]) / 2, right[name] / graded[name] if enough else None, label))
    data = []
    for name, found in points.items():
        places, values, labels = (list(column) for column in zip(*found, strict=True))
        trace = _line(name, places, values, colors.get(name, "#222"), ".3f")
        data.append(trace | {"mode": "lines+markers", "text": labels, "hovertemplate": "%{y:.3f}<br>%{text}"})
        if name == "all":
            data[-1]["line"] = {"color": "#222", "width": 2.4, "dash": "dot"}
    return data, whole


def _lines(history: Mapping[int, Mapping[str, float]], metrics: Mapping[str, str], y: str) -> Drawn:
    data = []
    for i, (name, metric) in enumerate(metrics.items()):
        steps, values = _logged(history, metric)
        if steps:
            data.append(_line(name, steps, values, COLORS[i % len(COLORS)], ".4f"))
    return data, layout(y, "training step")


def _logged(history: Mapping[int, Mapping[str, float]], metric: str) -> tuple[list[int], list[float | None]]:
    """The steps that logged the metric, and its values: a JSD of nothing on-support is NaN, and a gap."""
    steps = [step for step, metrics in history.items() if metric in metrics]
    return steps, [value if math.isfinite(value := history[step][metric]) else None for step in steps]


def _line(name: str, x: Sequence[float], y: Sequence[float | None], color: str, form: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": color, "width": 2},
        "hovertemplate": f"step %{{x}}: %{{y:{form}}}",
    }


def _diamonds(name: str, evaluations: Sequence[Evaluation], y: Sequence[float | None], color: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [e["step"] for e in evaluations],
        "y": list(y),
        "marker": {"symbol": "diamond", "size": 10, "color": color, "line": {"color": "#fff", "width": 1.5}},
        "hovertemplate": "evaluation at step %{x}: %{y:.3f}",
    }
