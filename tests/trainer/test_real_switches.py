"""The real trainer with what docs/verl_settings.md calls supported beyond the defaults, and with a target that changes,
in one run of two steps."""

import json

import numpy as np
import pytest
from real_runs import GROUP, PROMPTS, Trainings

from madrl.files import read_jsonl
from madrl.frequency import category_indices
from madrl.reward import score_group
from madrl.run_folder import RunFolder

pytestmark = [pytest.mark.verl, pytest.mark.slow, pytest.mark.nightly]

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
    "madrl.target=uniform",
    "madrl.target_schedule=[{step: 0, target: {rank_1: 1}}, {step: 4, target: uniform}]",
    "trainer.total_training_steps=2",
    "trainer.save_freq=2",
    "trainer.test_freq=2",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return Trainings(tmp_path_factory.mktemp("switches")).run("switches", *SWITCHES)


def test_a_run_takes_verl_s_other_losses_estimators_and_corrections_together(run: RunFolder) -> None:
    history = run.history()
    assert [step for step in history if step] == [1, 2]
    for step in (1, 2):
        metrics = history[step]
        assert metrics["actor/reward_kl_penalty_coeff"] > 0  # the KL penalty in the reward
        assert any(key.startswith("rollout_corr/rollout_is") for key in metrics)
        assert any(key.startswith("rollout_corr/rollout_rs") for key in metrics)
        assert abs(metrics["mad/jsd"]) < 1


def test_a_scheduled_target_moves_with_the_steps_in_the_dumps_and_validation_has_the_last(run: RunFolder) -> None:
    settings = run.settings()
    np.testing.assert_array_equal(settings.target, np.full(5, 0.2))
    # A quarter and a half of the way from (1, 0, 0, 0, 0) to a fifth each.
    for step, first in ((1, 0.8), (2, 0.6)):
        records = read_jsonl(run.scores / f"{step}.jsonl")
        (target,) = {record["target"] for record in records}
        assert list(json.loads(target).values()) == pytest.approx([first, *[(1 - first) / 4] * 4])
        assert run.history()[step]["mad/target/rank_1"] == pytest.approx(first)
        group = [record for record in records if record["group"] == records[0]["group"]]
        assert len(group) <= GROUP
        indices = category_indices([r["category"] for r in group], settings.categories)
        expected = score_group(indices, [r["correct"] for r in group], settings.target_at(step), settings.reward)
        assert [r["reward"] for r in group] == pytest.approx(expected.reward.tolist(), abs=1e-5)
    assert all("target" not in record for record in read_jsonl(run.validation / "2.jsonl"))
