"""The unmodified veRL trainer with vLLM, FSDP2 and Ray on this machine's CPU, with our plug-ins in it.

The runs of ``real_runs``: four steps with hints, two reward workers, two agent workers and a session that raises,
killed with SIGKILL after the checkpoint at step 2, and started again. At night, the same undisturbed, two steps under
DAPO's group filter, and two of veRL's colocate_async trainer, whose checkpoints are pushed to a hub.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hub_server import Hub, hub_server
from real_runs import (
    CHECKPOINT,
    GROUP,
    HINTS,
    PROMPTS,
    PYTHONPATH,
    START_TIMEOUT_S,
    STEPS,
    Trainings,
    groups_at,
    responses_at,
)

from madrl.files import read_jsonl
from madrl.frequency import category_indices
from madrl.report.evaluate import report_run
from madrl.reward import score_group
from madrl.run_folder import RunFolder
from madrl.trainer.sft import Finetuning, finetune

pytestmark = [pytest.mark.verl, pytest.mark.slow]


def test_each_group_was_scored_whole_by_the_group_reward(resumed: RunFolder) -> None:
    settings = resumed.settings()
    for step in range(1, STEPS + 1):
        groups = groups_at(resumed, step)
        assert len(groups) == PROMPTS
        for group in groups.values():
            indices = category_indices([r["category"] for r in group], settings.categories)
            marks = np.array([r["hinted"] is not None for r in group])
            expected = score_group(indices, [r["correct"] for r in group], settings.target, settings.reward, marks)
            assert [r["reward"] for r in group] == pytest.approx(expected.reward.tolist(), abs=1e-5)


def test_verl_s_own_reward_function_graded_every_response_in_training_and_in_validation(resumed: RunFolder) -> None:
    seen = []
    for step in range(1, STEPS + 1):
        for record in (r for group in groups_at(resumed, step).values() for r in group):
            seen.append(record["correct"])
            assert record["verifier_extra"].keys() == {"row", "seen"}
    for record in read_jsonl(resumed.validation / f"{STEPS}.jsonl"):
        seen.append(record["correct"])
        assert json.loads(record["verifier_extra"])["seen"] == len(record["output"])
    assert set(seen) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert len(set(seen)) > 2, "some are correct in part"


def test_a_session_that_raises_costs_its_own_response_and_no_sibling(resumed: RunFolder) -> None:
    sizes = [len(group) for step in range(1, STEPS + 1) for group in groups_at(resumed, step).values()]
    assert set(sizes) == {GROUP - 1, GROUP}, "some prompts lose the session that is told to fail"
    for step in range(1, STEPS + 1):
        lost = 1 - sum(len(g) for g in groups_at(resumed, step).values()) / (PROMPTS * GROUP)
        assert resumed.history()[step]["mad/failed_session_rate"] == pytest.approx(lost)


def test_siblings_are_different_responses(resumed: RunFolder) -> None:
    by_prompt: dict[str, set[str]] = defaultdict(set)
    for (prompt, _), response in responses_at(resumed, 1).items():
        by_prompt[prompt].add(response)
    assert all(len(responses) > 1 for responses in by_prompt.values())


def test_both_reward_workers_graded_responses(trainings: Trainings, resumed: RunFolder) -> None:
    pids = (trainings.folder / "resumed.pids").read_text().split()
    assert len(set(pids)) == 4, "two of each attempt"


def test_the_training_metrics_measure_the_batch_against_the_target(resumed: RunFolder) -> None:
    settings = resumed.settings()
    history = resumed.history()
    assert sorted(step for step in history if "mad/jsd" in history[step]) == list(range(1, STEPS + 1))
    for step in range(1, STEPS + 1):
        metrics = history[step]
        records = [r for group in groups_at(resumed, step).values() for r in group if r["hinted"] is None]
        on_support = [r["category"] for r in records if r["category"] is not None]
        for name in settings.categories:
            assert metrics[f"mad/share/{name}"] == pytest.approx(on_support.count(name) / len(on_support))
        assert metrics["mad/off_support_rate"] == pytest.approx(1 - len(on_support) / len(records))
        assert metrics["mad/ungraded_rate"] == 0.0
        assert 0.0 <= metrics["mad/jsd"] <= 0.694
        assert "mad/single_category_group_rate" in metrics


def test_the_rollout_engine_and_the_trainer_agree_on_the_policy(resumed: RunFolder) -> None:
    """Weights reach vLLM after every step: its probabilities are those of the model that is trained."""
    for step in range(1, STEPS + 1):
        assert resumed.history()[step]["training/rollout_probs_diff_max"] < 1e-3


def test_validation_is_sampled_and_its_dumps_can_be_evaluated(resumed: RunFolder) -> None:
    report = report_run(str(resumed.root))
    rows = report.evaluation["evaluations"]
    assert [(row["step"], row["split"], row["samples"]) for row in rows] == [
        (0, "validation", 16),
        (CHECKPOINT, "validation", 16),
        (STEPS, "validation", 16),
    ]
    assert resumed.figure in report.files
    assert json.loads(resumed.summary.read_text())["after"]["step"] == STEPS


def test_a_run_leaves_its_config_versions_seed_and_commit(resumed: RunFolder) -> None:
    attempt = json.loads(resumed.facts.read_text())["attempts"][-1]
    assert attempt["status"] == "finished"
    assert {"verl", "torch", "ray"} <= attempt["versions"].keys()
    assert "seed: 42" in resumed.config.read_text()
    assert "commit" in (attempt["git"] or {"commit": None})
    assert any(resumed.tensorboard.iterdir())


@pytest.mark.nightly
def test_groups_of_equal_rewards_are_replaced_by_others_and_measured_all_the_same(trainings: Trainings) -> None:
    manager = "madrl.trainer.group_loop.GroupAgentLoopManager"
    run = trainings.run(
        "filtered",
        "algorithm.filter_groups.enable=True",
        "madrl.classifier=plugins_under_test:classify_by_problem",
        # The divergence alone: correctness would tell the responses of a collapsed group apart.
        "madrl.reward.alpha=0.0",
        "madrl.launch_check=warn",
        f"actor_rollout_ref.rollout.agent.agent_loop_manager_class={manager}",
        "trainer.total_training_steps=2",
        "trainer.val_before_train=False",
        "trainer.test_freq=-1",
        "trainer.save_freq=-1",
    )
    rates = []
    for step in (1, 2):
        groups, metrics = groups_at(run, step), run.history()[step]
        dropped = {prompt for prompt, group in groups.items() if all(r["dropped"] for r in group)}
        trained = {r["uid"].rsplit("_", 2)[0] for r in read_jsonl(run.rollouts / f"{step}.jsonl")}
        assert trained == groups.keys() - dropped
        assert len(trained) == PROMPTS
        assert all(len({r["reward"] for r in groups[prompt]}) > 1 for prompt in trained)
        assert metrics["mad/dropped_group_rate"] == len(dropped) / len(groups)
        assert metrics["mad/failed_session_rate"] == 0.0
        assert metrics["mad/single_category_group_rate"] > 0.0
        rates.append(metrics["mad/dropped_group_rate"])
    assert max(rates) > 0.0


@pytest.fixture(scope="module")
def ahead(trainings: Trainings) -> Iterator[tuple[RunFolder, Hub]]:
    """Two steps of veRL's colocate_async trainer, and a hub with their checkpoints."""
    with hub_server() as hub:
        changes = [
            "trainer.v1.trainer_mode=colocate_async",
            "trainer.total_training_steps=2",
            "trainer.val_before_train=False",
            "trainer.test_freq=-1",
            "trainer.save_freq=1",
            "hub.model_id=us/ahead",
        ]
        yield trainings.run("ahead", *changes, HF_ENDPOINT=hub.endpoint, HF_TOKEN="hf_of_mine"), hub


@pytest.mark.nightly
def test_groups_that_are_sampled_ahead_are_trained_whole_and_one_that_failed_is_replaced(
    ahead: tuple[RunFolder, Hub],
) -> None:
    run, _ = ahead
    settings = run.settings()
    for step in (1, 2):
        groups, metrics = groups_at(run, step), run.history()[step]
        dropped = {prompt for prompt, group in groups.items() if all(r["dropped"] for r in group)}
        trained = {r["uid"].rsplit("_", 2)[0] for r in read_jsonl(run.rollouts / f"{step}.jsonl")}
        assert trained == groups.keys() - dropped
        assert len(trained) == PROMPTS
        for group in (groups[prompt] for prompt in trained):
            assert len(group) == GROUP
            indices = category_indices([r["category"] for r in group], settings.categories)
            expected = score_group(indices, [r["correct"] for r in group], settings.target, settings.reward)
            assert [r["reward"] for r in group] == pytest.approx(expected.reward.tolist(), abs=1e-5)
        assert {len(groups[prompt]) for prompt in dropped} <= {GROUP - 1}
        assert metrics["mad/dropped_group_rate"] == pytest.approx(len(dropped) / len(groups))
    assert any(run.history()[step]["mad/dropped_group_rate"] > 0.0 for step in (1, 2))
    # In model versions: under sync it is 0.
    assert run.history()[2]["training/off_policy/trajectory_staleness_worst/max"] >= 1


@pytest.mark.nightly
def test_a_run_that_sampled_ahead_pushed_its_checkpoints_to_the_hub(ahead: tuple[RunFolder, Hub]) -> None:
    run, hub = ahead
    assert "pushing step 1 to us/ahead" in run.log.read_text()
    # The first one's thread is lost where the second step ends before it.
    assert {message for _, message, _ in hub.commits[:-1]} <= {"Step 1 of ahead"}
    name, message, files = hub.commits[-1]
    assert (name, message) == ("us/ahead", "Step 2 of ahead")
    model = {path.name: path.read_bytes() for path in run.model(2).iterdir() if path.is_file()}
    assert "model.safetensors" in model
    card = files.pop("README.md").decode()
    assert files == model
    assert "This is step 2 of 2." in card


def test_the_sft_trainer_finetunes_the_miniature_and_leaves_a_model(trainings: Trainings, tmp_path: Path) -> None:
    import pandas as pd
    from transformers import AutoModelForCausalLM

    turns = [{"role": "user", "content": "Name an ocean."}, {"role": "assistant", "content": "Arctic"}]
    pd.DataFrame({"messages": [turns] * 64}).to_parquet(tmp_path / "sft.parquet")
    wanted = Finetuning(
        trainings.model,
        tmp_path / "sft.parquet",
        tmp_path / "work",
        config_name="miniature_sft",
        steps=4,
        save_every=2,
        seed=1,
        overrides={
            "data.train_batch_size": 32,
            "data.micro_batch_size_per_gpu": 16,
            "data.max_length": 64,
            "optim.lr": 4e-3,
        },
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "metrics.jsonl").write_text('{"step": 1, "data": {}}\n')  # of an attempt that was killed
    finished = finetune(wanted)
    losses = [record["data"]["train/loss"] for record in read_jsonl(tmp_path / "work" / "metrics.jsonl")]
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    assert AutoModelForCausalLM.from_pretrained(finished).config.vocab_size > 0


def test_a_finished_run_is_not_trained_again(trainings: Trainings, resumed: RunFolder) -> None:
    attempts = json.loads(resumed.facts.read_text())["attempts"]
    process = trainings.start("resumed", *HINTS)
    assert process.wait(START_TIMEOUT_S) == 0
    assert json.loads(resumed.facts.read_text())["attempts"] == attempts


@pytest.mark.nightly
def test_a_kill_during_the_last_validation_costs_only_that_validation(
    trainings: Trainings, undisturbed: RunFolder
) -> None:
    """veRL saves the last checkpoint before it validates; what such a kill leaves is put together here."""
    dump = undisturbed.validation / f"{STEPS}.jsonl"
    whole, facts = read_jsonl(dump), json.loads(undisturbed.facts.read_text())
    dump.write_text(dump.read_text()[:50])
    facts["attempts"][-1]["status"] = "running"
    undisturbed.facts.write_text(json.dumps(facts))
    trainings.run("undisturbed", *HINTS)
    assert {(r["input"], r["output"]) for r in read_jsonl(dump)} == {(r["input"], r["output"]) for r in whole}
    assert [a["status"] for a in json.loads(undisturbed.facts.read_text())["attempts"]] == ["killed", "finished"]


def test_the_whole_holdout_is_sampled_with_the_last_checkpoint_and_trains_nothing(
    resumed: RunFolder, trainings: Trainings
) -> None:
    checkpoint = (resumed.checkpoints / "latest_checkpointed_iteration.txt").stat().st_mtime_ns
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "CLASSIFIER_PIDS": os.devnull}
    command = [sys.executable, "-m", "madrl.cli", "holdout", str(resumed.root)]
    subprocess.run(command, env=environment, check=True, timeout=START_TIMEOUT_S)
    samples = read_jsonl(resumed.holdout / f"{STEPS}.jsonl")
    assert {sample["split"] for sample in samples} == {"holdout"}
    problems = pq.read_metadata(trainings.data / "holdout.parquet").num_rows
    assert {sample["correct"] for sample in samples} == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert len(samples) == 2 * problems  # data.val_max_samples limits validation only
    assert (resumed.checkpoints / "latest_checkpointed_iteration.txt").stat().st_mtime_ns == checkpoint


def test_after_a_kill_the_run_goes_on_from_its_checkpoint(resumed: RunFolder) -> None:
    attempts = json.loads(resumed.facts.read_text())["attempts"]
    assert [attempt["from_step"] for attempt in attempts] == [0, CHECKPOINT]
    assert [attempt["status"] for attempt in attempts] == ["killed", "finished"]
    assert [step for step in resumed.history() if step] == list(range(1, STEPS + 1))
    assert resumed.checkpoint_step() == STEPS


@pytest.mark.nightly
def test_a_killed_and_resumed_run_ends_as_the_undisturbed_one(undisturbed: RunFolder, resumed: RunFolder) -> None:
    for step in range(1, STEPS + 1):
        assert responses_at(resumed, step) == responses_at(undisturbed, step), f"the runs part at step {step}"
    last, expected = resumed.history()[STEPS], undisturbed.history()[STEPS]
    assert last["mad/jsd"] == pytest.approx(expected["mad/jsd"])
    assert last["actor/grad_norm"] == pytest.approx(expected["actor/grad_norm"], rel=1e-4)
