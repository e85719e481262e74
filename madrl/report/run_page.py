"""The page of one run, for every day of its training: where the shares are, whether the fit is real, what it costs in
accuracy, what the reward is made of, which alarms were raised, and what the policy actually writes.

Works on a run that has only just begun, one that failed, and one that is done; what is not there yet is left out.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from madrl.alarms import Stretch, read_events, stretches
from madrl.errors import MadrlError
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.evaluation.tables import prompt_n
from madrl.report.cells import Evaluation, Run, dumped, evaluation, identified
from madrl.report.folder import PAGE, report_folder
from madrl.report.formats import table_html
from madrl.report.page import page, plot_section, text
from madrl.report.run_plots import run_plots
from madrl.report.sample_responses import sample_responses, samples_html
from madrl.report.tables import (
    NOTHING,
    Section,
    Shown,
    Table,
    dataset_label,
    row_label,
    target_label,
)
from madrl.run_folder import RunFolder


def report_run_page(path: str, folder: Path) -> list[Path]:
    """Write the run's page into ``folder``, which is made. Raises MadrlError when ``path`` is no run, or one that has
    neither dumps nor metrics yet, and as ``report_folder``."""
    run = identified(Path(path))
    history = run.folder.history()
    evaluations = sorted(_evaluations(run), key=lambda one: one.step)
    if not (history or evaluations):
        raise MadrlError(f"{path} has no dumps and no metrics yet: there is something to see after its first step")
    html = run_page(run, history, evaluations)
    with report_folder(folder) as unfinished:
        (unfinished / PAGE).write_text(html, encoding="utf-8")
    return [folder / PAGE]


def _evaluations(run: Run) -> Iterator[Evaluation]:
    """Every split of every dump, validation before holdout."""
    for dumps in (run.folder.validation, run.folder.holdout):
        for step, rows in dumped(run, dumps):
            splits: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for sample in rows:
                splits[str(sample.get("split", dumps.name))].append(sample)
            for split, samples in sorted(splits.items()):
                yield evaluation(samples, run.settings, step, split)


def run_page(run: Run, history: Mapping[int, Mapping[str, float]], evaluations: Sequence[Evaluation]) -> str:
    """The whole page as HTML."""
    alarms = sorted(stretches(read_events(run.folder.alarms)), key=lambda one: one.cleared is not None)
    plots = run_plots(run, history, evaluations)
    reward = f"{row_label(run.cell.reward)} {run.cell.weight}".strip()
    at = max([*history, *(e.step for e in evaluations)], default=0)
    lead = (
        f"{dataset_label(run.cell.dataset)}, {target_label(run.cell.target)}; reward {reward}; seed {run.cell.seed}; "
        f"{run.profile} profile. Step {at} of {run.steps}, {run.state}{': ' + run.reason if run.reason else ''}."
    )
    samples = list(sample_responses(run))
    parts = [
        f"<h1>{text(run.folder.root.resolve().name)}</h1><p class='lead'>{text(lead)}</p>",
        _tiles(run, history, evaluations, alarms),
        _alarms(alarms, bool(history)),
    ]
    for first, second in zip(plots[::2], [*plots[1::2], None], strict=False):
        pair = plot_section(first) + (plot_section(second) if second else "")
        parts.append(f'<div class="pair">{pair}</div>')
    if evaluations:
        parts += [table_html(_evaluation_table(evaluations)), table_html(_category_table(run, evaluations[-1]))]
    parts += [samples_html(run, samples), _facts(run.folder)]
    return page(run.folder.root.resolve().name, "\n".join(parts), plots)


def _tiles(
    run: Run,
    history: Mapping[int, Mapping[str, float]],
    evaluations: Sequence[Evaluation],
    alarms: Sequence[Stretch],
) -> str:
    """The numbers that one looks at first."""
    tiles = []
    if evaluations:
        last = evaluations[-1]
        scores = last.scores
        where = f"{last.split}, step {last.step}"
        of_prompts = scores["jsd_per_prompt"]
        tiles += [
            _distance_tile("JSD, pooled, nats", scores["jsd"], scores, str(scores["on_support"]), where),
            _distance_tile("JSD, mean of prompts, nats", of_prompts["mean"], of_prompts, prompt_n(of_prompts), where),
            ("", _percent(scores["pass@1"]), "pass@1", f"{_interval(scores['pass@1_interval'])}{where}"),
            ("", _percent(scores["off_support"]), "off-support", where),
            ("", _percent(scores["ungraded"]), "ungraded", where),
        ]
    if history:
        step, metrics = list(history.items())[-1]
        if "mad/reward/mean" in metrics:
            tiles.append(("", f"{metrics['mad/reward/mean']:.3f}", "training reward", f"mean at step {step}"))
    on = sum(one.cleared is None for one in alarms)
    detail = f"{len(alarms) or 'none'} raised over the run"
    tiles.append(("bad" if on else "good", str(on), "alarms on", detail))
    return '<div class="tiles">' + "".join(
        f'<div class="tile {kind}"><span>{text(name)}</span><b>{text(value)}</b><small>{text(detail)}</small></div>'
        for kind, value, name, detail in tiles
    ) + "</div>"  # fmt: skip


def _distance_tile(
    name: str, jsd: float | None, scores: Mapping[str, Any], n: str, where: str
) -> tuple[str, str, str, str]:
    """A JSD with its verdict, its n and its floor there."""
    if jsd is None:
        return ("", NOTHING, name, f"no on-support response; {where}")
    resolved = scores["resolved"]
    verdict = "further from the target than the floor" if resolved else "not resolved from the target"
    floor = f"floor {scores['floor']:.4f} to {scores['floor_p95']:.4f} at n={n}"
    return ("bad" if resolved else "good", f"{jsd:.4f}", name, f"{verdict}; {floor}; {where}")


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"


def _interval(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"95 %: {interval[0]:.1%} to {interval[1]:.1%}; "


def _alarms(alarms: Sequence[Stretch], logged: bool) -> str:
    """The alarms as the run's own training wrote them down, those that are on first."""
    if not alarms:
        return (
            f'<p class="lead" id="alarms">{"No alarm was raised." if logged else "No training step is logged yet."}</p>'
        )
    items = []
    for event, cleared in alarms:
        name = f"{event.alarm} ({', '.join(event.categories)})" if event.categories else event.alarm
        when = f"since step {event.step}" if cleared is None else f"steps {event.step} to {cleared - 1}, over"
        items.append(f"<li><b>{text(name)}</b>, {when}: {text(event.text)}</li>")
    kind = "notice alarm" if any(one.cleared is None for one in alarms) else "notice"
    return f'<div class="{kind}" id="alarms">Alarms<ul>{"".join(items)}</ul></div>'


def _evaluation_table(evaluations: Sequence[Evaluation]) -> Table:
    lines = []
    for one in evaluations:
        scores = one.scores
        resolved = {None: NOTHING, True: "resolved", False: "not resolved"}[scores["resolved"]]
        per_prompt, of_prompts = scores["per_prompt"], scores["jsd_per_prompt"]
        lines.append(
            [
                Shown(one.split),
                Shown(str(one.step)),
                _with_interval(scores["jsd"], scores["jsd_interval"], ".4f"),
                _floor(scores, str(scores["on_support"])),
                Shown(resolved),
                *(Shown("∞" if n in scores["infinite"] else _form(scores[n], ".4f")) for n in ("l2", "fkl", "rkl")),
                _with_interval(of_prompts["mean"], of_prompts["interval"], ".4f"),
                _floor(of_prompts, prompt_n(of_prompts)),
                _with_interval(per_prompt["distance"], per_prompt["interval"], ".3f"),
                _with_interval(scores["pass@1"], scores["pass@1_interval"], ".3f"),
                Shown(_percent(scores["off_support"])),
                Shown(_percent(scores["ungraded"])),
            ]
        )
    collapsed = evaluations[0].scores["per_prompt"]["collapsed"]
    return Table(
        "evaluations",
        "Evaluations",
        "In small print: 95 % intervals, problems resampled. Verdict: whether the JSD can be told from that of a "
        "policy on the target, whose mean to 95th percentile at n on-support responses is the floor. Of single "
        "prompts, the means over prompts: their JSD, whose n are the responses to a prompt and which is comparable at "
        f"equal n only, and their squared distance, {collapsed:.3f} when each prompt has one category only and the "
        "pool is on target.",
        [("", 2), ("pooled", 6), ("single prompts", 3), ("", 3)],
        [
            *("Split", "step", "JSD ↓", "floor", "verdict", "L2", "FKL", "RKL"),
            *("JSD ↓", "floor", "distance", "pass@1 ↑", "off-support", "ungraded"),
        ],
        [Section("", lines)],
    )


def _floor(scores: Mapping[str, Any], n: str) -> Shown:
    if scores["floor"] is None:
        return Shown(NOTHING)
    return Shown(f"{scores['floor']:.4f}–{scores['floor_p95']:.4f}", f"n={n}")


def _category_table(run: Run, last: Evaluation) -> Table:
    lines = []
    for name, target in zip(run.settings.categories, run.settings.target.tolist(), strict=True):
        found = last.scores["by_category"][name]
        few = found["pass@1"] is None
        lines.append(
            [
                Shown(name),
                Shown(f"{target:.3f}"),
                _with_interval(found["share"], found["share_interval"], ".3f"),
                Shown("·" if few else f"{found['pass@1']:.3f}", f"n={found['graded']}"),
            ]
        )
    return Table(
        "categories",
        f"Categories at step {last.step}, {last.split}",
        f"In small print: 95 % intervals, and how many responses were graded. A dot: fewer than {MIN_COMPLETIONS}, "
        "which is not a measured zero.",
        [],
        ["Category", "target", "share", "pass@1"],
        [Section("", lines)],
    )


def _with_interval(value: float | None, interval: Sequence[float] | None, form: str) -> Shown:
    return Shown(_form(value, form), "" if interval is None else f"{interval[0]:{form}}–{interval[1]:{form}}")


def _form(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)


def _facts(folder: RunFolder) -> str:
    """Where and with what it ran."""
    if not folder.facts.exists():
        return ""
    attempts = json.loads(folder.facts.read_text(encoding="utf-8"))["attempts"]
    lines = []
    for number, attempt in enumerate(attempts, start=1):
        versions = ", ".join(f"{name} {version}" for name, version in attempt.get("versions", {}).items())
        git = attempt.get("git") or {}
        commit = f"{git['commit'][:12]}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else NOTHING
        when = f"{attempt.get('started', '?')} to {attempt.get('ended', 'now')}"
        overrides = " ".join(attempt.get("overrides", []))
        lines.append(
            f"<tr><td>{number}</td><td class='text'>{text(attempt['status'])}</td><td class='text'>{text(when)}</td>"
            f"<td class='text'>{text(commit)}</td><td class='text'>{text(versions)}<br>{text(overrides)}</td></tr>"
        )
    count = "1 attempt" if len(attempts) == 1 else f"{len(attempts)} attempts"
    head = "<tr><th>attempt</th><th>ended</th><th>when</th><th>commit</th><th>versions and overrides</th></tr>"
    return (
        f'<h2>How it ran</h2><details><summary>{count}</summary><div class="scroll"><table>'
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div></details>"
    )
