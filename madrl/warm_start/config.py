"""The warm start's config: composed with Hydra from config/warm_start, a task and a profile, and checked once; and
whether a warm start that is there is of the same one."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

import madrl
from madrl.errors import MadrlError
from madrl.files import check_same, leaves
from madrl.grading.grader import GraderSpec
from madrl.recipe import GPUS_KEY, NOT_DECIDING
from madrl.settings import ARGUMENTS
from madrl.targets import check_categories, resolve_target
from madrl.task_config import check_own_keys, replacing_mappings, told, with_task

CONFIG_DIR = Path(madrl.__file__).parent / "config"

WHOLE_NUMBERS = (
    "prompt_tokens", "response_tokens", "per_category", "rows_per_round", "samples_per_row", "epochs", "checkpoints",
    "selection_samples", "tensor_model_parallel_size",
)  # fmt: skip

UNREAD = ("size", "madrl.attributes")
"""Nodes of the config that nothing here reads: the sizes of all profiles, of which those of a warm start are in
``warm_start``, and what is steered beside the first attribute."""

OF_THE_MAKING = (
    "paths.run", "paths.data", "paths.task", f"sft.{GPUS_KEY}", "sft.trainer.logger", "sft.trainer.project_name",
    "sft.trainer.experiment_name", "sft.data.micro_batch_size_per_gpu", "sft.engine.fsdp_size",
)  # fmt: skip
"""Keys that say nothing of a model that is there: where it, its data and its task's file were, the GPUs that made it,
and how that was logged."""

NAMING_TOKENS = 64
"""Room for the sentence that names a category, and for the chat template's marks."""


@dataclass(frozen=True)
class WarmStart:
    """The checked config (its fields, with comments, are in ``config/warm_start/warm_start.yaml``)."""

    run: Path
    data: Path
    model: str
    seed: int
    grader: GraderSpec
    naming: str
    """How a prompt asks for a category: a key of NAMINGS, or ``pkg.module:name``."""
    prompt_tokens: int
    response_tokens: int
    temperature: float
    chat_template: dict[str, Any]
    """Arguments of the model's chat template, for sampling and finetuning alike."""
    target: NDArray[np.float64]
    """The mix that is learnt, by category, shape (K,)."""
    per_category: int
    rows_per_round: int
    samples_per_row: int
    min_yield: float
    epochs: int
    checkpoints: int
    selection_samples: int
    tensor_model_parallel_size: int
    sft_config: str
    sft: dict[str, Any]
    """Dotted keys of veRL's SFT config, on top of ``sft_config``."""

    @property
    def wanted(self) -> list[str]:
        """The categories with a weight in ``target``."""
        return [name for name, share in zip(self.grader.categories, self.target, strict=True) if share]

    @property
    def selection(self) -> Path:
        """The prompts on which the checkpoint is selected: those of the split ``selection``, or where the data have
        none those of ``validation``."""
        own = self.data / "selection.parquet"
        return own if own.exists() else self.data / "validation.parquet"

    @property
    def asked_tokens(self) -> int:
        """Tokens of the longest prompt with a category's name in it. Training leaves longer prompts out, so the
        finetuning does too. It does not look at the response's length beside, which depends on the category."""
        return self.prompt_tokens + NAMING_TOKENS

    @property
    def max_length(self) -> int:
        """Tokens of prompt and response together that the finetuning takes."""
        return self.asked_tokens + self.response_tokens

    @property
    def batch_size(self) -> int:
        """Responses in one step of the finetuning."""
        return int(self.sft["data.train_batch_size"])

    def steps(self, responses: int) -> tuple[int, int]:
        """Steps of the finetuning on so many responses, and the steps between two checkpoints, which divide them."""
        between = max(1, round(self.epochs * responses / self.batch_size / self.checkpoints))
        return between * self.checkpoints, between


def compose(overrides: Sequence[str]) -> tuple[WarmStart, dict[str, Any]]:
    """The settings that ``overrides`` (Hydra's ``key=value``) describe, and the resolved config that they are from.

    Raises MadrlError for a bad override, a key that does not exist, and a value that is missing or makes no sense.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(CONFIG_DIR / "warm_start"), version_base=None):
            config = hydra_compose("warm_start", overrides=replacing_mappings(with_task(overrides, warm_start=True)))
        check_own_keys(config)
        missing = sorted(OmegaConf.missing_keys(config))
        if missing:
            raise MadrlError(f"{missing[0]} is not set: give it as {missing[0]}=VALUE")
        plain: Any = OmegaConf.to_container(config, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise MadrlError(told(error)) from error
    for key in ("run", "data"):
        plain["paths"][key] = str(Path(plain["paths"][key]).expanduser().absolute())
    return _checked(plain), plain


def check_same_start(run: Path, config: Mapping[str, Any], may_change: Collection[str] = ()) -> None:
    """Raises MadrlError where ``run`` holds a warm start, finished or begun, with another config, other than in the
    dotted keys ``may_change``, in UNREAD and in NOT_DECIDING. One that does not say what made it is taken as it is."""
    from omegaconf import OmegaConf

    if not (run / "config.yaml").exists():
        return
    old: Any = OmegaConf.to_container(OmegaConf.load(run / "config.yaml"))
    new = json.loads(json.dumps(config))  # as a file would hold it
    remedy = "go on with it as it was begun, give this one another folder, or remove that one"
    free = (*may_change, *NOT_DECIDING)
    if (run / "model").exists():
        remedy += f"; a run starts from it as it is with MODEL={run}/model"
        free = (*free, *OF_THE_MAKING, *_defaults_since(old, new))
        if _model_beside(old) == _model_beside(new):
            free = (*free, "paths.model")
    unread = tuple(f"{node}." for node in UNREAD)
    free = (*free, *(key for key in leaves(old) | leaves(new) if f"{key}.".startswith(unread)))
    check_same(old, new, f"{run} holds a warm start with", remedy, free)


def _defaults_since(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Keys of the warm start that the ``old`` config does not have, and that are as by default in the ``new`` one."""
    default = leaves(yaml.safe_load((CONFIG_DIR / "warm_start" / "warm_start.yaml").read_text(encoding="utf-8")))
    before, now = leaves(old), leaves(new)
    return [key for key in now if key.startswith("warm_start.") and key not in before and now[key] == default.get(key)]


def _model_beside(config: Mapping[str, Any]) -> str:
    """The path of the base model from the folder in which the warm start's is: the same where both were moved."""
    model = str(config["paths"]["model"])
    return os.path.relpath(model, Path(config["paths"]["run"]).parent) if Path(model).is_absolute() else model


def _checked(config: Mapping[str, Any]) -> WarmStart:
    node, own = config["warm_start"], config["madrl"]
    if not isinstance(own["categories"], list):
        raise MadrlError(f"madrl.categories={own['categories']!r} is not a list: write madrl.categories=[a,b,c]")
    if own["naming"] is None:
        raise MadrlError(
            f"task {own['task']} has no warm start: no prompt asks for its categories. Say how one does with "
            "madrl.naming, or with naming in a task file"
        )
    elsewhere: dict[str, Any] = {
        "run": Path(config["paths"]["run"]),
        "data": Path(config["paths"]["data"]),
        "model": str(config["paths"]["model"]),
        "seed": config["seed"],
        "naming": own["naming"],
        "grader": GraderSpec(
            str(own["classifier"]),
            str(own["verifier"]),
            check_categories(own["categories"]),
            **{name: own.get(name) or {} for name in ARGUMENTS},
        ),
        "sft": leaves(config["sft"]),
    }
    known = {field.name for field in fields(WarmStart)} - elsewhere.keys()
    unknown = [key for key in node if key not in known]
    if unknown:
        raise MadrlError(f"unknown key warm_start.{unknown[0]}: see madrl/config/warm_start/warm_start.yaml")
    whole = {f"warm_start.{key}": node[key] for key in WHOLE_NUMBERS}
    whole["sft.data.train_batch_size"] = elsewhere["sft"].get("data.train_batch_size")
    for key, value in whole.items():
        if not _is_number(value, int) or value < 1:
            raise MadrlError(f"{key}={value!r} is not a whole number above 0")
    if not _is_number(node["temperature"]) or not node["temperature"] > 0:
        raise MadrlError(f"warm_start.temperature={node['temperature']!r} is not a number above 0")
    if not isinstance(node["chat_template"], Mapping):
        raise MadrlError(
            f"warm_start.chat_template={node['chat_template']!r} is no mapping: write {{enable_thinking: false}}"
        )
    if not _is_number(node["min_yield"]) or not 0.0 <= node["min_yield"] < 1.0:
        raise MadrlError(f"warm_start.min_yield={node['min_yield']!r} is not a number in [0, 1)")
    if not _is_number(config["seed"], int) or config["seed"] < 0:
        raise MadrlError(f"seed={config['seed']!r} is not a whole number")
    target = resolve_target(node["target"], elsewhere["grader"].categories)
    return WarmStart(**elsewhere, **{**node, "target": target})


def _is_number(value: Any, kind: Any = int | float) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
