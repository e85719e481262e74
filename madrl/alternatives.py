"""The sceptic's table: what one would try in place of a distribution reward, measured alike.

    madrl alternatives TASK [TARGET] [KEY=VALUE ...]

TARGET is uniform unless it is named: peak, or weights {category: weight} with NAME=. The same holdout prompts, number
of samples, classifier and verifier for every row:

as it is         the base model
temperature      the base model, sampled at 1.4
named            the base model, each response asked for in a category that is drawn from the target
verbalized       the base model writes five answers with a probability each, one of which is drawn
finetuned        the base model, finetuned on its own right answers in the target's mix (madrl warm-start)
RLVR, entropy    GRPO with correctness alone, and with an entropy bonus
GAPO             GRPO with GAPO's reward; for targets that are not uniform, and with further attributes, with its
                 generalisation, additive L2
ours             GRPO with the reverse KL reward in the task's own form, at alpha 0.9, and gated

GRPO starts from the task's warm start, or from the base model where the task has none in this profile; KEY=VALUE are
overrides of all trainings. Naming and finetuning take a task with a naming; RLVR, entropy and other forms of ours one
whose correctness has a weight. Rows that are done are kept: after a kill, the same command goes on. Environment
variables are those of madrl run, but for MODEL and the form. Left in OUT/NAME, by default
OUT/TASK_alternatives_TARGET_PROFILE_seedSEED: the responses of the rows that are not trained, table.md, table.json,
alternatives.png, and report/ with the same rows; the trainings' folders are beside it.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from madrl.errors import MadrlError
from madrl.evaluation.samples import score_samples
from madrl.files import read_jsonl, replacing, write_json, write_text
from madrl.recipe import FORM_KEYS, WARM_START, Recipe, recipe_of, sets, switched_on
from madrl.records import Record, classified, read_graded
from madrl.report.build import BaselineFile, report_study
from madrl.report.drawing import draw
from madrl.report.evaluation_tables import at_target_cell, resampled
from madrl.report.panels import COLORS, Level, Panel, Series
from madrl.report.table import NOTHING, Section, Shown, Table, formatted, markdown, measured
from madrl.reward import RewardConfig
from madrl.run import (
    Stage,
    check_dataset,
    check_machine,
    check_own_data,
    check_warm_start,
    resolved_config,
    run_stages,
    shared_stages,
    stages_of,
)
from madrl.run_folder import RunFolder
from madrl.sampling.verbalized import ASKED
from madrl.settings import Settings
from madrl.temperature_sweep import sampling_stage
from madrl.warm_start.config import compose

TEMPERATURE = "1.4"

FOLLOWED = 0.5
"""The share of responses that do what the prompt asks for. Below it an alternative is not applicable."""

OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours, alpha 0.9": {"form": "additive", "alpha": "0.9"},
    "ours, gated": {"form": "gated"},
}
"""Row -> the form of our reward."""

CORRECTNESS: dict[str, dict[str, Any]] = {
    "RLVR": {"form": "rlvr"},
    "entropy": {"form": "rlvr", "entropy": "0.01"},
}
"""Row -> a reward of correctness alone."""

GAPO: dict[str, dict[str, Any]] = {"GAPO": {"form": "gapo"}}
"""Its only target is the uniform one, of one attribute."""

GAPO_OF_ANY_TARGET: dict[str, dict[str, Any]] = {"GAPO, l2": {"form": "additive", "divergence": "l2"}}
"""What GAPO's reward generalises to."""


@dataclass(frozen=True)
class Row:
    """One way to get a mix."""

    name: str
    responses: Path
    """What it answers to the holdout."""
    stages: tuple[Stage, ...]
    trained: tuple[Path, ...] = ()
    """The folders of what was trained for it: a warm start, a run."""
    is_run: bool = False
    """Whether the last of those is a training by reward."""
    changes_prompt: bool = False


class Plan(NamedTuple):
    """All rows, and what is made for several of them first."""

    folder: Path
    first: tuple[Stage, ...]
    warm_start: Recipe | None
    finetuning: Recipe | None
    """The warm start towards the target, where the task's own is towards another."""
    rows: tuple[Row, ...]
    settings: Settings
    ray_address: str
    """The Ray cluster that trains, if that runs already."""


def alternatives(words: Sequence[str], variables: Mapping[str, str]) -> Table | None:
    """Make every row that is missing, and the table of all (the module's docstring); with DRY_RUN only print the rows
    and their stages.

    Raises MadrlError for a task or an override that does not exist, SystemExit when a stage fails."""
    plan = plan_of(words, variables)
    if switched_on("DRY_RUN", variables):
        for row in plan.rows:
            print(f"{row.name}, to {row.responses}", *(f"  [{s.name}] {s.description}" for s in row.stages), sep="\n")
        return None
    plan.folder.mkdir(parents=True, exist_ok=True)
    run_stages(plan.first, plan.folder)
    if plan.warm_start is not None:
        _make(plan.warm_start)
    if plan.warm_start is not None and plan.finetuning is not None:
        _take_samples(plan.warm_start.run, plan.finetuning.run)
        _make(plan.finetuning)
    stages = [stage for row in plan.rows for stage in row.stages]
    run_stages(stages, plan.folder, plan.ray_address)
    return write_table(plan)


def plan_of(words: Sequence[str], variables: Mapping[str, str]) -> Plan:
    """What ``alternatives`` makes. Raises MadrlError as that does."""
    if taken := [name for name in ("MODEL", "FORM", "ALPHA", "LAMBDA_G", "ENTROPY") if variables.get(name)]:
        raise MadrlError(f"{taken[0]}={variables[taken[0]]}: the alternatives choose it themselves: leave it unset")
    named = [word for word in words if "=" not in word and not word.startswith("~")]
    if not 1 <= len(named) <= 2:
        raise MadrlError(f"{' '.join(words)!r} names no alternatives: write TASK, or TASK TARGET")
    target = named[1] if len(named) > 1 else "uniform"
    overrides = [word for word in words if word not in named]
    ours = recipe_of([named[0], target, "rkl", *overrides], variables)
    if ours.record.is_synthetic and ours.profile == "tiny":
        raise MadrlError(f"{ours.task} has no holdout in the tiny profile: use PROFILE=small, or gpu")
    check_machine(ours, dry_run=switched_on("DRY_RUN", variables))
    check_dataset(ours)
    name = ours.name or f"{ours.record.name}_alternatives_{target}_{ours.profile}_seed{ours.seed}"
    folder = ours.out / name
    warm_start = ours.warm_start if ours.record.has_warm_start else None
    base = (warm_start or ours).initial_model
    starts_warm = warm_start is not None and (ours.profile == "tiny" or ours.starts_from_warm_start)
    start = f"{warm_start.run}/model" if warm_start is not None and starts_warm else base
    ours = replace(ours, model=start, name=f"{name}_ours")
    config: Any = yaml.safe_load(resolved_config(ours))
    if warm_start is not None:
        check_warm_start(warm_start)
    check_own_data(ours, config, holdout=True)
    settings = Settings.from_config(config["madrl"])
    finetuning = None
    if warm_start is not None and not np.allclose(compose(warm_start.hydra_overrides())[0].target, settings.target):
        weights = f"warm_start.target={target}"
        finetuning = replace(warm_start, name=f"{name}_finetuning", overrides=(*warm_start.overrides, weights))
        check_warm_start(finetuning)
    rows = [
        *_sampled(config, settings, base, folder, warm_start, finetuning or warm_start),
        *_trained(ours, name, config, settings, warm_start if starts_warm else None),
    ]
    first = shared_stages(warm_start or replace(ours, model=""))
    return Plan(folder, tuple(first), warm_start, finetuning, tuple(rows), settings, ours.ray_address)


def _sampled(
    config: Mapping[str, Any],
    settings: Settings,
    base: str,
    folder: Path,
    warm_start: Recipe | None,
    finetuning: Recipe | None,
) -> Iterator[Row]:
    """The rows that sample a model which no reward has trained."""

    def row(name: str, model: str, temperature: str, *more: str, trained: tuple[Path, ...] = ()) -> Row:
        responses = folder / f"{name}.jsonl"
        stage = sampling_stage(config, model, responses, temperature, *more)._replace(name=name)
        return Row(name, responses, (stage,), trained, changes_prompt=bool(more))

    own = str(config["actor_rollout_ref"]["rollout"]["temperature"])  # which the trained rows are sampled at
    yield row("as it is", base, own)
    yield row("temperature", base, TEMPERATURE)
    if warm_start is not None:
        weights = {name: p for name, p in zip(settings.categories, settings.target.tolist(), strict=True) if p}
        drawn = ["--ask-category", "--naming", str(config["madrl"]["naming"]), "--target", json.dumps(weights)]
        yield row("named", base, own, *drawn)
    yield row("verbalized", base, own, "--verbalized")
    if warm_start is not None and finetuning is not None:
        # It costs what the warm start cost, whose samples it has.
        yield row("finetuned", f"{finetuning.run}/model", own, trained=(warm_start.run,))


def _trained(
    ours: Recipe, name: str, config: Mapping[str, Any], settings: Settings, warm_start: Recipe | None
) -> Iterator[Row]:
    """The rows of a reward. Where correctness has no weight there is nothing in RLVR, and one form of ours."""
    gapo = GAPO_OF_ANY_TARGET if np.ptp(settings.target) or settings.attributes else GAPO
    forms = CORRECTNESS | gapo | OURS if settings.reward.alpha > 0 else gapo | {"ours": OURS["ours"]}
    for label, form in forms.items():
        if _is(form, settings.reward):
            continue
        _check_form(label, form, ours, config)
        # What makes the row is not for the overrides of all to change.
        own_keys = [key for of, key in FORM_KEYS.items() if of in form]
        others = tuple(word for word in ours.overrides if not any(sets(word, key) for key in own_keys))
        own_name = f"{name}_{label.replace(', ', '_').replace(' ', '')}"
        recipe = replace(ours, name=own_name, overrides=others, **form)
        run = RunFolder(recipe.run)
        responses = run.holdout / f"{config['trainer']['total_training_steps']}.jsonl"
        stages = [
            stage._replace(name=f"{label}, {stage.name}")
            for stage in stages_of(recipe)
            if stage.name in ("train", "holdout")
        ]
        trained = (*([warm_start.run] if warm_start else []), recipe.run)
        yield Row(label, responses, tuple(stages), trained, is_run=True)


def _check_form(label: str, form: Mapping[str, Any], ours: Recipe, config: Mapping[str, Any]) -> None:
    """Raises MadrlError where a row's reward does not go with the settings of all, before anything is made."""
    reward = {**config["madrl"]["reward"], **{key: form[key] for key in ("form", "divergence") if key in form}}
    preset = ours.record.config.get("madrl", {}).get("reward", {})
    if "calibrate" not in preset and not any(sets(word, "madrl.reward.calibrate") for word in ours.overrides):
        reward["calibrate"] = False  # each run's own form decides
    if "alpha" in form:
        reward["alpha"] = float(form["alpha"])
    try:
        Settings.from_config({**config["madrl"], "reward": reward})
    except MadrlError as error:
        raise MadrlError(f"the row {label!r} cannot have the settings of all: {error}") from error


def _is(form: Mapping[str, Any], own: RewardConfig) -> bool:
    """Whether a named form is the task's own."""
    named = form.get("form"), form.get("divergence", own.divergence), float(form.get("alpha", own.alpha))
    return named == (own.form, own.divergence, own.alpha)


def _make(recipe: Recipe) -> None:
    """Make a warm start whose base model is there."""
    run_stages([stage for stage in stages_of(recipe) if stage.name == WARM_START], recipe.run)


def _take_samples(source: Path, folder: Path) -> None:
    """Let a warm start in ``folder`` learn from the responses that the one in ``source`` asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("samples.jsonl.settings.json", "samples.jsonl"):
        if not (folder / name).exists():
            with replacing(folder / name) as unfinished:
                shutil.copyfile(source / name, unfinished)


class Measured(NamedTuple):
    """One row's numbers."""

    row: Row
    scores: Mapping[str, Any]
    followed: float | None
    """Of a row that changes the prompt, the share of responses that do what it asks for."""
    tokens: float
    """Generated for one answer, those of answers that were not drawn among them."""
    minutes: float | None
    """Of training, on the machine that it ran on; 0 without any, None where they were not kept."""

    @property
    def applies(self) -> bool:
        return self.followed is None or self.followed >= FOLLOWED


def measure(row: Row, settings: Settings) -> Measured:
    """Score the row's responses and look up what they cost."""
    records = read_graded(row.responses, settings.categories)
    scores = score_samples(records, settings.categories, settings.target, settings.reward.epsilon)
    tokens = float(np.mean([record["response_tokens"] for record in records]))
    minutes = [_minutes(RunFolder(folder)) for folder in row.trained]
    known = [found for found in minutes if found is not None]
    return Measured(row, scores, _followed(row, records), tokens, sum(known) if len(known) == len(minutes) else None)


def _followed(row: Row, records: Sequence[Record]) -> float | None:
    if not row.changes_prompt:
        return None
    if ASKED in records[0]:
        return float(np.mean([record[ASKED] > 1 for record in records]))
    return float(np.mean([record["category"] == record["asked"] for record in classified(records)]))


def _minutes(folder: RunFolder) -> float | None:
    """What a run's steps took, or the calls that made a warm start, whatever interrupted them."""
    if steps := [found["timing_s/step"] for found in folder.history().values() if "timing_s/step" in found]:
        return sum(steps) / 60
    stages = read_jsonl(folder.stages) if folder.stages.exists() else []
    seconds = [stage["seconds"] for stage in stages if stage["stage"] == WARM_START]
    return sum(seconds) / 60 if seconds else None


def write_table(plan: Plan) -> Table:
    """Write the table, its figure and the report, and return the table."""
    found = [measure(row, plan.settings) for row in plan.rows]
    table = _table(plan.settings, found)
    write_text(plan.folder / "table.md", markdown(table))
    numbers = [
        {
            "name": one.row.name,
            "followed": one.followed,
            "tokens": one.tokens,
            "minutes": one.minutes,
            "changes_prompt": one.row.changes_prompt,
            **one.scores,
        }
        for one in found
    ]
    write_json(plan.folder / "table.json", {"target": plan.settings.target.tolist(), "rows": numbers})
    with replacing(plan.folder / "alternatives.png") as unfinished:
        draw(_panels(plan.settings, found), 2, {"png": unfinished})
    files = [BaselineFile("", row.name, row.responses) for row in plan.rows if not row.is_run]
    report_study([str(row.trained[-1]) for row in plan.rows if row.is_run], plan.folder / "report", files)
    return table


COLUMNS = [
    "", "JSD ↓", "single prompts ↓", "off-support ↓", "pass@1 ↑", "at the target mix ↑", "followed",
    "training, minutes", "tokens an answer", "prompt may stay",
]  # fmt: skip


def _table(settings: Settings, found: Sequence[Measured]) -> Table:
    scores = found[0].scores
    collapsed = formatted(scores["per_prompt"]["collapsed"], ".2f")
    floors = [one.scores["floor_p95"] for one in found if one.applies and one.scores["floor_p95"] is not None]
    on_target = " to ".join(sorted({f"{min(floors):.4f}", f"{max(floors):.4f}"})) if floors else NOTHING
    caption = (
        f"{scores['samples']} responses to {scores['problems']} prompts that nothing was trained on. "
        f"{resampled([scores])} JSD: of the pooled shares, in nats; the 95th percentile of a policy "
        f"on the target, at the on-support responses of a row, is {on_target}. Single prompts: the mean squared "
        f"distance of a prompt's shares to the target, without the part that is chance; {collapsed} if each prompt had "
        "one category. Followed: the responses that do what the changed prompt asks for; below "
        f"{FOLLOWED:.0%} the alternative is not applicable."
    )
    return Table("alternatives", "Alternatives", caption, [], COLUMNS, [Section("", [_line(one) for one in found])])


def _line(one: Measured) -> list[Shown]:
    scores = one.scores
    numbers = [
        measured(scores["jsd"], ".4f", scores["jsd_interval"]),
        measured(scores["per_prompt"]["distance"], ".3f", scores["per_prompt"]["interval"]),
        measured(scores["off_support"], ".1%", scores["off_support_interval"]),
        measured(scores["pass@1"], ".3f", scores["pass@1_interval"]),
        at_target_cell(scores),
    ]
    return [
        Shown(one.row.name),
        *(numbers if one.applies else [Shown("not applicable"), *[Shown(NOTHING)] * (len(numbers) - 1)]),
        Shown(formatted(one.followed, ".1%")),
        Shown("unknown" if one.minutes is None else formatted(one.minutes, ".0f")),
        Shown(formatted(one.tokens, ".0f")),
        Shown("no" if one.row.changes_prompt else "yes"),
    ]


def _panels(settings: Settings, found: Sequence[Measured]) -> list[Panel]:
    """JSD against pass@1, or against the distance of single prompts where correctness has no weight, and against the
    off-support rate; rows that are not applicable are left out."""
    shown = [one for one in found if one.applies and one.scores["jsd"] is not None]
    colors = dict(zip((one.row.name for one in shown), [*COLORS, *COLORS], strict=False))
    # The floors of the row with the fewest on-support responses: what is outside is off target in any row.
    floor = max((one.scores for one in shown), key=lambda scores: scores["floor_p95"], default=None)
    first = "pass@1" if settings.reward.alpha > 0 else SINGLE_PROMPTS
    return [
        Panel(
            [label],
            [dot for one in shown if (dot := _dot(one, label, colors[one.row.name]))],
            label,
            "JSD to the target, nats",
            [Level("largest floor: mean to p95", floor["floor"], floor["floor_p95"], axis="x")] if floor else [],
            log_x=True,
            from_zero=label != "pass@1",
        )
        for label in (first, OFF_SUPPORT)
    ]


SINGLE_PROMPTS, OFF_SUPPORT = "single prompts: squared distance to the target", "off-support rate"


def _dot(one: Measured, label: str, color: str) -> Series | None:
    """The row in the panel called ``label``; None where it has no such number."""
    scores, per_prompt = one.scores, one.scores["per_prompt"]
    value, interval = {
        "pass@1": (scores["pass@1"], scores["pass@1_interval"]),
        SINGLE_PROMPTS: (per_prompt["distance"], per_prompt["interval"]),
        OFF_SUPPORT: (scores["off_support"], scores["off_support_interval"]),
    }[label]
    if value is None:
        return None
    low, high = interval or (None, None)
    x_low, x_high = scores["jsd_interval"] or (None, None)
    return Series(
        one.row.name,
        "dots",
        [scores["jsd"]],
        [value],
        color,
        [low],
        [high],
        x_low=[x_low],
        x_high=[x_high],
        symbol="diamond" if one.row.changes_prompt else "square" if not one.row.trained else "circle",
    )
