"""The real trainer with hints: what ``resumed`` of ``real_runs`` shows of them."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from real_runs import CHECKPOINT, GROUP, PROMPTS, STEPS

from madrl.files import read_jsonl
from madrl.hints import ShareMean
from madrl.records import from_verl_key
from madrl.run_folder import RunFolder

pytestmark = [pytest.mark.verl, pytest.mark.slow]

EVERY_STEP = range(1, STEPS + 1)
HINTED = GROUP - 1


def scores(run: RunFolder, step: int) -> list[dict[str, Any]]:
    return read_jsonl(run.scores / f"{step}.jsonl")


def trained_on(run: RunFolder) -> list[dict[str, Any]]:
    """What the trainer had of each response. veRL fills a batch that lost sessions up with rows of its own."""
    groups = {record["group"] for step in EVERY_STEP for record in scores(run, step)}
    found = read_jsonl(run.root / "trained_on.jsonl")
    return [record for record in found if from_verl_key(record["key"]).group in groups]


def test_the_last_session_of_each_group_is_asked_for_the_missing_category_from_the_second_step_on(
    resumed: RunFolder,
) -> None:
    for step in EVERY_STEP:
        responses = scores(resumed, step)
        asked = {(r["session"], r["hinted"]) for r in responses}
        hint = None if step == 1 else "rank_5"
        assert asked == {*((session, None) for session in range(GROUP - 1)), (HINTED, hint)}
        assert resumed.history()[step]["mad/hinted_rate"] == (0.0 if step == 1 else PROMPTS / len(responses))
        hits = resumed.history()[step].get("mad/hint_hit_rate")
        assert hits == (None if step == 1 else 0.0), "nobody gives rank_5"


def test_validation_is_not_hinted(resumed: RunFolder) -> None:
    records = read_jsonl(resumed.validation / "0.jsonl") + read_jsonl(resumed.validation / f"{STEPS}.jsonl")
    assert records
    assert all("hinted" not in record and "Choose rank_5" not in record["input"] for record in records)


def test_a_hinted_response_is_trained_under_the_prompt_of_its_siblings(resumed: RunFolder) -> None:
    prompts = defaultdict(set)
    for record in trained_on(resumed):
        prompts[from_verl_key(record["key"]).group].add(tuple(record["prompts"]))
    assert len(prompts) == PROMPTS * STEPS
    assert all(len(tokens) == 1 for tokens in prompts.values())
    dumped = [record["input"] for step in EVERY_STEP for record in read_jsonl(resumed.rollouts / f"{step}.jsonl")]
    assert len(dumped) == PROMPTS * GROUP * STEPS
    assert not [text for text in dumped if "Choose" in text and "rank_5" in text]


def test_its_log_probabilities_are_those_that_the_trainer_finds_under_the_plain_prompt(resumed: RunFolder) -> None:
    off = {False: 0.0, True: 0.0}
    for record in trained_on(resumed):
        difference = np.subtract(record["rollout_log_probs"], record["old_log_probs"])
        hinted = from_verl_key(record["key"]).session == HINTED
        off[hinted] = max(off[hinted], float(np.abs(difference).max()))
    assert max(off.values()) < 1e-4, "float32 on both sides"


def test_a_run_that_goes_on_knows_what_lacked_before(resumed: RunFolder) -> None:
    attempts = json.loads(resumed.facts.read_text())["attempts"]
    assert [attempt["from_step"] for attempt in attempts] == [0, CHECKPOINT]
    mean = ShareMean(resumed.settings(), resumed)
    for step in EVERY_STEP:
        found = mean.before(step + 1).mean
        told = [resumed.history()[step][f"mad/share_mean/{name}"] for name in resumed.settings().categories]
        assert told == pytest.approx(found)
