"""veRL's switches that change rewards, sampling, advantages or batches: which of their values a run can have here.

docs/verl_settings.md has the whole walk through veRL's config, with what is supported and what is only documented. This
module is the part of it that refuses: a value that the v1 trainer or our plug-ins would ignore, or that contradicts a
reward which is computed for whole groups. Values that veRL itself rejects are not its business.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf
from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY

from madrl.run_folder import RunFolder

SEED_PARAMETER = {"vllm": "seed", "sglang": "sampling_seed"}
"""Rollout engine -> its name for a request's sampling seed. These are the engines that a run can have.

SGLang reads its own under deterministic inference only: engine_kwargs.sglang.enable_deterministic_inference=true.
"""


SYNC = "sync"
REPLAY_BUFFERS = {SYNC: "MadReplayBuffer", "colocate_async": "MadReplayBufferAsync"}
"""veRL's trainer mode -> the replay buffer that a run has in it. These are the modes that a run can have.

veRL takes any other name for an asynchronous one.
"""

NO_SEPARATE_ASYNC = (
    "it samples on devices of its own (actor_rollout_ref.rollout.n_gpus_per_node above 0), and sends them the weights "
    "by a checkpoint_engine.backend other than 'naive'. No CPU has either, and it has not been run with madrl "
    f"(docs/verl_settings.md, Trainer modes): use one of {list(REPLAY_BUFFERS)}"
)


class Rule(NamedTuple):
    """One config key and the values that it may have."""

    key: str
    allowed: tuple[Any, ...]
    reason: str
    """What any other value would do, and what to set in its place; continues "KEY=VALUE: "."""


_NOT_READ = "veRL's v1 trainer does not read it"
_NO_CRITIC = "a critic predicts what one response earns; here that depends on its siblings"
_SCORES_GROUPS = "without madrl's plug-in responses are scored one by one; a class of your own derives from it"

RULES: tuple[Rule, ...] = (
    Rule("trainer.use_v1", (True,), "group rewards need veRL's v1 trainer; the old one ignores the plug-ins"),
    Rule("actor_rollout_ref.hybrid_engine", (True,), "only veRL's separate_async trainer can run without"),
    Rule("reward.reward_manager.source", ("importlib",), _SCORES_GROUPS),
    # Rewards.
    Rule(
        "reward.reward_model.enable",
        (False,),
        "veRL's reward workers would then ask the reward model for one response's score in place of scoring the group; "
        "call a model from a madrl.verifier of your own instead",
    ),
    Rule(
        "reward.reward_model.enable_resource_pool",
        (False,),
        "it takes GPUs for a reward model, which a run has none of (see reward.reward_model.enable)",
    ),
    Rule(
        "reward.sandbox_fusion.url",
        (None,),
        "only veRL's own scorers ask it; programs are graded by the services in MADRL_SANDBOX_URLS",
    ),
    Rule("distillation.enabled", (False,), "a teacher's loss is not supported beside a group reward"),
    # Sampling.
    Rule(
        "actor_rollout_ref.rollout.name",
        tuple(SEED_PARAMETER),
        f"the engines whose seeded requests madrl knows are {', '.join(SEED_PARAMETER)}",
    ),
    Rule(
        "actor_rollout_ref.rollout.full_determinism",
        (False,),
        "it gives every request the same seed, which turns a whole group into one response: leave it off; runs are "
        "seeded per session already",
    ),
    Rule("actor_rollout_ref.rollout.do_sample", (True,), f"{_NOT_READ}: set temperature"),
    Rule("actor_rollout_ref.rollout.val_kwargs.do_sample", (True,), f"{_NOT_READ}: set val_kwargs.temperature"),
    Rule("actor_rollout_ref.rollout.over_sample_rate", (0,), f"{_NOT_READ}: every session of a group counts"),
    Rule(
        "actor_rollout_ref.rollout.repetition_penalty",
        (1.0,),
        f"{_NOT_READ}: it always samples with 1.0, and log probabilities are taken without one",
    ),
    Rule("actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts", (None,), f"{_NOT_READ}: set rollout.n"),
    Rule("skip.rollout.enable", (False,), "a run samples its own responses; this replays recorded ones"),
    Rule("skip.rollout_tq.enable", (False,), "a run samples its own responses; this replays recorded ones"),
    Rule("skip.async_rollout.enable", (False,), "a run samples its own responses; this replays recorded ones"),
    # Data.
    Rule("data.prompt_key", ("prompt",), "rows are checked, and the holdout is sampled, by the column 'prompt'"),
    Rule("data.reward_fn_key", ("data_source",), f"{_NOT_READ}: the column is called data_source"),
    Rule(
        "actor_rollout_ref.model.custom_chat_template",
        (None,),
        "before and after training it is sampled with its folder's own template: write chat_template.jinja there",
    ),
    Rule("data.tokenizer", (None,), f"{_NOT_READ}: set actor_rollout_ref.model.tokenizer_path"),
    Rule(
        "data.truncation",
        ("error",),
        f"{_NOT_READ}: longer prompts are dropped (data.filter_overlong_prompts), or the run does not start",
    ),
    Rule("data.return_raw_chat", (True,), f"{_NOT_READ}: the raw chat always goes along"),
    Rule("data.return_raw_input_ids", (False,), _NOT_READ),
    Rule("data.return_full_prompt", (False,), _NOT_READ),
    # Advantages and the update.
    Rule("critic.enable", (None, False), _NO_CRITIC),
    Rule("trainer.critic_warmup", (0,), "without a critic to warm up, these steps would train nothing"),
    Rule("algorithm.use_pf_ppo", (False,), "veRL applies it with adv_estimator=gae only, which is not supported"),
    Rule("algorithm.lam", (1.0,), "veRL reads it with adv_estimator=gae only, which is not supported"),
    Rule("trainer.balance_batch", (True,), f"{_NOT_READ}: it always balances"),
    Rule("actor_rollout_ref.actor.use_prefix_grouper", (False,), _NOT_READ),
    Rule("actor_rollout_ref.actor.use_rollout_log_probs", (False,), f"{_NOT_READ}: see algorithm.rollout_correction"),
    Rule("actor_rollout_ref.actor.grad_clip", (1.0,), f"{_NOT_READ}: set actor_rollout_ref.actor.optim.clip_grad"),
    Rule(
        "actor_rollout_ref.actor.calculate_sum_pi_squared",
        (False,),
        "only the optimal-token-baseline estimators need it, and veRL's v1 trainer cannot run them",
    ),
    # Resuming, and where a run's files are.
    Rule("trainer.val_only", (False,), "it trains nothing: `madrl holdout RUN` and `madrl generate` sample a model"),
    Rule("trainer.resume_mode", ("auto",), "madrl train resumes a run by itself, from its own checkpoints"),
    Rule("trainer.esi_redundant_time", (0,), _NOT_READ),
    Rule(
        "actor_rollout_ref.actor.checkpoint.async_save",
        (False,),
        "veRL would not mark the checkpoint as complete, so that no run could resume from it",
    ),
)

PLUGINS = (
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class",
    "trainer.v1.sampler.custom_sampler.path",
    "trainer.v1.sampler.custom_sampler.name",
)
"""Keys that name a plug-in of ours, or a class that derives from it, and must name one."""

REFUSED_ESTIMATORS = {
    "gae": _NO_CRITIC,
    "remax": "it needs the reward of a greedy response, which veRL's v1 trainer does not sample",
    "grpo_passk": "it teaches only the best response of a group, by its lead over the second best, which is 0 as soon "
    "as two responses share the rarest category",
    "gdpo": "it needs the parts of the reward by name, and veRL's v1 trainer passes estimators only their sum",
    "optimal_token_baseline": "it needs sum_pi_squared, which veRL's v1 trainer does not pass on",
    "tir_optimal_token_baseline": "it needs sum_pi_squared, which veRL's v1 trainer does not pass on",
}
"""The advantage estimators of veRL that a run cannot have, and why."""

REFUSED_LOSSES = {
    "bypass_mode": "veRL's v1 trainer does not hand algorithm.rollout_correction to it",
    "geo_mean": "it averages over a micro-batch where all others average over the batch, so the step would depend on "
    "how the batch is split",
}
"""The policy losses of veRL (``actor.policy_loss.loss_mode``) that a run cannot have, and why."""

VERL_CLIP_RATIO = 0.2
"""veRL's default of all three clip ratios."""


def refusals(config: DictConfig) -> Iterator[str]:
    """What the run cannot have, one line for each: the key, its value, why, and what to set in its place."""
    absent = object()
    for rule in RULES:
        value = OmegaConf.select(config, rule.key, default=absent)
        if value is not absent and value not in rule.allowed:  # not every engine has every key
            yield f"{rule.key}={value!r}: {rule.reason}"
    for key in PLUGINS:
        if OmegaConf.select(config, key) is None:
            yield f"{key}=None: {_SCORES_GROUPS}"
    yield from _mode_refusals(config)
    yield from _estimator_refusals(config)
    yield from _loss_refusals(config)
    yield from _correction_refusals(config)
    yield from _rollout_refusals(config)
    yield from _folder_refusals(config)


def _mode_refusals(config: DictConfig) -> Iterator[str]:
    v1, hints = config.trainer.v1, config.madrl.hints
    mode = v1.trainer_mode
    if mode == "separate_async":
        yield f"trainer.v1.trainer_mode={mode!r}: {NO_SEPARATE_ASYNC}"
    elif mode not in REPLAY_BUFFERS:
        yield (
            f"trainer.v1.trainer_mode={mode!r} is not one of {list(REPLAY_BUFFERS)}: veRL gives any other name its "
            "asynchronous replay buffer"
        )
    elif mode != SYNC and hints:
        yield (
            f"madrl.hints={hints} with trainer.v1.trainer_mode={mode!r}: which category is asked for follows from the "
            f"step before, which is not known yet when a prompt is sampled ahead; set madrl.hints=0, or {SYNC!r}"
        )


def _estimator_refusals(config: DictConfig) -> Iterator[str]:
    algorithm = config.algorithm
    name = algorithm.adv_estimator
    known = sorted(estimator for estimator in ADV_ESTIMATOR_REGISTRY if estimator not in REFUSED_ESTIMATORS)
    if name in REFUSED_ESTIMATORS:
        yield f"algorithm.adv_estimator={name!r}: {REFUSED_ESTIMATORS[name]}; use one of {known}"
    elif name not in ADV_ESTIMATOR_REGISTRY:
        yield f"algorithm.adv_estimator={name!r}: veRL has no such estimator; use one of {known}"
    if name == "grpo_vectorized" and not algorithm.norm_adv_by_std_in_grpo:
        yield (
            "algorithm.norm_adv_by_std_in_grpo=False: veRL does not pass it to adv_estimator=grpo_vectorized; use "
            "adv_estimator=grpo"
        )
    if config.madrl.reward.calibrate and name != "grpo":
        yield "madrl.reward.calibrate=True: its offsets are for adv_estimator=grpo; set that, or leave it out"
    if algorithm.gamma != 1.0 and name != "reinforce_plus_plus":
        yield f"algorithm.gamma={algorithm.gamma!r}: of the supported estimators only reinforce_plus_plus reads it"


def _loss_refusals(config: DictConfig) -> Iterator[str]:
    actor = config.actor_rollout_ref.actor
    mode = actor.policy_loss.loss_mode
    if mode in REFUSED_LOSSES:
        yield f"actor_rollout_ref.actor.policy_loss.loss_mode={mode!r}: {REFUSED_LOSSES[mode]}"
    if mode == "sapo" and actor.loss_agg_mode != "seq-mean-token-mean":
        yield (
            f"actor_rollout_ref.actor.loss_agg_mode={actor.loss_agg_mode!r}: loss_mode=sapo always averages by "
            "seq-mean-token-mean; set that"
        )
    if actor.clip_ratio != VERL_CLIP_RATIO and {actor.clip_ratio_low, actor.clip_ratio_high} - {actor.clip_ratio, None}:
        yield (
            f"actor_rollout_ref.actor.clip_ratio={actor.clip_ratio!r}: veRL clips by clip_ratio_low="
            f"{actor.clip_ratio_low!r} and clip_ratio_high={actor.clip_ratio_high!r}; set those"
        )
    mini, batch = actor.ppo_mini_batch_size, config.data.train_batch_size
    if batch % mini:
        yield (
            f"actor_rollout_ref.actor.ppo_mini_batch_size={mini}: data.train_batch_size={batch} is no multiple of it, "
            "so veRL would fill the last mini-batch of every step with empty responses"
        )


def _correction_refusals(config: DictConfig) -> Iterator[str]:
    correction = config.algorithm.rollout_correction
    if correction.bypass_mode:
        for key, allowed in (("loss_type", "ppo_clip"), ("rollout_is", None), ("rollout_rs", None)):
            if correction[key] != allowed:
                yield (
                    f"algorithm.rollout_correction.{key}={correction[key]!r}: under bypass_mode=True veRL's v1 trainer "
                    "does not read it; set bypass_mode=False"
                )
    corrected = correction.bypass_mode or correction.rollout_is or correction.rollout_rs
    if corrected and not config.actor_rollout_ref.rollout.calculate_log_probs:
        yield (
            "actor_rollout_ref.rollout.calculate_log_probs=False: algorithm.rollout_correction needs the engine's log "
            "probabilities; set it to True"
        )


def _rollout_refusals(config: DictConfig) -> Iterator[str]:
    rollout = config.actor_rollout_ref.rollout
    if rollout.n < 2:
        yield (
            f"actor_rollout_ref.rollout.n={rollout.n}: a group of one response has nothing to be compared with and "
            "teaches nothing; 16 and 32 are the tasks' group sizes"
        )
    if rollout.multi_turn.enable and rollout.agent.default_agent_loop == "single_turn_agent":
        yield (
            "actor_rollout_ref.rollout.multi_turn.enable=True: veRL's v1 trainer does not read it; choose the loop by "
            "actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent"
        )
    model = config.actor_rollout_ref.model
    adapters = config.model_engine == "dp" and model.lora_rank and not model.lora.get("merge")
    if adapters and rollout.layered_summon and "dummy" in (rollout.load_format or ""):
        yield (
            f"actor_rollout_ref.rollout.layered_summon=True with load_format={rollout.load_format!r}: veRL cannot send "
            "the base weights layer by layer, and ends when it is to; set "
            "actor_rollout_ref.rollout.load_format=safetensors, or leave layered_summon out"
        )
    if config.trainer.device == "cpu" and rollout.enable_chunked_prefill:
        yield (
            "actor_rollout_ref.rollout.enable_chunked_prefill=True on a CPU: vLLM cannot rewind a CPU random generator "
            "and dies on the first half-prefilled prompt; set it to False"
        )


def _folder_refusals(config: DictConfig) -> Iterator[str]:
    run = RunFolder(config.paths.run)
    folders: dict[str, set[str | None]] = {
        "default_local_dir": {str(run.checkpoints)},
        "validation_data_dir": {str(run.validation)},
        "rollout_data_dir": {str(run.rollouts), None},
    }
    for key, allowed in folders.items():
        if config.trainer[key] not in allowed:
            yield f"trainer.{key}={config.trainer[key]!r}: a run's files are looked for in its folder; set paths.run"
