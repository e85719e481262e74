"""The run's config: composed from ours and veRL's, and every key checked against the installed veRL.

Hydra merges our yaml into veRL's without asking whether veRL knows the key, and veRL ignores what it does not know, so
a typo or a veRL upgrade would change a run silently. ``compose`` makes both an error.
"""

import contextlib
import dataclasses
import functools
import inspect
import io
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
import verl
from hydra import compose as hydra_compose
from hydra import initialize_config_dir, initialize_config_module
from hydra.errors import HydraException
from hydra.utils import get_class
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import omega_conf_to_dataclass, validate_config

import madrl
from madrl.errors import MadrlError
from madrl.files import leaves
from madrl.grading.classifiers import load_classifier
from madrl.grading.verifiers import COMPUTE_SCORE, load_verifier
from madrl.hints import hinted_sessions
from madrl.hub import check_hub_name
from madrl.process import IN_PROCESS_EXECUTOR
from madrl.prompts import load_naming, names_by_row
from madrl.reward import calibrates
from madrl.settings import Settings
from madrl.task_config import check_own_keys, replacing_mappings, told, with_task
from madrl.tasks import PATH_KEYS
from madrl.trainer.custom_reward import compute_score_of
from madrl.trainer.flash_attention import with_flash_attn
from madrl.trainer.hinted_loop import PLAIN_LOOP
from madrl.trainer.hub_push import PushToHub
from madrl.trainer.ranks import check_split
from madrl.trainer.verl_settings import REPLAY_BUFFERS, SYNC, refusals
from madrl.trainer.vllm_name import find_vllm_under_its_cpu_name

CONFIG_DIR = Path(madrl.__file__).parent / "config"

FILTER_METRICS = ("reward", "correctness", "divergence_reward")
"""What DAPO's group filter can look at: numbers that every response has."""

HINT_TOKENS = 64
"""Room for a hint that only the row can word; a run in which it is too little says so before it starts."""

UNSCHEDULED = "uniform"
"""The target of a run that names none and has no schedule."""

OWN_NODES = ("madrl", "paths", "seed", "size", "hub")
"""Top-level nodes of ours that veRL never reads."""

HUB_CALLBACK = f"{PushToHub.__module__}.{PushToHub.__name__}"


def compose(overrides: Sequence[str]) -> DictConfig:
    """The fully resolved config of one run, checked. ``overrides`` are Hydra's ``key=value``.

    Raises MadrlError for a bad override, a value that is not set, a key veRL does not know, and a value that our
    settings or veRL's own validation reject.
    """
    register_resolvers()
    try:
        with initialize_config_dir(str(CONFIG_DIR), version_base=None):
            config = hydra_compose("train", overrides=replacing_mappings(with_task(overrides)))
        check_own_keys(config)
        missing = [key for node in ("paths", "madrl", "size") for key in sorted(OmegaConf.missing_keys(config[node]))]
        if missing:
            raise MadrlError(f"{missing[0]} is not set: give it as {missing[0]}=VALUE")
        make_absolute(config)
        _check_numbers(config)  # others are computed from them
        OmegaConf.resolve(config)
    except (HydraException, OmegaConfBaseException) as error:
        raise MadrlError(told(error, _known_keys)) from error
    if config.trainer.device == "cpu" and config.model_engine != "dp":
        raise MadrlError(f"model_engine={config.model_engine!r} on a CPU: only dp, which is FSDP2, trains there")
    find_vllm_under_its_cpu_name()  # veRL's check of a LoRA run asks for its version
    check_keys(config, verl_config("ppo_trainer", f"model_engine={config.model_engine}"))
    check_values(config)
    return config


def register_resolvers() -> None:
    """The functions that our config files call, for OmegaConf."""
    OmegaConf.register_new_resolver("sum", lambda *terms: sum(terms), replace=True)
    OmegaConf.register_new_resolver("half", lambda whole: max(1, whole // 2), replace=True)
    OmegaConf.register_new_resolver("share_of", lambda whole, ranks: max(1, whole // ranks), replace=True)
    OmegaConf.register_new_resolver("own_ray", _of_own_ray, replace=True)
    OmegaConf.register_new_resolver("ray_address", lambda: os.environ.get("RAY_ADDRESS") or "local", replace=True)
    OmegaConf.register_new_resolver("hint_tokens", hint_tokens, replace=True)
    OmegaConf.register_new_resolver("calibrates", _calibrates, replace=True)
    OmegaConf.register_new_resolver("final_target", _final_target, replace=True)
    OmegaConf.register_new_resolver("product", lambda *factors: math.prod(factors), replace=True)
    OmegaConf.register_new_resolver("replay_buffer_of", _replay_buffer_of, replace=True)
    OmegaConf.register_new_resolver("cpu_executor", _cpu_executor, replace=True)
    OmegaConf.register_new_resolver("hub_callback", lambda model: model and HUB_CALLBACK, replace=True)
    OmegaConf.register_new_resolver("flash_attn", with_flash_attn, replace=True)


def _calibrates(adv_estimator: str, form: str, attributes: Any) -> bool:
    """Whether a run's rewards are calibrated unless it says otherwise (``madrl.reward.calibrate``)."""
    return adv_estimator == "grpo" and calibrates(form, attributes or ())


def _final_target(schedule: Any) -> Any:
    """The target of a run that names none: the last of its schedule (``madrl.target_schedule``), or uniform."""
    whole = isinstance(schedule, ListConfig) and len(schedule) and isinstance(schedule[-1], DictConfig)
    return schedule[-1].get("target", UNSCHEDULED) if whole else UNSCHEDULED  # Settings has an error for the others


def _replay_buffer_of(mode: str) -> str:
    """The replay buffer of a run in this mode of veRL's trainer; ``check_values`` has an error for other modes."""
    return REPLAY_BUFFERS.get(mode, REPLAY_BUFFERS[SYNC])


def _of_own_ray(address: str | None, value: Any) -> Any:
    """``value`` for a run that starts a Ray of its own, None for one on the cluster at ``address``."""
    return value if address == "local" else None


def _cpu_executor(tensor_parallel: int) -> str:
    """The executor of a vLLM engine on CPUs that has ``tensor_parallel`` workers."""
    return "mp" if tensor_parallel > 1 else IN_PROCESS_EXECUTOR


def hint_tokens(hints: int, naming: str | None, categories: Sequence[str]) -> int:
    """By how many tokens a hinted prompt may be longer than the plain one: the bytes of the longest hint, each of which
    is a token at most, or HINT_TOKENS where it is made of the row's ground truth. 0 in a run without hints, and where
    ``check_values`` has an error for the values."""
    if not hints or naming is None:
        return 0
    if names_by_row(naming):
        return HINT_TOKENS
    ask = load_naming(naming)
    return max((len(str(ask("", category, "")).encode()) for category in categories), default=0)


@functools.cache
def verl_config(name: str = "ppo_trainer", *overrides: str) -> DictConfig:
    """veRL's own config of that name, resolved, which makes comparing with it six times as fast. Not to be changed."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = hydra_compose(name, overrides=list(overrides))
    OmegaConf.resolve(config)
    return config


def files_of(files: Any) -> list[str]:
    """``data.train_files`` or ``data.val_files``, which may be one file or a list."""
    return [files] if isinstance(files, str) else list(files)


def holdout_files(config: DictConfig) -> list[str]:
    """The holdout that is sampled after the training, which not all data have."""
    return [str(path) for path in [Path(config.paths.data) / "holdout.parquet"] if path.exists()]


def make_absolute(config: DictConfig) -> None:
    """Ray workers may run in another folder, so paths are made absolute here, once."""
    for key in ("run", "data"):
        config.paths[key] = str(Path(config.paths[key]).expanduser().absolute())
    for key in PATH_KEYS:
        files = OmegaConf.select(config, key)
        if isinstance(files, str | ListConfig):
            absolute = [_absolute(file) for file in files_of(files)]
            OmegaConf.update(config, key, absolute[0] if isinstance(files, str) else absolute)


def _absolute(file: Any) -> Any:
    """The file's absolute path; a URL, and what names no file, as it is."""
    return str(Path(file).expanduser().absolute()) if isinstance(file, str) and file and "://" not in file else file


WHOLE_NUMBERS = {
    "seed": 0,
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 1,
    "data.train_batch_size": 1,
    "data.max_prompt_length": 1,
    "data.max_response_length": 1,
    "actor_rollout_ref.rollout.n": 1,
    "actor_rollout_ref.rollout.val_kwargs.n": 1,
    "actor_rollout_ref.rollout.agent.num_workers": 1,
    "reward.num_workers": 1,
    "actor_rollout_ref.model.lora_rank": 0,
    "actor_rollout_ref.actor.ppo_epochs": 1,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 1,
    "trainer.total_training_steps": 1,
    "trainer.save_freq": -1,
    "trainer.test_freq": -1,
}
"""Config key -> the least that it may be; each before those whose defaults are computed from it."""

NUMBERS = (
    "actor_rollout_ref.actor.optim.lr",
    "actor_rollout_ref.actor.kl_loss_coef",
    "actor_rollout_ref.actor.entropy_coeff",
)
"""Config keys of numbers of 0 or more."""

TEMPERATURES = ("actor_rollout_ref.rollout.temperature", "actor_rollout_ref.rollout.val_kwargs.temperature")
"""Config keys of numbers above 0: at 0 sampling is greedy, and has no distribution."""


def _check_numbers(config: DictConfig) -> None:
    """Raises MadrlError for a value of WHOLE_NUMBERS, NUMBERS or TEMPERATURES that is none: veRL looks at most of them
    in the middle of a run, if ever."""
    for key, least in WHOLE_NUMBERS.items():
        _check_whole(config, key, least)
    for key in (*NUMBERS, *TEMPERATURES):
        value, positive = OmegaConf.select(config, key), key in TEMPERATURES
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 <= value < math.inf
            or (positive and value == 0)
        ):
            raise MadrlError(f"{key}={value!r} is not a number {'above 0' if positive else 'of 0 or more'}")


def _known_keys() -> list[str]:
    """The keys of a run's config before any override."""
    with initialize_config_dir(str(CONFIG_DIR), version_base=None):
        return list(leaves(OmegaConf.to_container(hydra_compose("train", overrides=with_task(["task=gsm8k"])))))


def check_keys(config: DictConfig, reference: DictConfig) -> None:
    """Every key outside OWN_NODES stands in ``reference``, which is veRL's own config, in the dataclass that veRL
    builds from the node, or in a node that veRL leaves free; MadrlError otherwise."""
    for key, node in config.items():
        if key not in OWN_NODES:
            _check_node(str(key), node, reference.get(key), known=key in reference)


def _check_node(path: str, node: Any, reference: Any, known: bool) -> None:
    """Compare one node of a config with ``reference``, the same node of veRL's own; ``known`` is whether there is one.

    Raises MadrlError for a key below it that the installed veRL does not know, and a value where it has a mapping.
    """
    if isinstance(reference, DictConfig) and reference and not isinstance(node, DictConfig):
        raise MadrlError(f"{path}={node!r} is not a mapping: set one of {sorted(map(str, reference))} under it")
    if not known:
        raise MadrlError(
            f"veRL {verl.__version__} does not know the config key {path!r}: see the files in madrl/config"
        )
    if not isinstance(node, DictConfig):
        return
    allowed = _allowed_keys(path, node, reference)
    for key in node:
        if allowed is not None:
            child = reference.get(key) if isinstance(reference, DictConfig) and key in reference else None
            _check_node(f"{path}.{key!s}", node._get_node(key), child, known=str(key) in allowed)


def _allowed_keys(path: str, node: DictConfig, reference: Any) -> set[str] | None:
    """The keys that veRL reads under ``path``; None where it leaves the node free."""
    if path == "ray_kwargs.ray_init.runtime_env":
        return None  # Ray's own, of which veRL's config names one key
    if path == "ray_kwargs.ray_init":
        return set(inspect.signature(ray.init).parameters) | {"timeline_json_file"}
    if path == "reward.custom_reward_function":
        return {"path", "name", "reward_kwargs"}  # veRL reads the last one, and has no default for it
    if not isinstance(reference, DictConfig) or not reference:
        return None
    allowed = {str(key) for key in reference}
    target = reference.get("_target_")
    if target:
        allowed |= {field.name for field in dataclasses.fields(get_class(str(target)))}
    return allowed


def check_values(config: DictConfig) -> None:
    """Our settings, the traps that veRL lets pass, and veRL's own validation; MadrlError for what they reject."""
    settings = Settings.from_config(OmegaConf.to_container(config.madrl))  # type: ignore[arg-type]
    load_classifier(settings.classifier, settings.classifier_args, settings.categories)
    for one in settings.attributes.values():
        load_classifier(one.classifier, one.classifier_args, one.categories)
    _check_verifier(config, settings)
    if settings.naming is not None:
        load_naming(settings.naming)
    if "file" not in config.trainer.logger:
        raise MadrlError(
            f"trainer.logger={list(config.trainer.logger)}: keep 'file' in it, progress is read from there"
        )
    refused = next(refusals(config), None)
    if refused is not None:
        raise MadrlError(refused)
    _check_group_filter(config)
    check_split(config)
    if settings.hints:
        _check_hints(config, settings)
    _check_hub(config)
    for key in ("custom_reward_function", "reward_model", "sandbox_fusion"):
        if config.get(key) not in (None, verl_config()[key]):
            raise MadrlError(f"{key} is a legacy key that veRL's trainer ignores: use the reward.* keys")
    try:
        with open_dict(config), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
            validate_config(config, need_reference_policy(config), need_critic(config))
        for node in (config.actor_rollout_ref.rollout, config.algorithm):
            omega_conf_to_dataclass(node)
    except (AssertionError, ValueError, TypeError, HydraException) as error:
        raise MadrlError(f"veRL rejects the config: {' '.join(str(error).split())}") from error


def _check_group_filter(config: DictConfig) -> None:
    """DAPO's dynamic sampling and what else makes veRL generate prompts one by one; MadrlError for what would fail
    in the middle of a run, or be overridden without a word."""
    groups_filter, batch_size = config.algorithm.filter_groups, config.data.train_batch_size
    if groups_filter.enable:
        if groups_filter.metric not in FILTER_METRICS:
            raise MadrlError(f"algorithm.filter_groups.metric={groups_filter.metric!r} is not one of {FILTER_METRICS}")
        _check_whole(config, "algorithm.filter_groups.max_inflight_gen_batches", 1)
        _check_whole(config, "algorithm.filter_groups.max_num_gen_batches", 0)
    size = config.data.get("gen_batch_size")
    one_by_one = groups_filter.enable or config.trainer.v1.sampler.sync_refill_failed_groups
    if one_by_one and size not in (None, 1):
        raise MadrlError(
            f"data.gen_batch_size={size}: algorithm.filter_groups and sync_refill_failed_groups fetch the prompts one "
            "by one: leave it out"
        )
    if size is not None and (not isinstance(size, int) or size < 1 or batch_size % size):
        raise MadrlError(
            f"data.gen_batch_size={size!r} does not divide data.train_batch_size={batch_size}: leave it out"
        )


def _check_hints(config: DictConfig, settings: Settings) -> None:
    """What a run with hints cannot have; MadrlError for what would fail in the middle of it, or train on numbers that
    are not the trainer's."""
    rollout, hints = config.actor_rollout_ref.rollout, f"madrl.hints={settings.hints}"
    if not hinted_sessions(settings.hints, rollout.n):
        raise MadrlError(
            f"{hints} in groups of actor_rollout_ref.rollout.n={rollout.n}: half of a group or more would be hinted, "
            "which leaves too few responses to count; set a smaller number, or a larger group"
        )
    if rollout.agent.default_agent_loop != PLAIN_LOOP:
        raise MadrlError(
            f"{hints} with actor_rollout_ref.rollout.agent.default_agent_loop={rollout.agent.default_agent_loop}: only "
            f"{PLAIN_LOOP} can be hinted; set madrl.hints=0"
        )
    if rollout.calculate_log_probs and rollout.temperature != 1.0:
        raise MadrlError(
            f"{hints} with actor_rollout_ref.rollout.temperature={rollout.temperature}: the engine gives the log "
            "probabilities of a plain prompt with a hinted response at temperature 1 only; set that, or "
            "actor_rollout_ref.rollout.calculate_log_probs=false, without bypass_mode and rollout correction"
        )
    if rollout.enable_rollout_routing_replay:
        raise MadrlError(
            f"{hints} with actor_rollout_ref.rollout.enable_rollout_routing_replay=true: the experts that are replayed "
            "would be those of the hinted prompt; set one of the two to 0 or false"
        )
    needed = rollout.prompt_length + rollout.response_length
    if rollout.max_model_len is not None and rollout.max_model_len < needed:
        raise MadrlError(
            f"actor_rollout_ref.rollout.max_model_len={rollout.max_model_len} with {hints}: a hinted prompt and its "
            f"response take up to {needed} tokens; set that"
        )


def _check_hub(config: DictConfig) -> None:
    """That the checkpoints can be pushed to the hub, if they are to be; MadrlError otherwise."""
    hub, trainer, actor = config.hub, config.trainer, config.actor_rollout_ref.actor
    unknown = [key for key in hub if key not in ("model_id", "private")]
    if unknown:
        raise MadrlError(f"unknown key hub.{unknown[0]}: the keys are model_id and private")
    if not isinstance(hub.private, bool):
        raise MadrlError(f"hub.private={hub.private!r} is not true or false")
    if hub.model_id is None:
        return
    wanted = f"hub.model_id={hub.model_id}"
    check_hub_name(str(hub.model_id))
    if trainer.save_freq < 1 or "hf_model" not in actor.checkpoint.save_contents:
        raise MadrlError(
            f"{wanted}: no checkpoint with a Hugging Face model is written; set trainer.save_freq above 0, with "
            "hf_model in actor_rollout_ref.actor.checkpoint.save_contents"
        )
    if config.actor_rollout_ref.model.lora_rank:
        raise MadrlError(
            f"{wanted} with actor_rollout_ref.model.lora_rank={config.actor_rollout_ref.model.lora_rank}: veRL's "
            f"checkpoint is not merged; push it after the run, with `madrl card RUN --push {hub.model_id}`"
        )
    callback = trainer.checkpoint_callback_class
    if callback is None or not issubclass(get_class(callback), PushToHub):
        raise MadrlError(
            f"{wanted} with trainer.checkpoint_callback_class={callback}: veRL calls one class; derive yours from "
            f"{HUB_CALLBACK}, or leave one of the two out"
        )


def _check_whole(config: DictConfig, key: str, least: int) -> None:
    value = OmegaConf.select(config, key)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise MadrlError(f"{key}={value!r} is not a whole number of {least} or more")


def _check_verifier(config: DictConfig, settings: Settings) -> None:
    """That there is such a verifier, and that ``reward.custom_reward_function`` is set for COMPUTE_SCORE alone: without
    it veRL hands over its own default scorer, and with another verifier nobody calls it."""
    function, verifier = config.reward.custom_reward_function, settings.verifier
    if verifier == COMPUTE_SCORE and not function.path:
        raise MadrlError(
            f"madrl.verifier={verifier} needs your function: set reward.custom_reward_function.path=FILE (and .name)"
        )
    if verifier != COMPUTE_SCORE and function.path:
        raise MadrlError(
            f"reward.custom_reward_function.path={function.path} would not be called with madrl.verifier={verifier}: "
            f"set madrl.verifier={COMPUTE_SCORE}, or leave the path out"
        )
    load_verifier(verifier, compute_score_of(config), settings.verifier_args, settings.categories)
