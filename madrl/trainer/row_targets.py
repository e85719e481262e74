"""Targets of the prompts' own in a run's data (``extra_info.target``): what of the config they leave no room for."""

from typing import NamedTuple

import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from madrl.errors import MadrlError
from madrl.prompt_targets import PromptTarget, row_target
from madrl.settings import Settings
from madrl.trainer.compose import files_of

NO_LAUNCH_CHECK = "launch check: not made, as prompts have targets of their own"
"""What a run says in place of what the launch check would, which compares a batch with one target."""


class RowTargets(NamedTuple):
    """What the prompts of a run's data have of their own."""

    training: int
    """The number of training prompts with a target of their own."""
    prompts: int
    """The number of training prompts."""
    different: int
    """How many different targets those of the training prompts are."""

    def __str__(self) -> str:
        return (
            f"{self.training} of {self.prompts} training prompts have targets of their own, {self.different} different "
            "ones"
        )


def check_row_targets(config: DictConfig) -> RowTargets:
    """What the prompts have of their own.

    Raises MadrlError beside a schedule, which would be a second answer to the same question, beside hints, which know
    one target, and for a target that the reward's form cannot be trained towards.
    """
    settings = Settings.from_config(OmegaConf.to_container(config.madrl))  # type: ignore[arg-type]
    training, validation = (
        [target for path in files_of(files) for target in targets_in(path, settings.categories)]
        for files in (config.data.train_files, config.data.val_files)
    )
    own = [target for target in (*training, *validation) if target is not None]
    if own and settings.target_schedule is not None:
        raise MadrlError(
            "madrl.target_schedule with prompts that have targets of their own (extra_info.target): leave one out"
        )
    if settings.hints and any(training):
        raise MadrlError(
            f"madrl.hints={settings.hints} with prompts that have targets of their own (extra_info.target): hints ask "
            "for what one target lacks; set madrl.hints=0"
        )
    for target in set(own):
        settings.reward.check_target(target.array)
    return RowTargets(sum(map(bool, training)), len(training), len(set(filter(None, training))))


def targets_in(path: str, categories: tuple[str, ...]) -> list[PromptTarget | None]:
    """The target that each row of a parquet file gives its prompt, None for the run's."""
    rows = pq.read_table(path, columns=["extra_info"]).column("extra_info").to_pylist()
    return [row_target(extra_info, categories) for extra_info in rows]
