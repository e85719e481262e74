"""Supervised finetuning with veRL's own SFT trainer (FSDP2), as child processes that resume where they were stopped."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from madrl.errors import MadrlError
from madrl.files import write_text
from madrl.process import hydra_value, run_logged
from madrl.run_folder import last_checkpoint
from madrl.task_config import told
from madrl.trainer.compose import CONFIG_DIR, check_keys, register_resolvers, verl_config
from madrl.trainer.progress import progress_of

CONFIG = Path("sft.yaml")
"""The file in a finetuning's folder with the config that veRL's trainer reads, in which nothing is left to resolve."""


@dataclass(frozen=True)
class Finetuning:
    """One finetuning, which decides everything in its folder."""

    model: str | Path
    """A folder, or a name on the Hugging Face hub."""
    train_file: Path
    """A parquet file with a ``messages`` column."""
    work_dir: Path
    """Logs, metrics and checkpoints go there."""
    config_name: str
    """One of our SFT configs."""
    steps: int
    save_every: int
    seed: int
    overrides: Mapping[str, object] = field(default_factory=dict)
    """Dotted keys of veRL's SFT config."""

    def arguments(self) -> dict[str, object]:
        """Dotted keys of veRL's SFT config, on top of ``config_name``."""
        return {
            "model.path": Path(self.model).absolute() if Path(self.model).is_dir() else str(self.model),
            "data.train_files": self.train_file.absolute(),
            "trainer.default_local_dir": self.work_dir.absolute() / "checkpoints",
            "trainer.total_training_steps": self.steps,
            "trainer.save_freq": self.save_every,
            "trainer.seed": self.seed,
            "trainer.experiment_name": self.work_dir.name,
            "engine.seed": self.seed,
            **self.overrides,
        }

    def config(self) -> DictConfig:
        """The config as veRL's trainer will see it: resolved, every key known to the installed veRL. Raises MadrlError
        otherwise."""
        arguments = [f"{key}={hydra_value(value)}" for key, value in self.arguments().items()]
        register_resolvers()
        try:
            with initialize_config_dir(str(CONFIG_DIR), version_base=None):
                config = hydra_compose(self.config_name, overrides=arguments)
            OmegaConf.resolve(config)
            missing = sorted(OmegaConf.missing_keys(config))
        except (HydraException, OmegaConfBaseException) as error:
            raise MadrlError(f"SFT config {self.config_name}: {told(error)}") from error
        if missing:
            raise MadrlError(f"SFT config {self.config_name}: {missing[0]} is not set")
        check_keys(config, verl_config("sft_trainer_engine"))
        return config


def finetune(wanted: Finetuning) -> Path:
    """Finetune; returns the folder of the finished Hugging Face model. One that is finished already is not trained
    again. Raises MadrlError for a key that veRL does not know, and when veRL fails or stops early."""
    work_dir = wanted.work_dir.absolute()
    if wanted.steps not in checkpoints(work_dir):
        _run(wanted, work_dir)
    finished = checkpoints(work_dir)
    if wanted.steps not in finished:
        raise MadrlError(f"veRL's SFT trainer ended without a model at step {wanted.steps}: see {work_dir / 'sft.log'}")
    return finished[wanted.steps]


def _run(wanted: Finetuning, work_dir: Path) -> None:
    config = wanted.config()
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc_per_node={config.trainer.n_gpus_per_node}"]
    command += ["-m", "verl.trainer.sft_trainer", "--config-path", str(work_dir), "--config-name", CONFIG.stem]
    # Hydra takes overrides only behind its own options.
    command += ["hydra.output_subdir=null", f"hydra.run.dir={hydra_value(work_dir / 'hydra')}"]
    work_dir.mkdir(parents=True, exist_ok=True)
    write_text(work_dir / CONFIG, OmegaConf.to_yaml(config))
    metrics = work_dir / "metrics.jsonl"
    metrics.unlink(missing_ok=True)  # of an attempt that was killed: veRL would begin it anew while it is being read
    cpu = config.trainer.device == "cpu"
    with progress_of(metrics, wanted.steps, max(checkpoints(work_dir), default=0)) as show:
        run_logged(command, work_dir / "sft.log", {"VERL_FILE_LOGGER_PATH": str(metrics)}, cpu=cpu, on_poll=show)


def checkpoints(work_dir: Path) -> dict[int, Path]:
    """Step -> folder of its Hugging Face model, of every complete checkpoint in ``work_dir``, in the steps' order."""
    folder = work_dir / "checkpoints"
    complete = last_checkpoint(folder)
    found = {int(path.name.rpartition("_")[2]): path / "huggingface" for path in folder.glob("global_step_*")}
    return {step: found[step] for step in sorted(found) if step <= complete and (found[step] / "config.json").exists()}
