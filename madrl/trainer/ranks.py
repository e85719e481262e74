"""How a step's responses are split over the ranks of a run, checked before it starts.

veRL gives each data-parallel rank an equal share of an optimizer step, and cuts that into micro-batches. It notices in
the middle of the first step when either does not come out even, which is after the model is loaded and the first
responses are sampled.
"""

import math
from collections.abc import Iterable

from omegaconf import DictConfig, OmegaConf
from verl.trainer.ppo.utils import need_reference_policy

from madrl.errors import MadrlError

MICRO_BATCHES = {"actor.ppo": "actor.", "ref.log_prob": "ref.log_prob_", "rollout.log_prob": "rollout.log_prob_"}
"""The beginnings of the keys below actor_rollout_ref that set the size of a rank's micro-batch; and of those that say
whether its micro-batches are cut by tokens in place of that."""

SEARCHED = 8
"""So many more nodes, or GPUs a node, are tried for a number that comes out even."""


def check_split(config: DictConfig) -> None:
    """That an optimizer step's responses come out even on the run's ranks. Raises MadrlError otherwise, with the
    nearest values that do."""
    trainer, rollout = config.trainer, config.actor_rollout_ref.rollout
    world = trainer.nnodes * trainer.n_gpus_per_node
    _check_groups(world, _model_parallel(config), "training", f"model_engine={config.model_engine}")
    engine = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    keys = {f"actor_rollout_ref.rollout.{name}": rollout[name] for name in engine}
    _check_groups(world, keys, "rollouts", rollout.name)
    if config.model_engine == "dp" and 0 < config.actor_rollout_ref.actor.fsdp_config.fsdp_size < world:
        key = "actor_rollout_ref.actor.fsdp_config.fsdp_size"
        _check_groups(world, {key: OmegaConf.select(config, key)}, "sharding", "FSDP")
    _check_shares(config)
    _check_micro_batches(config)


def data_parallel_ranks(config: DictConfig) -> int:
    """The ranks that each take a share of an optimizer step's responses; the others split a share's model or tokens."""
    actor, world = config.actor_rollout_ref.actor, config.trainer.nnodes * config.trainer.n_gpus_per_node
    if config.model_engine == "torchtitan":
        return int(actor.torchtitan.data_parallel_shard_size * actor.torchtitan.data_parallel_replicate_size)
    if config.model_engine == "megatron" and actor.megatron.dynamic_context_parallel:
        return 1
    return int(world // math.prod(_model_parallel(config).values()))


def _model_parallel(config: DictConfig) -> dict[str, int]:
    """The keys that make several GPUs of the training engine work on the same responses, with their values."""
    actor = config.actor_rollout_ref.actor
    if config.model_engine == "dp":
        # veRL copies the first, its older name, over the second when it is set.
        old = actor.ulysses_sequence_parallel_size > 1
        key = "ulysses_sequence_parallel_size" if old else "fsdp_config.ulysses_sequence_parallel_size"
        names = [key]
    elif config.model_engine == "veomni":
        names = ["veomni.ulysses_parallel_size"]
    elif config.model_engine == "megatron":
        sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
        names = [f"megatron.{size}" for size in sizes]
    else:
        names = []  # torchtitan is told its data-parallel size itself
    return {f"actor_rollout_ref.actor.{name}": OmegaConf.select(actor, name) for name in names}


def _gpus_of_a_sequence(config: DictConfig) -> int:
    """Over how many GPUs a sequence of the training engine is split (``sp_size`` in veRL)."""
    actor = config.actor_rollout_ref.actor
    if config.model_engine == "megatron":
        return int(actor.megatron.context_parallel_size)
    if config.model_engine == "torchtitan":
        return int(actor.torchtitan.tensor_parallel_size)
    return math.prod(_model_parallel(config).values())


def _check_groups(world: int, keys: dict[str, int], purpose: str, engine: str) -> None:
    size = math.prod(keys.values())
    if world % size:
        named = " x ".join(f"{key}={value}" for key, value in keys.items() if value != 1)
        raise MadrlError(
            f"{named} on {world} GPUs (trainer.nnodes x trainer.n_gpus_per_node): {engine} needs groups of {size} GPUs "
            f"for {purpose}, which do not come out even"
        )


def _check_shares(config: DictConfig) -> None:
    """That the ranks divide an optimizer step, which veRL asserts in the first update."""
    actor, rollout, trainer = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout, config.trainer
    mini, batch, ranks = actor.ppo_mini_batch_size, config.data.train_batch_size, data_parallel_ranks(config)
    step = mini * rollout.n
    if step % ranks == 0:
        return
    prompts = ranks // math.gcd(ranks, rollout.n)
    if mini == batch:  # which it follows, unless it is set
        remedies = [_nearest("data.train_batch_size", mini, range(prompts, mini + prompts + 1, prompts))]
    else:
        sizes = (size for size in range(prompts, batch + 1, prompts) if batch % size == 0)
        remedies = [_nearest("actor_rollout_ref.actor.ppo_mini_batch_size", mini, sizes)]
    if config.model_engine != "torchtitan":
        key, factor = "trainer.n_gpus_per_node", trainer.nnodes
        if trainer.nnodes > 1:
            key, factor = "trainer.nnodes", trainer.n_gpus_per_node
        size, now = math.prod(_model_parallel(config).values()), OmegaConf.select(config, key)
        worlds = {number: factor * number for number in range(1, now + SEARCHED + 1)}
        fit = (number for number, world in worlds.items() if world % size == 0 and step % (world // size) == 0)
        remedies.append(_nearest(key, now, fit))
    raise MadrlError(
        f"{ranks} data-parallel ranks (of trainer.nnodes={trainer.nnodes} x trainer.n_gpus_per_node="
        f"{trainer.n_gpus_per_node} GPUs) do not divide the {step} responses of an optimizer step "
        f"(actor_rollout_ref.actor.ppo_mini_batch_size={mini} x rollout.n={rollout.n}): set "
        + (", or ".join(filter(None, remedies)) or f"both batch sizes to a multiple of {prompts}")
    )


def _nearest(key: str, now: int, values: Iterable[int]) -> str:
    """The nearest of ``values`` below and above ``now``, as what to set ``key`` to; empty where there is none."""
    values = list(values)
    near = [max((value for value in values if value < now), default=None)]
    near.append(min((value for value in values if value > now), default=None))
    found = [str(value) for value in near if value is not None]
    return f"{key} to {' or '.join(found)}" if found else ""


def _check_micro_batches(config: DictConfig) -> None:
    """That micro-batches of a fixed size divide each rank's share of an optimizer step, and that those which are cut by
    tokens hold the longest response with its prompt, which may be split over GPUs."""
    node, ranks = config.actor_rollout_ref, data_parallel_ranks(config)
    step = node.actor.ppo_mini_batch_size * node.rollout.n
    longest, gpus = config.data.max_prompt_length + config.data.max_response_length, _gpus_of_a_sequence(config)
    for name, cut in MICRO_BATCHES.items():
        key = f"{name}_max_token_len_per_gpu"
        tokens = OmegaConf.select(node, key)
        enough = isinstance(tokens, int) and tokens * gpus >= longest
        read = name != "ref.log_prob" or need_reference_policy(config)
        if OmegaConf.select(node, f"{cut}use_dynamic_bsz") and read and not enough:
            raise MadrlError(
                f"actor_rollout_ref.{key}={tokens!r}: a prompt and its response may have {longest} tokens "
                "(data.max_prompt_length + data.max_response_length), and veRL ends at the first that does not fit "
                f"into a micro-batch: set it to {math.ceil(longest / gpus)} at least"
            )
        key = f"{name}_micro_batch_size_per_gpu"
        size = OmegaConf.select(node, key)
        if OmegaConf.select(node, f"{cut}use_dynamic_bsz") or size is None or step % (ranks * size) == 0:
            continue
        raise MadrlError(
            f"actor_rollout_ref.{key}={size} on {ranks} ranks does not divide the {step} responses of an optimizer "
            "step (actor_rollout_ref.actor.ppo_mini_batch_size x rollout.n): change one of them, or the number of "
            "ranks (trainer.nnodes x trainer.n_gpus_per_node)"
        )
