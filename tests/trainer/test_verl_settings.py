"""veRL's switches that a run cannot have, and what those that it can have do to a group's advantages and its loss."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import DictConfig, OmegaConf
from verl.protocol import DataProto
from verl.trainer.ppo.core_algos import (
    ADV_ESTIMATOR_REGISTRY,
    POLICY_LOSS_REGISTRY,
    get_policy_loss_fn,
)
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils.config import omega_conf_to_dataclass

from madrl.errors import MadrlError
from madrl.reward import RewardConfig, score_group
from madrl.targets import uniform
from madrl.trainer.compose import compose
from madrl.trainer.verl_settings import REFUSED_ESTIMATORS, REFUSED_LOSSES, RULES, refusals

RUN = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
MODEL = "actor_rollout_ref.model"
ROLLOUT, ACTOR, CORRECTION = "actor_rollout_ref.rollout", "actor_rollout_ref.actor", "algorithm.rollout_correction"


@pytest.fixture(scope="module")
def composed() -> DictConfig:
    """Without calibration, which has a rule of its own about two of the settings that are tried below."""
    return compose([*RUN, "madrl.reward.calibrate=false"])


def changed(config: DictConfig, settings: dict[str, Any]) -> DictConfig:
    copy = config.copy()
    OmegaConf.set_struct(copy, False)
    for key, value in settings.items():
        OmegaConf.update(copy, key, value)
    return copy


def test_a_run_with_the_defaults_has_nothing_that_is_refused() -> None:
    assert list(refusals(compose(RUN))) == []


@pytest.mark.parametrize("key", [rule.key for rule in RULES])
def test_any_other_value_of_a_key_with_a_rule_is_refused_by_name(composed: DictConfig, key: str) -> None:
    others: dict[type, Any] = {bool: not OmegaConf.select(composed, key), int: 7, float: 0.7, str: "other"}
    other = others.get(type(OmegaConf.select(composed, key)), "other")
    (refusal,) = refusals(changed(composed, {key: other}))
    assert refusal.startswith(f"{key}={other!r}: ")


@pytest.mark.parametrize("key", [rule.key for rule in RULES])
def test_a_key_with_a_rule_is_one_that_verl_knows(composed: DictConfig, key: str) -> None:
    absent = object()
    if OmegaConf.select(composed, key, default=absent) is absent:  # then a user can only add it
        current = next(rule.allowed[0] for rule in RULES if rule.key == key)
        compose([*RUN, f"+{key}={'null' if current is None else current}"])


TOGETHER: list[tuple[dict[str, Any], str]] = [
    ({"algorithm.adv_estimator": "grpo_vectorized", "algorithm.norm_adv_by_std_in_grpo": False}, "does not pass it"),
    ({"madrl.reward.calibrate": True, "algorithm.adv_estimator": "rloo"}, "its offsets are for adv_estimator=grpo"),
    ({"algorithm.adv_estimator": "mine"}, "veRL has no such estimator; use one of"),
    ({"algorithm.gamma": 0.9}, "only reinforce_plus_plus reads it"),
    ({f"{ACTOR}.policy_loss.loss_mode": "sapo"}, "always averages by seq-mean-token-mean"),
    ({f"{ACTOR}.clip_ratio": 0.3}, "clip_ratio_low=0.2 and clip_ratio_high=0.2; set those"),
    ({f"{ACTOR}.clip_ratio": 0.3, f"{ACTOR}.clip_ratio_high": 0.3}, "clip_ratio_low=0.2 and clip_ratio_high=0.3"),
    ({f"{ACTOR}.ppo_mini_batch_size": 12}, "train_batch_size=16 is no multiple of it"),
    ({f"{ACTOR}.ppo_mini_batch_size": 32}, "train_batch_size=16 is no multiple of it"),
    ({f"{CORRECTION}.bypass_mode": True, f"{CORRECTION}.loss_type": "reinforce"}, "loss_type='reinforce'"),
    ({f"{CORRECTION}.bypass_mode": True, f"{CORRECTION}.rollout_is": "token"}, "rollout_is='token'"),
    ({f"{CORRECTION}.bypass_mode": True, f"{CORRECTION}.rollout_rs": "token_k1"}, "rollout_rs='token_k1'"),
    ({f"{CORRECTION}.rollout_is": "token", f"{ROLLOUT}.calculate_log_probs": False}, "calculate_log_probs=False"),
    ({f"{CORRECTION}.bypass_mode": True, f"{ROLLOUT}.calculate_log_probs": False}, "calculate_log_probs=False"),
    ({f"{ROLLOUT}.n": 1}, "a group of one response"),
    ({f"{ROLLOUT}.multi_turn.enable": True}, "default_agent_loop=tool_agent"),
    ({f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.layered_summon": True}, "load_format=safetensors, or leave layered_"),
    ({f"{ROLLOUT}.agent.agent_loop_manager_class": None}, "agent_loop_manager_class=None: without madrl's plug-in"),
    ({"trainer.v1.sampler.custom_sampler.path": None}, "custom_sampler.path=None: without madrl's plug-in"),
    ({"trainer.default_local_dir": "/elsewhere"}, "set paths.run"),
    ({"trainer.validation_data_dir": None}, "set paths.run"),
    ({"trainer.rollout_data_dir": "/elsewhere"}, "set paths.run"),
]


@pytest.mark.parametrize(("settings", "reason"), TOGETHER, ids=[" ".join(map(str, s)) for s, _ in TOGETHER])
def test_values_that_contradict_each_other_are_refused(
    composed: DictConfig, settings: dict[str, Any], reason: str
) -> None:
    (refusal,) = refusals(changed(composed, settings))
    assert reason in refusal
    assert "\n" not in refusal


ACCEPTED: list[dict[str, Any]] = [
    {"algorithm.norm_adv_by_std_in_grpo": False},
    {"algorithm.adv_estimator": "reinforce_plus_plus", "algorithm.gamma": 0.99},
    {f"{ACTOR}.clip_ratio_low": 0.2, f"{ACTOR}.clip_ratio_high": 0.28},
    {f"{ACTOR}.clip_ratio": 0.3, f"{ACTOR}.clip_ratio_low": 0.3, f"{ACTOR}.clip_ratio_high": 0.3},
    {f"{ACTOR}.ppo_mini_batch_size": 4, f"{ACTOR}.ppo_epochs": 2},
    {f"{ACTOR}.policy_loss.loss_mode": "sapo", f"{ACTOR}.loss_agg_mode": "seq-mean-token-mean"},
    {f"{CORRECTION}.rollout_is": "sequence", f"{CORRECTION}.rollout_rs": "token_k1"},
    {"algorithm.use_kl_in_reward": True, "algorithm.kl_ctrl.type": "adaptive"},
    {f"{ROLLOUT}.name": "sglang"},
    {f"{ROLLOUT}.multi_turn.enable": True, f"{ROLLOUT}.agent.default_agent_loop": "tool_agent"},
    {f"{MODEL}.lora_rank": 8},
    {f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.layered_summon": True, f"{ROLLOUT}.load_format": "safetensors"},
    {f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.layered_summon": True, f"{MODEL}.lora.merge": True},
    {f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.layered_summon": True, f"{ROLLOUT}.load_format": None},
    {"trainer.rollout_data_dir": None},
    {f"{ROLLOUT}.agent.agent_loop_manager_class": "mine.DerivedManager"},
]


@pytest.mark.parametrize("settings", ACCEPTED, ids=[" ".join(s) for s in ACCEPTED])
def test_a_supported_setting_is_not_refused(composed: DictConfig, settings: dict[str, Any]) -> None:
    assert list(refusals(changed(composed, settings))) == []


@pytest.mark.parametrize(
    "overrides",
    [
        ["reward.reward_model.enable=true"],
        ["trainer.critic_warmup=10"],
        ["actor_rollout_ref.actor.grad_clip=0.5"],
        ["algorithm.adv_estimator=remax"],
        ["+actor_rollout_ref.rollout.repetition_penalty=1.2"],
    ],
    ids=" ".join,
)
def test_what_is_refused_stops_a_dry_run(overrides: list[str]) -> None:
    with pytest.raises(MadrlError, match=overrides[0].lstrip("+").partition("=")[0]):
        compose(RUN + overrides)


SUPPORTED_ESTIMATORS = sorted(set(map(str, ADV_ESTIMATOR_REGISTRY)) - set(REFUSED_ESTIMATORS))


def test_every_estimator_of_verl_is_either_supported_or_refused() -> None:
    assert set(REFUSED_ESTIMATORS) <= set(ADV_ESTIMATOR_REGISTRY)
    assert SUPPORTED_ESTIMATORS == [
        "gpg",
        "grpo",
        "grpo_vectorized",
        "opo",
        "reinforce_plus_plus",
        "reinforce_plus_plus_baseline",
        "rloo",
        "rloo_vectorized",
    ]


def rewards_of(categories: list[int]) -> np.ndarray[Any, Any]:
    config = RewardConfig(divergence="l2", form="additive", alpha=0.0)
    return score_group(np.array(categories), [None] * len(categories), uniform(2), config).reward


def advantages(config: DictConfig, estimator: str, groups: list[list[int]]) -> list[list[float]]:
    """Each group's advantages with veRL's v1 trainer, one token a response, rewarded for the uniform target."""
    rewards = torch.tensor(np.concatenate([rewards_of(group) for group in groups]), dtype=torch.float32)[:, None]
    uids = [f"prompt{g}" for g, group in enumerate(groups) for _ in group]
    sessions = [s for group in groups for s, _ in enumerate(group)]
    data = DataProto.from_dict(
        tensors={"token_level_rewards": rewards, "response_mask": torch.ones_like(rewards)},
        non_tensors={"uid": np.array(uids, dtype=object)},
    )
    algorithm = config.algorithm
    compute_advantage_for_multi_trajectories(
        data,
        batch_keys=[f"{uid}_{session}_0" for uid, session in zip(uids, sessions, strict=True)],
        adv_estimator=estimator,
        gamma=algorithm.gamma,
        lam=algorithm.lam,
        norm_adv_by_std_in_grpo=algorithm.norm_adv_by_std_in_grpo,
        config=algorithm,
    )
    flat = iter(data.batch["advantages"][:, 0].tolist())
    return [[next(flat) for _ in group] for group in groups]


@pytest.mark.parametrize("estimator", SUPPORTED_ESTIMATORS)
def test_a_supported_estimator_prefers_the_category_that_is_too_rare(composed: DictConfig, estimator: str) -> None:
    # q = (3/4, 1/4) against (1/2, 1/2): r = p* - q = -1/4 for the first three, +1/4 for the last.
    common, *_, rare = advantages(composed, estimator, [[0, 0, 0, 1], [1, 1, 1, 0]])[0]
    assert rare > 0 > common


@pytest.mark.parametrize("estimator", SUPPORTED_ESTIMATORS)
def test_a_group_of_equal_rewards_moves_nothing_under_estimators_with_a_group_baseline(
    composed: DictConfig, estimator: str
) -> None:
    # Responses of one length: reinforce_plus_plus_baseline subtracts the batch's mean per token as well, which is zero
    # then, and otherwise small.
    _, collapsed = advantages(composed, estimator, [[0, 0, 0, 1], [0, 0, 0, 0]])
    if estimator == "reinforce_plus_plus":
        # The only baseline is the batch's mean, -5/16: a group in one category (r = 1/2 - 1) is pushed away from it.
        # Squared deviations: 3 (1/16)^2 + (9/16)^2 + 4 (3/16)^2 = 15/32, over 7: std 0.2588; -3/16 / 0.2588 = -0.7246.
        assert collapsed == pytest.approx([-0.7246] * 4, abs=1e-4)
    else:
        assert collapsed == pytest.approx([0.0] * 4, abs=1e-6)


def test_dr_grpo_leaves_the_size_of_the_reward_in_the_advantage(composed: DictConfig) -> None:
    config = changed(composed, {"algorithm.norm_adv_by_std_in_grpo": False})
    # r = (-1/4, -1/4, -1/4, 1/4) with mean -1/8.
    assert advantages(config, "grpo", [[0, 0, 0, 1]])[0] == pytest.approx([-0.125, -0.125, -0.125, 0.375])


LOSSES = sorted(set(POLICY_LOSS_REGISTRY) - set(REFUSED_LOSSES))


def test_every_policy_loss_of_verl_is_either_supported_or_refused() -> None:
    assert set(REFUSED_LOSSES) <= set(POLICY_LOSS_REGISTRY)
    assert {"vanilla", "gspo", "cispo", "sapo"} <= set(LOSSES)


@pytest.mark.parametrize("mode", LOSSES)
def test_a_supported_policy_loss_raises_what_has_a_positive_advantage(composed: DictConfig, mode: str) -> None:
    settings = {f"{ACTOR}.policy_loss.loss_mode": mode, f"{ACTOR}.policy_loss.dro_beta": 0.1}
    if mode == "sapo":
        settings[f"{ACTOR}.loss_agg_mode"] = "seq-mean-token-mean"
    config = changed(composed, settings)
    assert list(refusals(config)) == []
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    generator = torch.Generator().manual_seed(0)
    old = -torch.rand(4, 1000, generator=generator) - 0.1
    new = old.clone().requires_grad_()
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None].expand(4, 1000)
    loss, _ = get_policy_loss_fn(mode)(
        old_log_prob=old,
        log_prob=new,
        advantages=signs,
        response_mask=torch.ones(4, 1000, dtype=torch.bool),
        loss_agg_mode=actor.loss_agg_mode,
        config=actor,
    )
    loss.backward()
    assert new.grad is not None
    # clip_cov and kl_cov leave a few tokens out, which is why it is the sum of each response's gradient that counts.
    assert torch.equal(torch.sign(-new.grad.sum(dim=1)), signs[:, 0])


def test_the_loss_counts_every_token_the_same_whatever_verl_s_default_becomes(composed: DictConfig) -> None:
    text = (Path(__file__).parents[2] / "madrl" / "config" / "train.yaml").read_text(encoding="utf-8")
    assert OmegaConf.select(OmegaConf.create(text), f"{ACTOR}.loss_agg_mode") == "token-mean"
    assert composed.actor_rollout_ref.actor.loss_agg_mode == "token-mean"
