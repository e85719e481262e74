"""The plots of one run: what is logged at every step and what its evaluations show; and of any set of evaluations."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from madrl.attributes import metrics_of_attribute
from madrl.evaluation.dumps import Evaluation, Run
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.hints import counted_sessions
from madrl.records import HINTED, is_ungraded
from madrl.report.evaluation_tables import first_and_last, label, on_target, prompt_n
from madrl.report.numbers import FloorAt
from madrl.report.panels import COLORS, INK, Level, Panel, Plot, Series, color_of, dash_of
from madrl.report.rows import pooled_floor, prompt_floor
from madrl.report.study import is_synthetic

BINS = 12
"""Points of the accuracy over steps: single steps have too few responses of a category."""

RATES = {
    "off-support": "mad/off_support_rate",
    "ungraded": "mad/ungraded_rate",
    "failed to come back": "mad/failed_session_rate",
    "cut at the length limit": "mad/truncated_rate",
    "graded by an unusual way": "mad/unusual_rate",
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

FLOOR = "mad/jsd_per_prompt_floor"
"""The metric of a step whose prompts have targets of their own, or a schedule's."""

STEP = "training step"

History = Mapping[int, Mapping[str, float]]


def run_plots(run: Run, history: History, evaluations: Sequence[Evaluation]) -> list[Plot]:
    """What is logged at every step, with the evaluations of the split that has most as diamonds."""
    [(split, _)] = Counter(one["split"] for one in evaluations).most_common(1) or [("", 0)]
    checked = [one for one in evaluations if one["split"] == split]
    distances = [_pooled_jsd(run, history, checked), _prompt_jsd(run, history, checked)]
    if is_synthetic(run.key.dataset):  # the paper's distance of the task comes first
        distances.reverse()
    plots = [
        Plot(
            "shares",
            "Category shares",
            "Lines: the training batch; diamonds: the evaluation; level dashes: the target, in the colour of the "
            "category that alone has this share; or dots, where it changes or prompts have their own: the mean of the "
            "batch's. Of on-support responses.",
            [_shares(run, history, checked)],
        ),
        Plot(
            "jsd",
            "Distance to the target",
            "JSD in nats, of the shares of all responses together, or the mean over prompts of each prompt's own. "
            "Line: each training batch, whose floor is the grey band. Diamonds: the evaluation, with its 95 % "
            "interval; its own n and floor are in its label, and means over prompts are comparable at equal n only.",
            distances,
        ),
        Plot(
            "accuracy",
            "Accuracy by category",
            f"Of the training responses, steps pooled; a gap: fewer than {MIN_COMPLETIONS} graded. Each step's "
            "problems differ, and each category is tried on problems of its own.",
            [_accuracy(run)],
        ),
        Plot(
            "rates",
            "Rates to watch",
            "Shares of the training batch's responses, or of its groups.",
            [_rates(history)],
        ),
        Plot(
            "reward",
            "Reward components",
            "Means over the training batch; spread: the mean standard deviation within a group, which is all that GRPO "
            "learns from.",
            [Panel(["reward"], _logged(history, REWARD), "reward", STEP)],
        ),
        Plot(
            "training",
            "The training itself",
            "Of veRL's own metrics; KL: to the model that the run started from.",
            [Panel([name], _logged(history, {name: metric}), name, STEP) for name, metric in TRAINING.items()],
        ),
    ]
    drawn = [plot._replace(panels=[panel for panel in plot.panels if panel.series]) for plot in plots]
    return [plot for plot in drawn if plot.panels]


def training_panels(run: Run, history: History) -> list[Panel]:
    """The shares over training, both JSDs with their floors, and the rates to watch."""
    return [*(panel(run, history, []) for panel in (_shares, _pooled_jsd, _prompt_jsd)), _rates(history)]


def attribute_panels(run: Run, history: History, name: str) -> list[Panel]:
    """What ``training_panels`` has of the first attribute, of a further one."""
    own, logged = run.of_attribute(name), of_attribute(history, name)
    panels = [panel(own, logged, []) for panel in (_shares, _pooled_jsd, _prompt_jsd)]
    return [replace(panel, labels=[f"{label}: {name}" for label in panel.labels]) for panel in panels]


def attribute_plots(run: Run, history: History, evaluations: Sequence[Evaluation], name: str) -> list[Plot]:
    """Where the shares of a further attribute are, and how far from its target; ``evaluations`` are its own."""
    plots = run_plots(run.of_attribute(name), of_attribute(history, name), evaluations)
    return [
        plot._replace(name=f"{plot.name}-{name}", title=f"{plot.title}: {name}")
        for plot in plots
        if plot.name in ("shares", "jsd")
    ]


def of_attribute(history: History, name: str) -> History:
    """The logged metrics of a further attribute, by the names that those of the first have."""
    return {step: metrics_of_attribute(metrics, name) for step, metrics in history.items()}


def evaluation_panels(result: Mapping[str, Any]) -> list[Panel]:
    """What ``dumps.evaluate_run`` or ``evaluate_file`` found at the first and the last evaluation of each split: a
    panel of shares for each split, with 95 % intervals, and the JSDs, each with its interval on its own floor."""
    found = first_and_last(result["evaluations"])
    panels = []
    for split in dict.fromkeys(one["split"] for one in found):
        of_split = [one for one in found if one["split"] == split]
        series = [
            _category_bars(f"{label(one).splitlines()[-1]} (n = {one['on_support']})", one, color)
            for one, color in zip(of_split, (COLORS[4], COLORS[0])[-len(of_split) :], strict=True)
        ]
        wanted = [of["target"] for of in of_split[-1]["by_category"].values()]
        levels = [Level("target", share, share, COLORS[5], place) for place, share in enumerate(wanted)]
        panels.append(Panel([str(split)], series, "share of on-support", levels=levels, top=1.0))
    intervals = [one["jsd_interval"] or (None, None) for one in found]
    jsds = Series(
        "JSD, with its 95 % interval",
        "points",
        [label(one) for one in found],
        [one["jsd"] for one in found],
        COLORS[0],
        [low for low, _ in intervals],
        [high for _, high in intervals],
        [
            "no on-support response" if one["jsd"] is None else f"{one['jsd']:.4f}\n{on_target(one['off_target'])}"
            for one in found
        ],
    )
    floors = [
        Level("floor: mean to 95th percentile", one["floor"], one["floor_p95"], place=place)
        for place, one in enumerate(found)
        if one["floor"]
    ]
    return [*panels, Panel(["Distance to the target"], [jsds], "JSD of the pooled shares, nats", "", floors, log=True)]


def _category_bars(name: str, one: Evaluation, color: str) -> Series:
    found = list(one["by_category"].values())
    intervals = [of["share_interval"] or (None, None) for of in found]
    low, high = [low for low, _ in intervals], [high for _, high in intervals]
    return Series(name, "bars", list(one["by_category"]), [of["share"] for of in found], color, low, high)


def _shares(run: Run, history: History, evaluations: Sequence[Evaluation]) -> Panel:
    series = []
    for number, name in enumerate(run.settings.categories):
        color = color_of(number)
        logged = _logged(history, {name: f"mad/share/{name}"}, color)
        series += [replace(one, dash=dash_of(number)) for one in logged]
        series += [
            replace(one, weak=True) for one in _logged(history, {f"{name}, target": f"mad/target/{name}"}, color)
        ]
        if steps := [one["step"] for one in evaluations]:
            shares = [one["by_category"][name]["share"] for one in evaluations]
            series.append(Series(name, "points", steps, shares, color, notes=["(evaluation)"] * len(steps)))
    # Equal shares of the target would hide each other's line: one for each different share, in the colour of the
    # category that has it alone.
    wanted: dict[float, list[str]] = defaultdict(list)
    for number, share in enumerate(run.target.values()) if _has_one_target(history) else ():
        wanted[share].append(color_of(number))
    levels = [
        Level("target", share, share, INK if len(colors) > 1 else colors[0]) for share, colors in sorted(wanted.items())
    ]
    return Panel(["shares"], series, "share of on-support", STEP, levels)


def _rates(history: History) -> Panel:
    return Panel(["rates"], _logged(history, RATES), "rate", STEP)


def _has_one_target(history: History) -> bool:
    """Whether all prompts of all steps were measured against one target."""
    return not any(FLOOR in metrics for metrics in history.values())


def _pooled_jsd(run: Run, history: History, evaluations: Sequence[Evaluation]) -> Panel:
    target = run.settings.target
    if not _has_one_target(history):
        logged = [m for m in history.values() if FLOOR in m]
        target = np.array([np.mean([m[f"mad/target/{name}"] for m in logged]) for name in run.settings.categories])
    floor = pooled_floor(target, run.prompts_per_step * counted_sessions(run.settings.hints, run.group_size))
    found = [one | {"n": one["on_support"], "interval": one["jsd_interval"]} for one in evaluations]
    return _jsd("pooled", _logged(history, {"training batch": "mad/jsd"}), floor, found)


def _prompt_jsd(run: Run, history: History, evaluations: Sequence[Evaluation]) -> Panel:
    floor = None
    if _has_one_target(history):
        n = counted_sessions(run.settings.hints, run.group_size)
        floor = prompt_floor(run.settings.target, (n,) * run.prompts_per_step, n)
    of_prompts = [(one, one["jsd_per_prompt"]) for one in evaluations]
    found = [one | of | {"jsd": of["mean"], "n": prompt_n(of)} for one, of in of_prompts]
    training = _logged(history, {"training batch": "mad/jsd_per_prompt"})
    training += [replace(one, weak=True) for one in _logged(history, {"floor of the batch, mean": FLOOR}, COLORS[1])]
    return _jsd("mean of prompts", training, floor, found)


def _jsd(name: str, training: list[Series], floor: FloorAt | None, evaluations: Sequence[Mapping[str, Any]]) -> Panel:
    """One way to take the JSD of several prompts' responses. ``floor`` is that of the training batch, None where it is
    not the same in all steps; an evaluation has its own ``jsd``, ``interval``, ``n``, ``floor`` and ``floor_p95``."""
    series = list(training)
    if shown := [one for one in evaluations if one["jsd"] is not None]:
        intervals = [one["interval"] or (one["jsd"],) * 2 for one in shown]
        notes = [f"at n={one['n']}, floor {one['floor']:.4f} to {one['floor_p95']:.4f}" for one in shown]
        steps, jsds = ([one[name] for one in shown] for name in ("step", "jsd"))
        low, high = zip(*intervals, strict=True)
        series.append(Series(shown[0]["split"], "points", steps, jsds, COLORS[5], low, high, notes))
    levels = [] if floor is None else [Level(f"floor at n={floor.n}: mean to p95", floor.mean, floor.p95)]
    return Panel([name], series, f"JSD, {name}, nats", STEP, levels, log=True)


def _accuracy(run: Run) -> Panel:
    """The accuracy in the scores that the run dumps at every step, without hinted responses, in BINS stretches of equal
    length."""
    right: dict[int, Counter[str | None]] = {}  # None: of all responses
    counted: dict[int, Counter[str | None]] = {}
    for step, scores in run.dumps(run.folder.scores):  # of which memory holds one at a time
        right[step], counted[step] = Counter(), Counter()
        for score in scores:
            if is_ungraded(score) or score.get(HINTED):
                continue
            for name in {None, score["category"]}:
                right[step][name] += score["correct"]
                counted[step][name] += 1
    steps = list(counted)
    length = max(1, math.ceil(len(steps) / BINS))
    stretches = [steps[i : i + length] for i in range(0, len(steps), length)]
    values: dict[str | None, list[float | None]] = defaultdict(list)
    notes: dict[str | None, list[str]] = defaultdict(list)
    for stretch in stretches:
        for name in (None, *run.settings.categories):
            total, n = (sum(of[step][name] for step in stretch) for of in (right, counted))
            values[name].append(total / n if n >= MIN_COMPLETIONS else None)
            notes[name].append(f"steps {stretch[0]} to {stretch[-1]}: {total:g} of {n}")
    middles = [(stretch[0] + stretch[-1]) / 2 for stretch in stretches]
    lines: dict[str | None, dict[str, Any]] = {None: {"name": "all responses", "color": INK, "weak": True}}
    for number, name in enumerate(run.settings.categories):
        lines[name] = {"name": name, "color": color_of(number), "dash": dash_of(number)}
    series = [
        Series(kind="line", x=middles, y=values[name], notes=notes[name], markers=True, **lines[name])
        for name in values
    ]
    return Panel(["accuracy"], series, "pass@1", STEP, top=1.0)


def _logged(history: History, metrics: Mapping[str, str], color: str = "") -> list[Series]:
    """A line for each metric that was logged, by its name for people; a JSD of nothing on-support is NaN, and a gap."""
    found = []
    for number, (name, metric) in enumerate(metrics.items()):
        logged = {step: values[metric] for step, values in history.items() if metric in values}
        if logged:
            y = [value if math.isfinite(value) else None for value in logged.values()]
            found.append(Series(name, "line", list(logged), y, color or COLORS[number % len(COLORS)]))
    return found
