"""The real trainer with hints: a run of two steps, which goes on to a third from its checkpoint."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from test_real_trainer import GROUP, PROMPTS, Trainings

from madrl.files import read_jsonl
from madrl.frequency import category_indices
from madrl.hints import ShareMean
from madrl.records import from_verl_key
from madrl.reward import score_group
from madrl.run_folder import RunFolder

pytestmark = [pytest.mark.verl, pytest.mark.slow]

OPTIONS = (
    "madrl.hints=2",  # one, in groups of four
    "madrl.naming=plugins_under_test:ask_for_rank",
    "madrl.classifier=plugins_under_test:classify_without_the_last",
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=madrl.trainer.group_loop.GroupAgentLoopManager",
    "trainer.v1.sampler.custom_sampler.path=pkg://plugins_under_test",
    "trainer.v1.sampler.custom_sampler.name=WatchedBuffer",
    "trainer.save_freq=2",
)
STEPS = (1, 2, 3)
HINTED = GROUP - 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    trainings = Trainings(tmp_path_factory.mktemp("hinted"))
    trainings.run("hinted", *OPTIONS, "trainer.total_training_steps=2")
    return trainings.run("hinted", *OPTIONS, "trainer.total_training_steps=3")


def scores(run: RunFolder, step: int) -> list[dict[str, Any]]:
    return read_jsonl(run.scores / f"{step}.jsonl")


def test_the_last_session_of_each_group_is_asked_for_the_missing_category_from_the_second_step_on(
    run: RunFolder,
) -> None:
    for step in STEPS:
        asked = {(r["session"], r["hinted"]) for r in scores(run, step)}
        hint = None if step == 1 else "rank_5"
        assert asked == {*((session, None) for session in range(GROUP - 1)), (HINTED, hint)}
        assert run.history()[step]["mad/hinted_rate"] == (0.0 if step == 1 else 1 / GROUP)
        assert run.history()[step].get("mad/hint_hit_rate") == (None if step == 1 else 0.0)  # nobody gives rank_5


def test_validation_is_not_hinted(run: RunFolder) -> None:
    records = read_jsonl(run.validation / "0.jsonl") + read_jsonl(run.validation / "3.jsonl")
    assert records
    assert all("hinted" not in record and "Choose rank_5" not in record["input"] for record in records)


def test_a_hinted_response_is_trained_under_the_prompt_of_its_siblings(run: RunFolder) -> None:
    prompts = defaultdict(set)
    for record in read_jsonl(run.root / "trained_on.jsonl"):
        prompts[from_verl_key(record["key"]).group].add(tuple(record["prompts"]))
    assert len(prompts) == PROMPTS * len(STEPS)
    assert all(len(tokens) == 1 for tokens in prompts.values())
    dumped = [record["input"] for step in STEPS for record in read_jsonl(run.rollouts / f"{step}.jsonl")]
    assert len(dumped) == PROMPTS * GROUP * len(STEPS)
    assert not [text for text in dumped if "Choose" in text and "rank_5" in text]


def test_its_log_probabilities_are_those_that_the_trainer_finds_under_the_plain_prompt(run: RunFolder) -> None:
    off = {False: 0.0, True: 0.0}
    for record in read_jsonl(run.root / "trained_on.jsonl"):
        difference = np.subtract(record["rollout_log_probs"], record["old_log_probs"])
        hinted = from_verl_key(record["key"]).session == HINTED
        off[hinted] = max(off[hinted], float(np.abs(difference).max()))
    assert max(off.values()) < 1e-4, "float32 on both sides"


def test_the_group_is_rewarded_and_measured_by_the_responses_that_were_not_hinted(run: RunFolder) -> None:
    settings = run.settings()
    for step in STEPS:
        groups = defaultdict(list)
        for record in scores(run, step):
            groups[record["group"]].append(record)
        for group in groups.values():
            indices = category_indices([r["category"] for r in group], settings.categories)
            marks = np.array([r["hinted"] is not None for r in group])
            expected = score_group(indices, [r["correct"] for r in group], settings.target, settings.reward, marks)
            assert [r["reward"] for r in group] == pytest.approx(expected.reward.tolist(), abs=1e-5)
        own = [r["category"] for r in scores(run, step) if r["hinted"] is None and r["category"] is not None]
        for name in settings.categories:
            assert run.history()[step][f"mad/share/{name}"] == pytest.approx(own.count(name) / len(own))


def test_a_run_that_goes_on_knows_what_lacked_before(run: RunFolder) -> None:
    attempts = json.loads(run.facts.read_text())["attempts"]
    assert [attempt["from_step"] for attempt in attempts] == [0, 2]
    mean = ShareMean(run.settings(), run)
    for step in STEPS:
        found = mean.before(step + 1).mean
        told = [run.history()[step][f"mad/share_mean/{name}"] for name in run.settings().categories]
        assert told == pytest.approx(found)
