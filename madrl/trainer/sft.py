"""Supervised finetuning with veRL's own SFT trainer, as a child process that resumes where it was stopped."""

import sys
from collections.abc import Mapping
from pathlib import Path

from madrl.errors import MadrlError
from madrl.trainer.compose import CONFIG_DIR
from madrl.trainer.process import hydra_value, run_logged
from madrl.trainer.progress import progress_of


def finetune(
    model: Path,
    train_file: Path,
    work_dir: Path,
    *,
    config_name: str,
    steps: int,
    save_every: int,
    seed: int,
    overrides: Mapping[str, object] | None = None,
) -> Path:
    """Finetune ``model`` on ``train_file`` (a ``messages`` column) for ``steps`` steps.

    Logs, metrics and checkpoints go to ``work_dir``; ``config_name`` is one of our SFT configs, and
    ``overrides`` are keys of it. Returns the folder of
    the finished Hugging Face model. Raises MadrlError when veRL fails or stops early.
    """
    work_dir = work_dir.absolute()
    checkpoints = work_dir / "checkpoints"
    arguments: Mapping[str, object] = {
        "model.path": model.absolute(),
        "data.train_files": train_file.absolute(),
        "trainer.default_local_dir": checkpoints,
        "trainer.total_training_steps": steps,
        "trainer.save_freq": save_every,
        "trainer.seed": seed,
        "trainer.experiment_name": work_dir.name,
        "engine.seed": seed,
        "hydra.run.dir": work_dir / "hydra",
        **(overrides or {}),
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command += ["-m", "verl.trainer.sft_trainer", "--config-path", str(CONFIG_DIR), "--config-name", config_name]
    # Hydra takes overrides only behind its own options.
    command += ["hydra.output_subdir=null", *(f"{key}={hydra_value(value)}" for key, value in arguments.items())]
    metrics = work_dir / "metrics.jsonl"
    with progress_of(metrics, steps) as show:
        run_logged(command, work_dir / "sft.log", {"VERL_FILE_LOGGER_PATH": str(metrics)}, cpu=True, on_poll=show)
    finished = checkpoints / f"global_step_{steps}" / "huggingface"
    if not (finished / "config.json").exists():
        raise MadrlError(f"veRL's SFT trainer ended without a model at step {steps}: see {work_dir / 'sft.log'}")
    return finished
