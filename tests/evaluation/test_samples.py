"""All numbers of one set of responses: the right samples in the right sums, and None where there is nothing."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.evaluation.metrics import jsd_floor
from madrl.evaluation.samples import score_change, score_samples
from madrl.targets import uniform

HALVES = np.array([0.5, 0.5, 0.0])


def responses(problem: str, categories: Sequence[str | None], correct: float | None = True) -> list[dict[str, Any]]:
    names = [{"group": problem, "session": i, "turn": 0} for i in range(len(categories))]
    return [{**name, "category": c, "correct": correct} for name, c in zip(names, categories, strict=True)]


def scored(samples: Sequence[dict[str, Any]], epsilon: float = 0.001) -> dict[str, Any]:
    return score_samples(samples, "abc", HALVES, epsilon)


def test_a_response_that_is_correct_in_part_counts_in_part() -> None:
    row = scored(responses("p", "a" * 20, 0.25) + responses("q", "a" * 10 + "b" * 10, 0.75))
    assert row["pass@1"] == 0.5
    assert row["by_category"]["a"]["pass@1"] == pytest.approx((20 * 0.25 + 10 * 0.75) / 30)
    # Resampling two problems draws (p, p), (p, q) or (q, q): 0.25, 0.5 or 0.75.
    assert row["pass@1_interval"] == [0.25, 0.75]


def test_full_marks_are_the_share_of_graded_responses_that_are_wholly_correct() -> None:
    row = scored(responses("p", "ab", 1.0) + responses("q", "ab", 0.5) + responses("r", "ab", None))
    # Of four graded, two are correct and two in part: (2 + 2 x 0.5) / 4 = 0.75.
    assert (row["pass@1"], row["full_marks"], row["partial"]) == (0.75, 0.5, 0.5)
    assert row["full_marks_interval"] == [0.0, 1.0]
    whole = scored(responses("p", "ab", True) + responses("q", "ab", False) + responses("r", "ab", True))
    assert (whole["pass@1"], whole["pass@1_interval"]) == (whole["full_marks"], whole["full_marks_interval"])
    assert whole["partial"] == 0.0
    nothing = scored(responses("p", "ab", None))
    assert (nothing["full_marks"], nothing["full_marks_interval"], nothing["partial"]) == (None, None, None)


def lost(problem: str, count: int, correct: float | None = True) -> list[dict[str, Any]]:
    """Responses whose classifier was down."""
    found = responses(problem, [None] * count, correct)
    return [sample | {"session": 100 + i, "classified": False} for i, sample in enumerate(found)]


def test_a_response_that_nobody_could_classify_is_in_no_number_but_the_ungraded_rate() -> None:
    known = responses("p", ["a", "b", None], 0.5) + responses("q", "ab", None)
    plain, row = scored(known), scored(lost("p", 2) + known + lost("q", 1, None) + lost("r", 2))
    assert (row.pop("samples"), plain.pop("samples")) == (10, 5)
    assert (row.pop("ungraded"), plain.pop("ungraded")) == (0.7, 0.4)  # 2 of q have no verdict, and 5 no category
    assert row == plain


def test_a_change_of_accuracy_is_between_responses_that_were_classified() -> None:
    before, after = responses("p", "ab", 0.0), responses("p", "ab", 1.0)
    assert score_change(before, after, "ab") == score_change(before + lost("p", 3), after + lost("p", 1, 0.0), "ab")


def test_a_session_whose_last_turn_nobody_could_classify_counts_in_no_change() -> None:
    found = [*responses("p", "ab", 1.0), *lost("p", 1, 0.0)]
    earlier = {**found[-1], "turn": found[-1]["turn"] - 1, "classified": True, "category": "a"}
    assert score_change([*found, earlier], found, "ab")["total"] == 0.0


def test_responses_of_which_none_was_classified_are_one_clear_error() -> None:
    with pytest.raises(MadrlError, match="nobody could say the category of any of 3 responses"):
        scored(lost("p", 3))
    for pair in ((lost("p", 3), responses("p", "ab")), (responses("p", "ab"), lost("p", 3))):
        with pytest.raises(MadrlError, match="category of any response of one of the two sets: classify it again"):
            score_change(*pair, "ab")


def test_pooled_shares_on_the_target_do_not_hide_collapsed_prompts() -> None:
    collapsed = scored([s for i in range(40) for s in responses(f"p{i}", "aaaa" if i % 2 else "bbbb")])
    varied = scored([s for i in range(40) for s in responses(f"p{i}", "abab")])
    assert collapsed["jsd"] == varied["jsd"] == pytest.approx(0.0, abs=1e-12)
    # One prompt all a: (1 - 1/2)^2 + (1/2)^2 = 1/2 = 1 - (1/4 + 1/4).
    assert collapsed["per_prompt"]["distance"] == collapsed["per_prompt"]["collapsed"] == 0.5
    # 2 and 2: 2/12 + 2/12 - 1/2 - 1/2 + 1/2 = -1/6: evener than independent draws
    assert varied["per_prompt"]["distance"] == pytest.approx(-1 / 6)
    assert (collapsed["single_category_prompts"], varied["single_category_prompts"]) == (1.0, 0.0)


def test_the_verdict_is_the_jsd_against_the_floor_at_the_on_support_count() -> None:
    near = scored([s for i in range(20) for s in responses(f"p{i}", ["a", "a", "b", "b", None])])
    far = scored([s for i in range(20) for s in responses(f"p{i}", ["a", "a", "a", "b", None])])
    floor = jsd_floor(HALVES, 80)
    assert (near["on_support"], near["floor"], near["floor_p95"]) == (80, floor.mean, floor.p95)
    assert near["off_target"] is False
    # Shares 3/4 and 1/4: JSD 0.0338, far above some 2 / (8 x 80) = 0.003.
    assert far["off_target"] is True
    assert far["jsd_interval"][0] > floor.p95


def test_a_jsd_between_the_floor_s_mean_and_its_percentile_is_within_the_floor() -> None:
    # 45 a of 80: JSD 0.0020; the floor is 1 / (8 x 80) = 0.0016 in the mean, and 3.84 / 640 = 0.0060 at 95 %.
    row = scored([s for i in range(20) for s in responses(f"p{i}", "aaab" if i < 5 else "aabb")])
    assert row["floor"] < row["jsd"] < row["floor_p95"]
    assert row["off_target"] is False


def test_a_jsd_that_is_the_floor_s_percentile_itself_is_within_it_in_any_category() -> None:
    # Of three responses to a uniform target over four, all in one category is the 95th percentile.
    for name in "abcd":
        found = score_samples(responses("p", name * 3), "abcd", uniform(4), 0.001)
        assert found["jsd"] == pytest.approx(found["floor_p95"])
        assert found["off_target"] is False


def test_thousands_of_categories_have_a_floor() -> None:
    names = [str(i) for i in range(3000)]
    found = score_samples(responses("p", names[:20]), names, uniform(3000), 0.001)
    assert found["off_target"] is False
    assert found["floor"] == pytest.approx(found["jsd"], rel=0.02), "20 responses in 20 categories, but for chance"


def test_the_interval_of_the_per_prompt_distance_is_the_textbook_s_over_prompts_with_two_responses() -> None:
    # Collapsed prompts at 1/2, evenly split ones at 0 - 1/2 - 1/2 + 1/2 = -1/2; those with one response do not count.
    pairs = [s for i in range(200) for s in responses(f"p{i}", "aa" if i < 100 else "ab")]
    row = scored(pairs + [s for i in range(50) for s in responses(f"q{i}", ["a", None])])
    per_prompt = row["per_prompt"]
    assert (per_prompt["distance"], per_prompt["problems"]) == (0.0, 200)
    # 0 +- 1.96 x 1/2 / sqrt(200) = 0.069
    assert per_prompt["interval"] == pytest.approx([-0.069, 0.069], abs=0.006)


def on_target(responses_each: int, prompts: int = 80, seed: int = 1) -> dict[str, Any]:
    """A policy that answers every prompt with a and b, half each."""
    drawn = np.random.default_rng(seed).choice(["a", "b"], size=(prompts, responses_each))
    return scored([s for i, of_prompt in enumerate(drawn) for s in responses(f"p{i}", list(of_prompt))])


def test_the_jsd_of_single_prompts_stands_with_its_n_and_the_floor_at_it() -> None:
    of_many, of_few = on_target(32)["jsd_per_prompt"], on_target(4)["jsd_per_prompt"]
    assert (of_many["n"], of_many["n_on_support"], of_many["problems"]) == (32, [32, 32], 80)
    assert (of_many["floor"], of_few["floor"]) == (jsd_floor(HALVES, 32).mean, jsd_floor(HALVES, 4).mean)
    # The same policy, and ten times the number: only the floor beside it says that both are on the target.
    assert of_few["mean"] > 8 * of_many["mean"]
    for found in (of_many, of_few):
        assert found["interval"][0] < found["mean"] < found["interval"][1]
        assert found["off_target"] is False


def test_a_prompt_s_off_support_responses_lower_the_n_that_its_floor_is_taken_at() -> None:
    row = scored(responses("p", ["a", "b", "a", None]) + responses("q", ["a", "a", "a", "a"]) + responses("r", [None]))
    found = row["jsd_per_prompt"]
    # p: shares 2/3 and 1/3, JSD 0.014362; q: one of two wanted categories, 0.215762; r has nothing to measure.
    assert found["mean"] == pytest.approx((0.014362 + 0.215762) / 2, abs=1e-6)
    assert (found["n"], found["n_on_support"], found["problems"]) == (4, [3, 4], 2)
    assert found["floor"] == pytest.approx((jsd_floor(HALVES, 3).mean + jsd_floor(HALVES, 4).mean) / 2)


def test_prompts_in_one_category_each_are_off_target_in_single_prompts_and_not_in_the_pool() -> None:
    row = scored([s for i in range(40) for s in responses(f"p{i}", ("a" if i % 2 else "b") * 8)])
    assert (row["off_target"], row["jsd_per_prompt"]["off_target"]) == (False, True)
    assert row["jsd_per_prompt"]["mean"] == pytest.approx(0.215762, abs=1e-6)


def test_one_response_to_each_prompt_says_nothing_of_single_prompts() -> None:
    row = scored([s for i in range(50) for s in responses(f"p{i}", "a")])
    assert row["jsd_per_prompt"]["mean"] == pytest.approx(row["jsd_per_prompt"]["floor_p95"])
    assert row["jsd_per_prompt"]["off_target"] is False


def test_the_off_support_rate_has_an_interval_over_problems() -> None:
    # Half of 100 problems off-support: 0.5 +- 1.96 x 0.5 / sqrt(100) = 0.098, however many responses each has.
    row = scored([s for i in range(100) for s in responses(f"p{i}", ["a", "b"] if i % 2 else [None, None])])
    assert row["off_support"] == 0.5
    assert row["off_support_interval"] == pytest.approx([0.402, 0.598], abs=0.011)


def test_a_mix_that_is_off_by_a_few_collapsed_problems_is_off_target_but_not_over_problems_like_these() -> None:
    # 13 of 20 problems in a: shares 0.65 and 0.35, 2.7 standard errors of 80 independent responses from the target
    # (0.15 / sqrt(1/4 / 80)), and 1.3 of 20.
    row = scored([s for i in range(20) for s in responses(f"p{i}", "aaaa" if i < 13 else "bbbb")])
    assert row["effective_on_support"] == pytest.approx(19)
    assert row["off_target"] is True
    assert row["jsd"] < row["floor_p95_effective"]
    assert row["jsd_interval"][0] == 0.0


def of_topics(topics: int, prompts: int, *, named: bool) -> list[dict[str, Any]]:
    """Of each topic, all prompts in one category; every other topic in the same."""
    return [
        sample | ({"cluster": f"topic {t}"} if named else {})
        for t in range(topics)
        for p in range(prompts)
        for sample in responses(f"{t}/{p}", "aaaa" if t % 2 else "bbbb")
    ]


def test_prompts_of_one_topic_are_resampled_together() -> None:
    # 8 topics of 10 prompts tell as much as 8 prompts: the intervals are those of 8, at the same shares.
    named, taken_for_80 = scored(of_topics(8, 10, named=True)), scored(of_topics(8, 10, named=False))
    of_8 = scored(of_topics(8, 1, named=False))
    assert (named["problems"], named["clusters"], taken_for_80["clusters"]) == (80, 8, 80)
    share = named["by_category"]["a"]["share_interval"]
    assert share == pytest.approx(of_8["by_category"]["a"]["share_interval"])
    # 0.5 +- 1.96 x 0.5 / sqrt(8) = 0.35, and / sqrt(80) = 0.11
    assert share == pytest.approx([0.15, 0.85], abs=0.03)
    assert taken_for_80["by_category"]["a"]["share_interval"] == pytest.approx([0.39, 0.61], abs=0.02)
    assert named["effective_on_support"] == pytest.approx(of_8["effective_on_support"])
    assert named["jsd"] == taken_for_80["jsd"]


def test_one_topic_says_nothing_of_how_topics_differ() -> None:
    row = scored(of_topics(1, 10, named=True))
    assert (row["clusters"], row["jsd_interval"], row["effective_on_support"]) == (1, None, None)


def test_a_prompt_without_a_cluster_stands_for_itself_beside_those_with_one() -> None:
    assert scored(of_topics(2, 3, named=True) + responses("p", "ab") + responses("q", "ab"))["clusters"] == 4


def test_accuracy_at_the_target_mix_has_no_interval_where_a_wanted_category_has_few_responses() -> None:
    row = scored([s for i in range(20) for s in responses(f"p{i}", "aaab" if i < 7 else "aaaa")])
    assert row["accuracy_at_target"] is not None
    assert row["accuracy_at_target_interval"] is None
    assert row["accuracy_at_target_few"] == {"b": 7}
    enough = scored([s for i in range(20) for s in responses(f"p{i}", "aabb")])
    assert enough["accuracy_at_target_few"] == {}
    assert enough["accuracy_at_target_interval"] is not None


def test_divergences_that_are_infinite_are_null_and_named() -> None:
    row = scored(responses("p", "aac") + responses("q", "aaa"), epsilon=0.03)
    assert row["fkl"] is None
    assert row["infinite"] == ["fkl"]
    # shares 5/6 and 1/6 in c; smoothed target 0.495 and 0.01: 5/6 log(0.8333 / 0.495) + 1/6 log(0.16667 / 0.01)
    assert row["rkl"] == pytest.approx(0.90297, abs=1e-5)
    # 1/2 [(1/3)^2 + (1/2)^2 + (1/6)^2] = 7/36
    assert row["l2"] == pytest.approx(7 / 36)


def test_accuracy_in_a_category_is_reported_from_thirty_graded_responses_on() -> None:
    def with_ungraded(ungraded: int) -> dict[str, Any]:
        samples = [s for i in range(8) for s in responses(f"p{i}", "aaaa", correct=i < 4)]
        for sample in samples[:ungraded]:
            sample["correct"] = None
        found: dict[str, Any] = scored(samples)["by_category"]["a"]
        return found

    enough = with_ungraded(2)
    assert (enough["count"], enough["graded"], enough["pass@1"]) == (32, 30, pytest.approx(14 / 30))
    too_few = with_ungraded(3)
    assert (too_few["count"], too_few["graded"], too_few["pass@1"]) == (32, 29, None)


def test_rates_and_pass_at_1_worked_by_hand() -> None:
    samples = responses("p", "abab") + responses("q", ["a", "b", None, None], correct=False)
    samples[4]["correct"] = None
    row = scored(samples)
    assert (row["samples"], row["problems"], row["on_support"]) == (8, 2, 6)
    assert (row["off_support"], row["ungraded"]) == (0.25, 0.125)
    assert row["pass@1"] == pytest.approx(4 / 7)
    # resamples of two problems: p p (4 of 4), p q (4 of 7), q q (0 of 3)
    assert row["pass@1_interval"] == [0.0, 1.0]


def test_ungraded_responses_are_not_wrong_in_any_resample() -> None:
    row = scored([s | {"correct": s["correct"] or None} for s in responses("p", "ab") + responses("q", "ab", False)])
    assert (row["pass@1"], row["pass@1_interval"], row["ungraded"]) == (1.0, [1.0, 1.0], 0.5)


def test_only_the_last_turn_of_a_session_counts() -> None:
    samples = responses("p", "ab")
    samples.insert(0, samples[0] | {"turn": 1, "category": "c"})
    samples += responses("q", "b")
    row = scored(samples)
    assert (row["samples"], row["problems"]) == (3, 2)
    assert [row["by_category"][name]["count"] for name in "abc"] == [0, 2, 1]


def test_one_problem_has_numbers_but_no_interval() -> None:
    row = scored(responses("p", "aabb"))
    assert row["jsd"] == pytest.approx(0.0, abs=1e-12)
    assert row["per_prompt"]["distance"] == pytest.approx(-1 / 6)
    intervals = [row["jsd_interval"], row["pass@1_interval"], row["per_prompt"]["interval"]]
    assert intervals + [row["by_category"][name]["share_interval"] for name in "abc"] == [None] * 6
    assert row["effective_on_support"] is None


def test_responses_that_are_all_off_support_have_no_fit() -> None:
    row = scored(responses("p", [None, None]) + responses("q", [None]))
    fit = ("l2", "fkl", "rkl", "jsd", "jsd_interval", "floor", "floor_p95", "off_target", "effective_on_support")
    assert [row[key] for key in fit] == [None] * len(fit)
    assert (row["off_support"], row["infinite"], row["per_prompt"]["distance"]) == (1.0, [], None)
    none = dict.fromkeys(("mean", "interval", "n_on_support", "floor", "floor_p95", "off_target"))
    assert row["jsd_per_prompt"] == none | {"n": 1, "problems": 0}
    assert row["by_category"]["a"]["share"] is None


lines = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", None]), st.sampled_from([True, False, None])),
    min_size=1,
    max_size=20,
)


@settings(deadline=None, max_examples=12)
@given(lines, st.randoms(use_true_random=False))
def test_any_responses_give_plain_json_and_their_order_within_a_problem_does_not_matter(
    drawn: list[tuple[int, str | None, bool | None]], random: Any
) -> None:
    samples = [
        {"group": str(p), "session": i, "turn": 0, "category": c, "correct": v} for i, (p, c, v) in enumerate(drawn)
    ]
    row = score_samples(samples, "abc", uniform(3), 0.001)
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    # Problems stay in their order, as the resamples draw them by it.
    first_seen = list(dict.fromkeys(s["group"] for s in samples))
    shuffled = sorted(random.sample(samples, len(samples)), key=lambda s: first_seen.index(s["group"]))
    assert json.dumps(score_samples(shuffled, "abc", uniform(3), 0.001)) == json.dumps(row)
