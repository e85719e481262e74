"""A recipe as data: which run of which task, under which profile, from which model; and what follows from that.

Covers names, folders and Hydra overrides. ``madrl.run`` turns a recipe into stages and runs them; a grid
declares many.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

import madrl
from madrl.errors import MadrlError
from madrl.files import check_model, leaves
from madrl.process import hydra_value
from madrl.tasks import CPU_PROFILES, Task, check_profile, load_task

CONFIG_DIR = Path(madrl.__file__).parent / "config"

WARM_START = "warm_start"

WARM_START_SEED = 42
"""The warm start is made once for a task, whatever the seeds of the runs that start from it."""

SMALL_MODEL = "smollm2-135m-instruct"
"""The folder of the small profile's model, among the models."""

BASE = "base"
"""The word of MODEL= for the model before any warm start."""

NOT_OVERRIDES = {
    "task": "name the task in the command",
    "madrl.target": "name the target in the command (madrl run TASK '{a: 2, b: 1}' DIVERGENCE with NAME=...)",
    "madrl.reward.divergence": "name the divergence in the command",
    "paths.model": "set MODEL=",
    "paths.run": "set OUT= and NAME=",
    "paths.data": "set OUT=, below which the data are",
    "trainer.experiment_name": "set NAME=",
}
"""Config keys that a recipe sets itself, in places that have to agree; and what to do in place of an override."""

NOT_PRESET = NOT_OVERRIDES | {
    "paths.data": "set data in the task file",
    "seed": "set SEED=",
    "profile": "set PROFILE=",
    "madrl.profile": "set PROFILE=",
    "madrl.task": "set name in the task file",
    "madrl.categories": "set categories in the task file",
}
"""Config keys that a recipe sets itself, whatever a task file's ``config`` says; and what to do in place of that."""

FORM_KEYS = {
    "form": "madrl.reward.form",
    "alpha": "madrl.reward.alpha",
    "lambda_g": "madrl.reward.lambda_g",
    "entropy": "actor_rollout_ref.actor.entropy_coeff",
}
"""What a recipe may set of the reward, by the names of its fields -> the config key."""

NOT_DECIDING = (
    "ray_kwargs",
    "madrl.launch_check",
    "trainer.v1.sampler.sampler_kwargs.madrl.launch_check",
    "madrl.max_idle_s",
    "trainer.v1.sampler.sampler_kwargs.madrl.max_idle_s",
    "trainer.logger",
    "trainer.project_name",
    "trainer.experiment_name",
    "trainer.save_freq",
    "trainer.max_actor_ckpt_to_keep",
    "trainer.checkpoint_callback_class",
    "warm_start.tensor_model_parallel_size",
    "hub",
)
"""Config keys that change nothing about what a run measures."""

CELL_KEYS = (
    "task",
    "profile",
    "seed",
    "madrl.target",
    "madrl.reward.divergence",
    "madrl.reward.form",
    "madrl.reward.alpha",
    "paths.run",
    "paths.data",
    "trainer.experiment_name",
)
"""Config keys in which the runs of a grid differ by design: their values are in the names of the runs."""

GPUS_KEY = "trainer.n_gpus_per_node"
"""The config key of the GPUs that a run takes of each node, in veRL's trainer and in its SFT trainer."""

SPLIT_KEY = "actor_rollout_ref.rollout.tensor_model_parallel_size"
"""The config key of the GPUs that the model is split over while it is sampled."""

TEMPLATE_KEY = "data.apply_chat_template_kwargs"
"""The config key of the arguments of the model's chat template."""

ENTROPY_TOKENS = "${flash_attn:8192,${actor_rollout_ref.rollout.max_model_len}}"
"""Tokens of a micro-batch on GPUs with an entropy bonus, whose gradient holds three more tensors as large as the
logits: half of what the profile takes where flash-attn is. Where it is not, and a micro-batch is padded to its longest
response, as few as hold one response."""


@dataclass(frozen=True)
class Recipe:
    """What decides a recipe. An empty string stands for the task's or the profile's own value."""

    task: str
    """A key of TASKS, or the path of a task file."""
    target: str = ""
    """Empty in a recipe that only makes the warm start; otherwise uniform, peak, or weights as {category: weight}, in
    Hydra's form or in JSON."""
    divergence: str = ""
    profile: str = "gpu"
    seed: int = 42
    form: str = ""
    alpha: str = ""
    lambda_g: str = ""
    entropy: str = ""
    model: str = ""
    """A folder, a name on the hub, or BASE."""
    dataset: str = ""
    ray_address: str = ""
    nodes: str = ""
    wandb: bool = False
    out: Path = field(default_factory=lambda: Path("outputs").absolute())
    name: str = ""
    """The run's folder in ``out``; empty: after everything else."""
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_profile(self.profile)
        if self.profile == "small" and self.record.not_small:
            raise MadrlError(f"PROFILE=small: {self.record.not_small}; use gpu, or tiny for its miniature")
        if self.is_warm_start and not self.record.has_warm_start:
            raise MadrlError(f"{self.task} has no warm start: no prompt asks for its categories (naming)")
        if self.ray_address and not self.nodes:
            raise MadrlError("RAY_ADDRESS needs NNODES, the number of nodes to train on")
        if self.nodes not in ("", "1") and not self.ray_address:
            raise MadrlError(
                f"NNODES={self.nodes} without a Ray cluster would train on this machine alone: set RAY_ADDRESS to the "
                "cluster's head, HEAD:6379, or leave NNODES out"
            )
        if "{" in self.target and not self.name:
            raise MadrlError(f"a run with a target of its own ({self.target}) is named by you: set NAME=")
        has_base = self.record.has_warm_start and not self.record.is_synthetic
        if self.profile == "tiny" and (self.model == BASE or (self.is_warm_start and not self.model)) and not has_base:
            raise MadrlError(f"the tiny profile has no base model of {self.task}: leave MODEL unset, or name a folder")
        if self.profile == "tiny" and self.model in ("", BASE) and self.record.file and not self.record.miniature:
            raise MadrlError(f"{self.task} has no miniature model to start from: set MODEL=, or miniature in that file")
        for preset, value in leaves(self.record.config).items():
            for key, remedy in NOT_PRESET.items():
                if f"{preset}.".startswith(f"{key}."):
                    raise MadrlError(f"{self.task}: config.{preset}={value!r} has no effect on a recipe: {remedy}")
        own = {
            key: f"leave it out, or {name.upper()}={value}"
            for name, key in FORM_KEYS.items()
            if (value := getattr(self, name))
        }
        for override in self.overrides:
            for key, remedy in (NOT_OVERRIDES | own).items():
                if sets(override, key):
                    of = "" if override.partition("=")[0].lstrip("+~") == key else f" (it sets {key})"
                    raise MadrlError(f"{override} is no override of a recipe{of}: {remedy}")

    @cached_property
    def record(self) -> Task:
        """The task itself."""
        return load_task(self.task)

    @property
    def on_cpu(self) -> bool:
        """Whether its profile trains on CPU cores."""
        return self.profile in CPU_PROFILES

    @property
    def is_warm_start(self) -> bool:
        return not self.target

    @property
    def runs_programs(self) -> bool:
        """Whether its responses are programs that a sandbox judges."""
        return replace(self.record, verifier=self._override("madrl.verifier") or self.record.verifier).runs_programs

    def _override(self, key: str) -> str:
        """The value that ``overrides`` give to a config key; empty where they give none."""
        values = [
            value for name, _, value in (text.partition("=") for text in self.overrides) if name.lstrip("+") == key
        ]
        return values[-1] if values else ""

    @property
    def run_name(self) -> str:
        """The name of the run's folder. A form or weight that is left to the task is not in it."""
        if self.name:
            return self.name
        entropy = [f"entropy{self.entropy}"] if self.entropy else []
        if self.is_warm_start:
            parts = [WARM_START]
        elif self.form == "rlvr":
            parts = entropy or ["rlvr"]
        else:
            parts = ["gapo"] if self.form == "gapo" else [self.target, self.divergence]
            parts += [self.form] if self.form not in ("", "gapo") else []
            parts += [f"alpha{self.alpha}"] if self.alpha else []
            parts += [f"lambda{self.lambda_g}"] if self.lambda_g and self.form != "gapo" else []
            parts += entropy
        return "_".join([self.record.name, *parts, self.profile, f"seed{self.seed}"])

    @property
    def run(self) -> Path:
        """The run's folder."""
        return self.out / self.run_name

    @property
    def data(self) -> Path:
        """The folder of the task's parquet files, which all seeds share."""
        generated = "_miniature" if self.profile == "tiny" and self.record.miniature_script else ""
        return self.record.data or self.out / "data" / f"{self.task}{generated}"

    @property
    def takes_dataset(self) -> bool:
        """Whether its data are made from a published dataset."""
        return self.profile != "tiny" and bool(self.record.miniature_script)

    @property
    def warm_start(self) -> "Recipe":
        """The recipe of the warm start that this one's training starts from when no model is named: on as many GPUs,
        split over as many of them, with the same arguments of the chat template (the task's own, ``task_node``)."""
        gpus, split = self._override(GPUS_KEY), self._override(SPLIT_KEY)
        template = [
            word for word in self.overrides if f"{word.lstrip('+').partition('=')[0]}.".startswith(f"{TEMPLATE_KEY}.")
        ]
        return Recipe(
            self.task,
            profile=self.profile,
            seed=WARM_START_SEED,
            dataset=self.dataset,
            out=self.out,
            overrides=(
                *((f"++sft.{GPUS_KEY}={gpus}",) if gpus else ()),
                *((f"++warm_start.tensor_model_parallel_size={split}",) if split else ()),
                *(f"++warm_start.chat_template{word.lstrip('+').removeprefix(TEMPLATE_KEY)}" for word in template),
            ),
        )

    @property
    def starts_from_warm_start(self) -> bool:
        """Whether the training takes the task's warm start: where the task says so, unless a model is named."""
        takes_it = self.record.has_warm_start and self.profile in self.record.warm_started
        return takes_it and not (self.is_warm_start or self.model)

    @property
    def takes_base(self) -> bool:
        """Whether it starts from the model before any warm start."""
        return self.is_warm_start or self.model == BASE

    @property
    def miniature(self) -> Path | None:
        """The folder of the miniature model that the recipe builds to start from; None when it builds none."""
        if self.profile != "tiny" or self.model not in ("", BASE):
            return None
        return self.out / "models" / (f"{self.record.name}_base" if self.takes_base else self.record.name)

    @property
    def small_model(self) -> Path | None:
        """The folder of the pretrained model that the small profile starts from; None when the recipe takes another."""
        if self.profile != "small" or self.model not in ("", BASE):
            return None
        return self.out / "models" / SMALL_MODEL

    @property
    def initial_model(self) -> str:
        """The model that training (or the warm start's finetuning) starts from: a folder, or a name on the hub."""
        if self.miniature is not None:
            return str(self.miniature / "model")
        if self.starts_from_warm_start:
            return str(self.warm_start.run / "model")
        if self.small_model is not None:
            return str(self.small_model)
        if self.model in ("", BASE):
            return base_model(self.profile)
        return self.model

    def hydra_overrides(self) -> list[str]:
        """What ``madrl train`` gets, or ``madrl warm-start`` in a recipe of a warm start."""
        paths = {"run": self.run, "data": self.data, "model": self.initial_model}
        found = [f"task={hydra_value(self.record.spec)}", f"profile={self.profile}", f"seed={self.seed}"]
        found += [f"paths.{name}={hydra_value(path)}" for name, path in paths.items()]
        if self.is_warm_start:
            return [*found, *self.overrides]
        found += [f"madrl.target={self.target}", f"madrl.reward.divergence={self.divergence}"]
        found += [f"trainer.experiment_name={hydra_value(self.run_name)}"]
        found += [f"{key}={value}" for name, key in FORM_KEYS.items() if (value := getattr(self, name))]
        if self.entropy and self.profile == "gpu":
            found.append(f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu={hydra_value(ENTROPY_TOKENS)}")
        if self.profile == "tiny" and self.record.is_synthetic:
            # This miniature knows nothing but the topics it was finetuned on, so it is evaluated on those.
            found.append(f"data.val_files={hydra_value(self.data / 'train_probe.parquet')}")
        if self.ray_address:
            found += [f"++ray_kwargs.ray_init.address={hydra_value(self.ray_address)}", f"trainer.nnodes={self.nodes}"]
        if self.wandb:
            found.append("trainer.logger=[console,tensorboard,file,wandb]")
        return [*found, *self.overrides]


def sets(override: str, key: str) -> bool:
    """Whether an override sets a config key: by its name, or with a whole mapping that holds it."""
    own = override.partition("=")[0].lstrip("+~")
    return f"{key}.".startswith(f"{own}.")


def base_model(profile: str) -> str:
    """The profile's model before any warm start."""
    text = (CONFIG_DIR / "profile" / f"{profile}.yaml").read_text(encoding="utf-8")
    return str(yaml.safe_load(text)["paths"]["model"])


def recipe_of(words: Sequence[str], variables: Mapping[str, str]) -> Recipe:
    """The recipe that the command's ``words`` and the environment's ``variables`` describe (madrl.run's docstring).

    ``profile=`` and ``seed=`` among the words stand for their variables. Raises MadrlError for what does not exist.
    """
    overrides = [word for word in words if ("=" in word and not word.startswith("{")) or word.startswith("~")]
    named = [word for word in words if word not in overrides]
    if not (len(named) == 3 or (len(named) == 2 and named[1] == WARM_START)):
        raise MadrlError(f"{' '.join(words)!r} names no recipe: write TASK TARGET DIVERGENCE, or TASK {WARM_START}")
    if behind := [word for word in overrides if word.partition("=")[0].isupper()]:
        raise MadrlError(f"{behind[0]!r} is no key=value of a config: write a variable before the command")
    target, divergence = ("", "") if named[1] == WARM_START else named[1:]
    own = {"profile": variables.get("PROFILE") or "gpu", "seed": variables.get("SEED") or "42"}
    for override in [word for word in overrides if word.partition("=")[0].lstrip("+") in own]:
        key, _, value = override.partition("=")
        own[key.lstrip("+")] = value
        overrides.remove(override)
    if not own["seed"].isdecimal():
        raise MadrlError(f"SEED={own['seed']!r} is not a whole number")
    model = variables.get("MODEL", "")
    check_model(model)
    form: dict[str, Any] = {name: variables.get(name.upper(), "") for name in ("form", "alpha", "lambda_g", "entropy")}
    recipe = Recipe(
        task=load_task(named[0]).spec,
        target=target,
        divergence=divergence,
        profile=own["profile"],
        seed=int(own["seed"]),
        **({} if named[1] == WARM_START else form),
        model=str(Path(model).absolute()) if model not in ("", BASE) and Path(model).is_dir() else model,
        out=Path(variables.get("OUT") or "outputs").absolute(),
        name=variables.get("NAME", ""),
        overrides=tuple(overrides),
    )
    recipe = with_environment(recipe, variables)
    _check_used(recipe)
    return recipe


FORMS_WITH = {"alpha": ("additive", "gapo"), "lambda_g": ("gated",)}
"""Weight -> the forms that it is part of."""


def _check_used(recipe: Recipe) -> None:
    """Raises MadrlError for a variable that makes no sense, and for one that would change nothing but the name."""
    if recipe.entropy:
        try:
            sound = 0 <= float(recipe.entropy) < math.inf
        except ValueError:
            sound = False
        if not sound:
            raise MadrlError(f"ENTROPY={recipe.entropy!r} is not a number of 0 or more")
    preset = leaves(recipe.record.config).get(FORM_KEYS["form"], "additive")
    form = recipe.form or recipe._override("madrl.reward.form") or preset
    for name, forms in FORMS_WITH.items():
        if (weight := getattr(recipe, name)) and form not in forms:
            raise MadrlError(f"{name.upper()}={weight} with the form {form}, which has no {name}: leave it out")
    if recipe.dataset and not recipe.takes_dataset:
        why = "a miniature's problems are made" if recipe.profile == "tiny" else "its prompts are not a dataset's"
        raise MadrlError(f"DATASET={recipe.dataset} with {recipe.record.name}, {recipe.profile}: {why}; leave it out")


def with_environment(recipe: Recipe, variables: Mapping[str, str] | None = None) -> Recipe:
    """``recipe`` with those of ``madrl run``'s variables (None: the process's own) that say where it runs and not what
    comes out."""
    variables = os.environ if variables is None else variables
    return replace(
        recipe,
        dataset=variables.get("DATASET", ""),
        ray_address=variables.get("RAY_ADDRESS", ""),
        nodes=variables.get("NNODES", ""),
        wandb=switched_on("WANDB", variables),
    )


OFF, ON = ("", "0", "false", "no", "off"), ("1", "true", "yes", "on")
"""What a variable may say that is a switch, in capitals or not."""


def switched_on(name: str, variables: Mapping[str, str]) -> bool:
    """Whether the variable ``name`` is on. Raises MadrlError when it says neither that nor the contrary."""
    word = variables.get(name, "").lower()
    if word not in (*OFF, *ON):
        raise MadrlError(f"{name}={variables[name]!r} is neither on nor off: set it to 1, or leave it out")
    return word in ON
