"""``madrl warm-start``: all of it, stage by stage, each of which is left alone when it is done.

RUN/config.yaml         the resolved config
RUN/samples.jsonl       every response that was asked for, graded
RUN/sampling.json       by category: asked, on category, correct, cut off, kept, yield, and how many are used
RUN/sft.parquet         what is learnt: prompts that name no category
RUN/sft/                veRL's log, metrics and checkpoints; once one is selected, their models only
RUN/selection/          the responses to the selection split (or validation, without one), by checkpoint
RUN/selection.json      every checkpoint's coverage, and which was chosen
RUN/model/              the chosen model; appears last
"""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from madrl.errors import MadrlError
from madrl.files import leaves, locked, replacing, write_json
from madrl.grading.grader import Grader
from madrl.process import all_gpus
from madrl.prompts import load_naming
from madrl.sampling.engine import Engines, Sampling, StartSampler, visible_devices
from madrl.sampling.generate import generate_file
from madrl.sampling.requests import read_rows
from madrl.schema import check_parquet
from madrl.warm_start.config import WarmStart, check_same_start, compose
from madrl.warm_start.sampling import mixed, sample, write_examples
from madrl.warm_start.selection import Coverage, choose, coverage_of, read_selection, write_selection
from madrl.warm_start.tables import sampling_table, selection_table

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from madrl.trainer.sft import Finetuning

WIDTH = 120
"""The width of the tables, also in a log: five categories and their names fit."""


def warm_start(overrides: Sequence[str], dry_run: bool = False, start: StartSampler = Engines) -> None:
    """Make or finish the warm start that ``overrides`` describe; with ``dry_run`` only print its config and that of
    veRL's SFT trainer, both checked. ``start`` starts what answers.

    Raises MadrlError for a bad config or data file, a folder of another warm start, a category that cannot be asked
    for, and an engine or a trainer that failed.
    """
    from omegaconf import OmegaConf

    if dry_run:
        print(OmegaConf.to_yaml(OmegaConf.create(resolved(overrides))), end="")
        return
    settings, config = compose(overrides)
    run = settings.run
    run.mkdir(parents=True, exist_ok=True)
    console = Console(width=WIDTH)
    with locked(run / ".lock", f"{run} is being made by another process: wait for it to end"):
        sft = None if (run / "model").exists() else _check(settings)
        if sft is not None:
            _check_gpus(sft)
            for path in (settings.data / "train.parquet", settings.selection):
                check_parquet(path, settings.grader.categories)
        _claim(run, config)
        if sft is not None:
            with all_gpus(f"{run} waits: others take the GPUs") if sft.trainer.device != "cpu" else nullcontext():
                used = _sample(settings, start)
                console.print(sampling_table(_read(run / "sampling.json")["categories"]))
                models = _finetune(settings, used)
                chosen = _select(settings, models, start)
            _prune(run / "sft" / "checkpoints")
            with replacing(run / "model") as unfinished:
                shutil.copytree(models[chosen], unfinished)
        checkpoints, step = read_selection(run / "selection.json")
        console.print(selection_table(checkpoints, step))
        print(f"{run / 'model'}: the checkpoint of step {step}, by coverage")


def resolved(overrides: Sequence[str]) -> dict[str, Any]:
    """The checked config that ``overrides`` describe, that of veRL's SFT trainer in its node ``sft``."""
    from omegaconf import OmegaConf

    settings, config = compose(overrides)
    return {**config, "sft": OmegaConf.to_container(_check(settings))}


def _check_gpus(sft: "DictConfig") -> None:
    """Raises MadrlError where the finetuning wants GPUs and there are not as many: before hours of sampling."""
    there = len(visible_devices())
    if sft.trainer.device != "cpu" and there < sft.trainer.n_gpus_per_node:
        raise MadrlError(
            f"the warm start takes sft.trainer.n_gpus_per_node={sft.trainer.n_gpus_per_node} GPUs of one node, and "
            f"{there} are here: make it where there are as many, or set that key (in a recipe that trains, "
            "trainer.n_gpus_per_node)"
        )


def _check(settings: WarmStart) -> "DictConfig":
    """The config of veRL's SFT trainer. Raises MadrlError for a key that veRL does not know and for a classifier,
    verifier or naming that does not exist: before hours of sampling, and before a folder is claimed with the mistake in
    it."""
    Grader(settings.grader)
    load_naming(settings.naming)
    return _finetuning(settings, settings.per_category * len(settings.wanted)).config()


AFTER_SAMPLING = ("sft", "warm_start.epochs", "warm_start.checkpoints", "warm_start.selection_samples")
"""The nodes of the config that decide nothing about what is sampled."""

MADE_AFTER_SAMPLING = ("sampling.json", "sft.parquet", "sft", "selection.json", "selection")


def _claim(run: Path, config: Mapping[str, Any]) -> None:
    """Write the config, or check that the one there is the same. While there is no model yet, what comes after the
    sampling may have changed: what was made of it is then removed, and the samples are kept."""
    from omegaconf import OmegaConf

    path = run / "config.yaml"
    if (run / "model").exists():
        check_same_start(run, config)
        return
    if path.exists():
        old: Any = OmegaConf.to_container(OmegaConf.load(path))
        before, now = leaves(old), leaves(json.loads(json.dumps(config)))
        later = {key for key in before | now if f"{key}.".startswith(tuple(f"{node}." for node in AFTER_SAMPLING))}
        check_same_start(run, config, later)
        if changed := sorted(key for key in later if before.get(key) != now.get(key)):
            print(f"{changed[0]} is another than before: the samples are kept, the finetuning starts afresh")
            for made in (run / name for name in MADE_AFTER_SAMPLING):
                if made.is_dir():
                    shutil.rmtree(made)
                made.unlink(missing_ok=True)
    with replacing(path) as unfinished:
        OmegaConf.save(OmegaConf.create(dict(config)), unfinished)


def _sample(settings: WarmStart, start: StartSampler) -> int:
    """Rejection sampling and the finetuning's rows; returns how many responses are used."""
    report, rows_file = settings.run / "sampling.json", settings.run / "sft.parquet"
    if not report.exists():
        harvests = sample(settings, start)
        kept = {name: harvest.kept for name, harvest in harvests.items()}
        chosen = mixed(kept, settings.target, settings.per_category, settings.seed)
        if len(chosen) < settings.batch_size:
            raise MadrlError(
                f"{len(chosen)} responses to learn from are less than one batch of {settings.batch_size}: ask for more "
                "(warm_start.per_category, samples_per_row), or lower sft.data.train_batch_size"
            )
        write_examples(chosen, read_rows(settings.data / "train.parquet"), rows_file)
        used = Counter(line["asked"] for line in chosen)
        found = {name: {**harvest.facts(), "used": used[name]} for name, harvest in harvests.items()}
        write_json(report, {"categories": found})
    return sum(int(found["used"]) for found in _read(report)["categories"].values())


def _finetuning(settings: WarmStart, used: int) -> "Finetuning":
    """The finetuning on ``used`` responses."""
    from madrl.trainer.sft import Finetuning

    steps, between = settings.steps(used)
    return Finetuning(
        model=settings.model,
        train_file=settings.run / "sft.parquet",
        work_dir=settings.run / "sft",
        config_name=settings.sft_config,
        steps=steps,
        save_every=between,
        seed=settings.seed,
        overrides={
            **settings.sft,
            "data.max_length": settings.max_length,
            **{f"+data.apply_chat_template_kwargs.{key}": value for key, value in settings.chat_template.items()},
        },
    )


def _finetune(settings: WarmStart, used: int) -> dict[int, Path]:
    """Step -> model of each checkpoint."""
    from madrl.trainer.sft import checkpoints, finetune

    wanted = _finetuning(settings, used)
    finetune(wanted)
    return checkpoints(wanted.work_dir)


def _select(settings: WarmStart, models: Mapping[int, Path], start: StartSampler) -> int:
    """Measure the base model and every checkpoint, and choose; returns the chosen step."""
    path, folder = settings.run / "selection.json", settings.run / "selection"
    folder.mkdir(exist_ok=True)
    found: list[Coverage] = []
    for step, model in {0: settings.model, **models}.items():
        # At the temperature of training, whatever the categories were asked for at.
        sampling = Sampling(
            str(model),
            max_response_tokens=settings.response_tokens,
            seed=settings.seed,
            chat_template=settings.chat_template,
        )
        out = folder / f"step-{step}.jsonl"
        done = generate_file(
            settings.selection,
            out,
            sampling,
            settings.grader,
            settings.selection_samples,
            gpus_per_engine=settings.tensor_model_parallel_size,
            start=start,
        )
        found.append(coverage_of(step, done.lines, settings.grader.categories, settings.target))
    chosen = choose(found, settings.wanted)
    write_selection(path, found, chosen)
    return chosen.step


def _prune(checkpoints: Path) -> None:
    """Leave of each checkpoint its model only: what resuming needs is several times as large."""
    for folder in checkpoints.glob("global_step_*"):
        for path in folder.iterdir():
            if path.name != "huggingface":
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
