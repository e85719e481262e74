"""The training metrics and the outage limit, on score records as the reward stage writes them."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from madrl.divergence import jensen_shannon_value
from madrl.errors import MadrlError
from madrl.grading.programs.replicas import NOT_SERVED
from madrl.settings import Settings
from madrl.trainer.replay_buffer import MadReplayBuffer, batch_metrics, check_outage


def settings(hints: int = 0, **changes: Any) -> Settings:
    reward = {"divergence": "l2", "form": "additive", "alpha": 0.5, "lambda_g": 2.0, "epsilon": 0.001}
    node = {
        "categories": ["a", "b"],
        "target": "uniform",
        "classifier": "choice",
        "verifier": "listed_option",
        "reward": reward | changes,
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "task": "mine",
        "profile": "tiny",
        "naming": "mine:ask" if hints else None,
        "hints": hints,
    }
    return Settings.from_config(node)


def record(
    group: str, category: str | None, correct: float | None = 1.0, divergence: float = 0.0, truncated: bool = False
) -> dict[str, Any]:
    return {
        "group": group,
        "category": category,
        "correct": correct,
        "correctness": 0.5 if correct is None else correct,
        "divergence_reward": divergence,
        "reward": divergence,
        "reason": "the judge is down" if correct is None else "",
        "unusual": None,
        "queued": 3,
        "truncated": truncated,
    }


def test_the_metrics_of_a_batch_worked_by_hand() -> None:
    records = [record("p", "a"), record("p", "a"), record("q", "b", 0.0), record("q", None, None)]
    metrics = batch_metrics(records, settings())
    assert metrics["mad/share/a"] == pytest.approx(2 / 3)
    assert metrics["mad/share/b"] == pytest.approx(1 / 3)
    assert metrics["mad/off_support_rate"] == 0.25
    assert metrics["mad/ungraded_rate"] == 0.25
    assert metrics["mad/single_category_group_rate"] == 1.0, "p is all a; what is on-support of q is b"
    # On target half of the groups of two are, and all of one response.
    assert metrics["mad/single_category_group_rate_on_target"] == pytest.approx((0.5 + 1) / 2)
    assert metrics["mad/pass@1"] == pytest.approx(2 / 3), "two right of three graded"
    # q = (2/3, 1/3) against (1/2, 1/2): m = (7/12, 5/12);
    # 1/2 [1/2 log(6/7) + 1/2 log(6/5)] + 1/2 [2/3 log(8/7) + 1/3 log(4/5)] = 0.01437
    assert metrics["mad/jsd"] == pytest.approx(0.01437, abs=1e-5)
    # per prompt: both groups are all of one category, 0.2158 each
    assert metrics["mad/jsd_per_prompt"] == pytest.approx(0.21576, abs=1e-5)
    assert metrics["mad/reward_queue/max"] == 3


def test_full_marks_are_a_metric_where_a_response_is_correct_in_part() -> None:
    metrics = batch_metrics(
        [record("p", "a"), record("p", "a", 0.5), record("q", "b", 0.0), record("q", None, None)], settings()
    )
    assert metrics["mad/pass@1"] == pytest.approx(0.5), "1 and 0.5 of three graded"
    assert metrics["mad/full_marks"] == pytest.approx(1 / 3)
    assert "mad/full_marks" not in batch_metrics([record("p", "a"), record("p", "a", 0.0)], settings())


def test_a_response_that_nobody_could_classify_is_in_no_number_of_the_policy_and_in_the_ungraded_rate() -> None:
    known = [record("p", "a"), record("p", "b"), record("q", "b", 0.0, 0.5), record("q", None)]
    lost = [record("p", None, truncated=True) | {"classified": False}, record("r", None, None) | {"classified": False}]
    plain, metrics = batch_metrics(known, settings()), batch_metrics(known + lost, settings())
    assert (plain.pop("mad/ungraded_rate"), metrics.pop("mad/ungraded_rate")) == (0, 2 / 6)
    of_all = {"mad/equal_reward_group_rate", "mad/reward/std_within_group"}  # r is a group
    assert {name: value for name, value in metrics.items() if name not in of_all} == {
        name: value for name, value in plain.items() if name not in of_all
    }
    assert batch_metrics(lost, settings())["mad/ungraded_rate"] == 1
    with pytest.raises(MadrlError, match=r"33.3% of the responses are ungraded or failed.*2 x no reason given"):
        check_outage([one | {"reason": ""} for one in known + lost], expected=6, limit=0.3, where="x")


def test_groups_that_teach_nothing_are_those_whose_responses_all_earn_the_same() -> None:
    records = [record("p", "a", divergence=-0.5)] * 4 + [record("q", "a", divergence=r) for r in (0.3, 0.3, 0.301)]
    metrics = batch_metrics(records, settings())
    assert metrics["mad/equal_reward_group_rate"] == 0.5, "p; q differs, if only by a little"
    assert metrics["mad/reward/std_within_group"] == pytest.approx(0.00047 / 2, abs=1e-5)


def test_the_rate_of_responses_that_were_cut_is_of_all_responses() -> None:
    records = [record("p", "a", truncated=True), record("p", None, truncated=True), record("q", "b"), record("q", "a")]
    assert batch_metrics(records, settings())["mad/truncated_rate"] == 0.5


def test_a_response_that_was_cut_has_failed_when_it_is_wrong_or_in_no_category() -> None:
    complete = [record("p", "a", 0.0), record("p", None)]
    cut = [("a", 1.0), ("a", 0.25), ("b", None), ("b", 0.0), (None, 1.0)]
    metrics = batch_metrics(complete + [record("q", *one, truncated=True) for one in cut], settings())
    assert metrics["mad/truncated_failed_rate"] == pytest.approx(2 / 7), "the last two"


def test_the_rate_of_unusual_ways_is_of_all_responses_however_they_were_graded() -> None:
    usual = [record("p", "a"), record("p", "b"), record("q", "b")]
    cheating = [record("p", "a"), record("q", None, None)]
    records = usual + [one | {"unusual": "prose in code"} for one in cheating]
    assert batch_metrics(records, settings())["mad/unusual_rate"] == 0.4


def test_a_response_is_truncated_when_it_is_as_long_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "extra_fields": [
            {"reward_extra_info": {"category": "a", "row": "7", "verifier_extra": extra}}
            for extra in ('{"passed": 3}', None, None)
        ],
        "rm_scores": [np.array([0.0, 0.5])] * 3,
    }
    monkeypatch.setattr("madrl.trainer.replay_buffer.tq.kv_batch_get", lambda **_: fields)
    buffer = MadReplayBuffer.__new__(MadReplayBuffer)  # its own state, without veRL's
    buffer.max_response_length = 64
    batch = SimpleNamespace(
        keys=["p_0_0", "p_1_0", "p_1_1"], tags=[{"response_len": n} for n in (64, 64, 63)], partition_id="train"
    )
    found = buffer._records(batch)
    # Session 1 has two outputs, and its last one is not cut.
    assert [(r["session"], r["truncated"], r["reward"]) for r in found] == [(0, True, 0.5), (1, False, 0.5)]
    assert [(r["group"], r["turn"], r["row"]) for r in found] == [("p", 0, 7), ("p", 1, 7)]
    assert [r["verifier_extra"] for r in found] == [{"passed": 3}, None]


def test_what_does_not_exist_for_a_batch_is_left_out_and_never_nan() -> None:
    metrics = batch_metrics([record("p", None, None), record("p", None, None)], settings())
    assert "mad/jsd" not in metrics
    assert "mad/pass@1" not in metrics
    assert metrics["mad/off_support_rate"] == 1.0
    assert all(math.isfinite(value) for value in metrics.values())


def test_the_gated_form_reports_how_often_its_factor_is_negative() -> None:
    # 1 + 2 * r is below zero for r = -0.6 and -1, not for -0.4 and 0.5
    records = [record("p", "a", divergence=r) for r in (-0.6, -1.0, -0.4, 0.5)]
    assert batch_metrics(records, settings(form="gated"))["mad/negative_gate_rate"] == 0.5
    assert batch_metrics(records, settings(form="gated", gate_floor=0.0))["mad/negative_gate_rate"] == 0.5
    assert "mad/negative_gate_rate" not in batch_metrics(records, settings())


def test_the_reward_tail_runs_from_the_last_response_to_the_last_reward() -> None:
    timing = {"grade_s": 0.1, "group_wait_s": 1.0, "score_s": 0.2}
    first = record("p", "a") | timing | {"arrived_at": 10.0, "scored_at": 12.0}
    last = record("q", "a") | timing | {"arrived_at": 12.5, "scored_at": 12.75}
    assert batch_metrics([first, last], settings())["mad/timing/reward_tail_s"] == pytest.approx(0.25)


def test_each_prompt_is_measured_against_its_own_target_and_the_pool_against_their_mean() -> None:
    own = [record("p", "a") | {"target": '{"a": 1, "b": 0}'}] * 3 + [record("p", "b") | {"target": '{"a": 1, "b": 0}'}]
    even = [record("q", "b") | {"target": None}, record("q", None) | {"target": None}]
    metrics = batch_metrics(own + even, settings())
    # Four on-support responses towards (1, 0) and one towards (1/2, 1/2): (4.5, 0.5) / 5; the shares are (3, 2) / 5.
    assert (metrics["mad/target/a"], metrics["mad/target/b"]) == pytest.approx((0.9, 0.1))
    assert metrics["mad/jsd"] == pytest.approx(jensen_shannon_value(np.array([0.9, 0.1]), np.array([0.6, 0.4])))
    of_p = jensen_shannon_value(np.array([1.0, 0.0]), np.array([0.75, 0.25]))
    of_q = jensen_shannon_value(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert metrics["mad/jsd_per_prompt"] == pytest.approx((of_p + of_q) / 2)
    # A policy on the targets has p in one category always, and so q, of which one response is on-support; p's JSD is
    # then 0, and q's that of one response.
    assert metrics["mad/single_category_group_rate_on_target"] == 1.0
    assert metrics["mad/jsd_per_prompt_floor"] == pytest.approx((0 + of_q) / 2)


def test_the_metrics_of_a_target_that_is_the_run_s_own_are_the_run_s() -> None:
    records = [record("p", "a"), record("p", "b"), record("p", "a"), record("q", "b", 0.0), record("q", None, None)]
    found = batch_metrics([one | {"target": "uniform"} for one in records], settings())
    expected = batch_metrics(records, settings())
    assert {name: found[name] for name in expected} == expected
    assert {name.removeprefix("mad/") for name in found.keys() - expected.keys()} == {
        "target/a", "target/b", "jsd_per_prompt_floor",
    }  # fmt: skip


def test_an_outage_stops_the_run_and_says_what_it_was() -> None:
    records = [record("p", "a"), record("p", "a", None), record("p", "a", None)]
    with pytest.raises(MadrlError, match=r"train step 7: 75.0% .* 1 sessions failed .* 2 x the judge is down"):
        check_outage(records, expected=4, limit=0.5, where="train step 7")


def test_failed_and_ungraded_responses_count_together_against_the_limit() -> None:
    records = [record("p", "a", None)] + [record("p", "a")] * 8
    check_outage(records, expected=10, limit=0.2, where="x")
    with pytest.raises(MadrlError, match=r"20.0% .* more than madrl.max_ungraded_rate=0.19"):
        check_outage(records, expected=10, limit=0.19, where="x")


def test_one_program_in_a_language_that_no_sandbox_has_stops_the_run_whatever_the_limit() -> None:
    lost = record("p", "a", None) | {"reason": f"{NOT_SERVED} go (http://node1:8080: not installed): install it"}
    with pytest.raises(MadrlError, match=r"step 7: no sandbox serves go .*: install it; then start .* 1 of 100"):
        check_outage([record("p", "a")] * 99 + [lost], expected=100, limit=1.0, where="train step 7")


def test_hinted_responses_are_left_out_of_what_the_policy_does_by_itself() -> None:
    plain = [record("p", "a"), record("p", "a", 0.0), record("q", "a"), record("q", None)]
    hinted = [record("p", "b", divergence=0.5) | {"hinted": "b"}, record("q", "a", None) | {"hinted": "b"}]
    found, alone = batch_metrics(plain + hinted, settings(hints=2)), batch_metrics(plain, settings())
    assert (found["mad/hinted_rate"], found["mad/hint_hit_rate"]) == (2 / 6, 0.5)
    of_all = {
        "mad/ungraded_rate": 1 / 6,
        "mad/equal_reward_group_rate": 0.5,  # p: one of three earns more
        "mad/reward/std_within_group": pytest.approx(0.5 * 2**0.5 / 3 / 2),
    }
    for name, value in alone.items():
        assert found[name] == of_all.get(name, value), name
    assert {"mad/hinted_rate", "mad/hint_hit_rate"} & alone.keys() == set()
