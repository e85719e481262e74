"""The entropy bonus baseline is veRL's own: what of it the recipes rely on."""

import inspect
import math
from pathlib import Path

import torch
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.utils.losses import ppo_loss

from madrl.trainer.compose import compose


def test_the_bonus_lowers_the_loss_and_is_computed_as_soon_as_it_has_a_coefficient() -> None:
    assert "policy_loss -= entropy_coeff * entropy_loss" in inspect.getsource(ppo_loss)
    assert "actor.entropy_coeff != 0.0" in inspect.getsource(PPOTrainer._update_actor)


def test_the_entropy_is_in_nats() -> None:
    assert entropy_from_logits(torch.zeros(1, 8)).item() == torch.tensor(math.log(8)).item()


def test_no_run_has_a_bonus_unless_it_asks_for_one(tmp_path: Path) -> None:
    run = ["task=gsm8k", "trainer.experiment_name=x", f"paths.run={tmp_path}", "madrl.reward.form=rlvr"]
    assert compose(run).actor_rollout_ref.actor.entropy_coeff == 0
    bonus = [*run, "actor_rollout_ref.actor.entropy_coeff=0.01"]
    assert compose(bonus).actor_rollout_ref.actor.entropy_coeff == 0.01
