"""The real trainer with what docs/verl_settings.md calls supported beyond the defaults, in one run of two steps."""

from pathlib import Path

import pytest
from test_real_trainer import GROUP, PROMPTS, Trainings

pytestmark = [pytest.mark.verl, pytest.mark.slow]

ACTOR, CORRECTION = "actor_rollout_ref.actor", "algorithm.rollout_correction"
SWITCHES = (
    "algorithm.adv_estimator=rloo",
    "algorithm.use_kl_in_reward=true",
    "algorithm.kl_ctrl.type=adaptive",
    f"{CORRECTION}.rollout_is=token",
    f"{CORRECTION}.rollout_rs=seq_mean_k1",
    f"{CORRECTION}.rollout_rs_threshold=0.5_2.0",
    f"{ACTOR}.policy_loss.loss_mode=gspo",
    f"{ACTOR}.loss_agg_mode=seq-mean-token-mean",
    f"{ACTOR}.clip_ratio_high=0.28",
    f"{ACTOR}.ppo_epochs=2",
    # Two mini-batches of two prompts each.
    f"{ACTOR}.ppo_mini_batch_size={PROMPTS // 2}",
    f"{ACTOR}.ppo_micro_batch_size_per_gpu={PROMPTS // 2 * GROUP}",
    "trainer.total_training_steps=2",
    "trainer.save_freq=2",
    "trainer.test_freq=2",
)


def test_a_run_takes_verl_s_other_losses_estimators_and_corrections_together(tmp_path: Path) -> None:
    history = Trainings(tmp_path).run("switches", *SWITCHES).history()
    assert [step for step in history if step] == [1, 2]
    for step in (1, 2):
        metrics = history[step]
        assert metrics["actor/reward_kl_penalty_coeff"] > 0  # the KL penalty in the reward
        assert any(key.startswith("rollout_corr/rollout_is") for key in metrics)
        assert any(key.startswith("rollout_corr/rollout_rs") for key in metrics)
        assert abs(metrics["mad/jsd"]) < 1
