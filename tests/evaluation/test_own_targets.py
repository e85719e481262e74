"""Prompts that have targets of their own: each is measured against its own, and the pool against their mean."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madrl.divergence import jensen_shannon_value
from madrl.evaluation.dumps import evaluate_file
from madrl.evaluation.intervals import effective_samples
from madrl.evaluation.metrics import jsd_floor, jsd_per_prompt_floor
from madrl.evaluation.per_prompt import collapsed_distance
from madrl.evaluation.samples import score_samples
from madrl.evaluation.targets import mean_target, targets_of
from madrl.targets import uniform

NAMES = ("a", "b", "c")
SKEWED = np.array([0.7, 0.2, 0.1])
HALVES = np.array([0.5, 0.5, 0.0])
Record = dict[str, Any]


def drawn(
    targets: Mapping[str, Mapping[str, float]], each: int = 16, prompts: int = 30, seed: int = 0, keyed: bool = True
) -> list[Record]:
    """``prompts`` prompts of each target, with ``each`` responses that are drawn from it; one in ten is off-support,
    and four in five are correct."""
    rng = np.random.default_rng(seed)
    records = []
    for kind, target in targets.items():
        for prompt in range(prompts):
            for session, name in enumerate(rng.choice(list(target), size=each, p=list(target.values()))):
                record = {
                    "group": f"{kind}{prompt}",
                    "session": session,
                    "turn": 0,
                    "correct": float(rng.random() < 0.8),
                }
                record["category"] = None if rng.random() < 0.1 else str(name)
                records.append(record | ({"target": json.dumps(target)} if keyed else {}))
    return records


def close(found: Any, expected: Any) -> None:
    """The same numbers to 1e-12, whatever they lie in."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            close(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", [(7, 2, 1), (0, 1, 2), (1, 1, 1), (3, 3, 1)])
def test_a_target_that_is_the_same_for_all_prompts_gives_the_numbers_of_the_run_s_target(
    tmp_path: Path, weights: tuple[int, ...]
) -> None:
    shares = [weight / sum(weights) for weight in weights]
    records = drawn({"p": dict(zip(NAMES, shares, strict=True))}, keyed=False)
    paths = tmp_path / "without" / "r.jsonl", tmp_path / "with" / "r.jsonl"
    target = json.dumps(dict(zip(NAMES, weights, strict=True)))
    for path, own in zip(paths, ({}, {"target": target}), strict=True):
        path.parent.mkdir()
        path.write_text("".join(json.dumps(record | own) + "\n" for record in records))
    of_run = evaluate_file(paths[0], NAMES, np.array(shares))
    of_prompts = evaluate_file(paths[1], NAMES, uniform(3))
    close(of_prompts["evaluations"], of_run["evaluations"])
    assert of_run["evaluations"][0]["targets"] == 1


def test_targets_are_the_prompts_own_and_else_the_run_s() -> None:
    problems: list[list[Record]] = [
        [{"target": {"b": 1, "a": 3}}], [{}], [{"target": None}], [{"target": "uniform"}],
    ]  # fmt: skip
    found = targets_of(problems, NAMES, SKEWED)
    np.testing.assert_allclose(found, [[0.75, 0.25, 0.0], SKEWED.tolist(), SKEWED.tolist(), [1 / 3] * 3])


def test_the_mean_target_weighs_each_prompt_by_its_on_support_responses() -> None:
    targets = np.array([[1.0, 0.0], [0.5, 0.5]])
    # (3 x 1 + 1 x 1/2) / 4
    np.testing.assert_allclose(mean_target(targets, np.array([3.0, 1.0])), [0.875, 0.125])
    np.testing.assert_allclose(mean_target(targets, np.array([0.0, 0.0])), [0.75, 0.25])
    same = np.tile(SKEWED, (7, 1))
    assert mean_target(same, np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).tolist() == SKEWED.tolist(), (
        "to the last bit"
    )


OWN = {"p": {"a": 0.9, "b": 0.1}, "q": {"b": 0.2, "c": 0.8}}


def test_a_policy_on_each_prompt_s_target_is_on_target_and_one_that_swaps_them_is_not_in_single_prompts() -> None:
    on, swapped = drawn(OWN), drawn({"p": OWN["q"], "q": OWN["p"]}, keyed=False)
    for record in swapped:
        record["target"] = {name: OWN[record["group"][0]].get(name, 0.0) for name in NAMES}
    right, wrong = (score_samples(records, NAMES, uniform(3), 0.001) for records in (on, swapped))
    assert right["targets"] == 2
    assert right["jsd_per_prompt"]["off_target"] is False
    assert right["per_prompt"]["interval"][0] < 0.0 < right["per_prompt"]["interval"][1]
    assert wrong["jsd_per_prompt"]["off_target"] is True
    assert wrong["per_prompt"]["distance"] > 0.9, "(0.9 - 0)^2 + (0.1 - 0.2)^2 + 0.8^2 = 1.46 for each"
    for found in (right, wrong):  # a pool of as many of either: (0.9, 0.1, 0) and (0, 0.2, 0.8)
        assert found["off_target"] is False
        assert [of["target"] for of in found["by_category"].values()] == pytest.approx([0.45, 0.15, 0.4], abs=0.02)
        assert found["jsd_interval"][0] == 0.0


def test_the_interval_of_the_accuracy_at_the_target_mix_draws_each_prompt_with_its_target() -> None:
    # Half of the prompts want a, which is always right, and half want b, which never is: at the target mix the accuracy
    # is pass@1 itself, and as uncertain.
    kinds = {"a": {"a": 1.0, "b": 0.0}, "b": {"a": 0.0, "b": 1.0}}
    records = [
        {"group": f"{name}{i}", "session": k, "turn": 0, "category": name, "correct": name == "a", "target": target}
        for name, target in kinds.items()
        for i in range(30)
        for k in range(8)
    ]
    found = score_samples(records, ("a", "b"), np.array([0.5, 0.5]), 0.001)
    assert found["accuracy_at_target"] == found["pass@1"] == 0.5
    assert found["accuracy_at_target_interval"] == pytest.approx(found["pass@1_interval"])
    assert found["accuracy_at_target_interval"][0] < 0.4


def test_each_prompt_s_distance_and_jsd_are_to_its_own_target() -> None:
    def prompt(group: str, categories: str, target: Mapping[str, float]) -> list[Record]:
        named = [{"group": group, "session": i, "turn": 0, "category": c} for i, c in enumerate(categories)]
        return [record | {"correct": True, "target": target} for record in named]

    found = score_samples(prompt("p", "aab", {"a": 1, "b": 1}) + prompt("q", "cc", {"c": 1}), NAMES, uniform(3), 0.001)
    of_p = jensen_shannon_value(HALVES, np.array([2 / 3, 1 / 3, 0]))
    assert found["jsd_per_prompt"]["mean"] == pytest.approx((of_p + 0) / 2)
    # p: 2/6 - 2 (1/2)(2/3) - 2 (1/2)(1/3) + 1/2 = -1/6; q: 2/2 - 2 + 1 = 0
    assert found["per_prompt"]["distance"] == pytest.approx(-1 / 12)
    assert found["per_prompt"]["collapsed"] == pytest.approx((1 / 2 + 0) / 2)
    # Pooled: shares (2, 1, 2) / 5; the mean target is (3 (1/2, 1/2, 0) + 2 (0, 0, 1)) / 5.
    assert found["jsd"] == pytest.approx(jensen_shannon_value(np.array([0.3, 0.3, 0.4]), np.array([0.4, 0.2, 0.4])))
    assert found["jsd_per_prompt"]["floor"] == pytest.approx(jsd_floor(HALVES, 3).mean / 2)


def test_the_floor_of_single_prompts_is_that_of_each_one_s_own_target_and_number_of_responses() -> None:
    targets = np.array([uniform(3), SKEWED, SKEWED, [0.0, 0.0, 1.0]])
    floor = jsd_per_prompt_floor(targets, (4, 4, 8, 8))
    expected = [jsd_floor(uniform(3), 4).mean, jsd_floor(SKEWED, 4).mean, jsd_floor(SKEWED, 8).mean, 0.0]
    assert floor.mean == pytest.approx(np.mean(expected), abs=1e-14)
    assert jsd_per_prompt_floor(targets, (4, 4, 8, 8), draws=1).mean == floor.mean
    assert collapsed_distance(targets[:2]) == pytest.approx((2 / 3 + 1 - 0.49 - 0.04 - 0.01) / 2)


def test_one_measurement_in_twenty_of_policies_on_many_targets_is_above_the_floor_s_95th_percentile() -> None:
    rng = np.random.default_rng(3)
    targets = rng.dirichlet(np.ones(3), size=200)
    floor = jsd_per_prompt_floor(targets, (8,) * 200)
    counts = rng.multinomial(8, targets, size=(300, 200))
    measured = [
        np.mean([jensen_shannon_value(p, c / 8) for p, c in zip(targets, of_prompts, strict=True)])
        for of_prompts in counts
    ]
    assert np.mean(measured) == pytest.approx(floor.mean, rel=0.01)
    assert 0.01 <= np.mean(np.array(measured) > floor.p95) <= 0.10


def test_problems_that_differ_by_their_targets_alone_are_worth_all_their_responses() -> None:
    targets = np.repeat(np.eye(3), 10, axis=0)
    assert effective_samples(4 * targets) == pytest.approx(120 / (4 * 30 / 29))
    assert effective_samples(4 * targets, targets) == 120.0
    of_one = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0], [4.0, 0.0, 0.0]])
    assert effective_samples(of_one, np.tile(SKEWED, (3, 1))) == pytest.approx(effective_samples(of_one), abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_numbers_move_with_the_targets_and_jump_nowhere(seed: int) -> None:
    """A target that is nearly the others' takes the other way through everything, and comes to the same."""
    one = dict(zip(NAMES, SKEWED.tolist(), strict=True))
    records = drawn({"p": one}, prompts=6, each=8, seed=seed)
    nearly = json.dumps(one | {"a": 0.7 + 1e-10, "b": 0.2 - 1e-10})
    apart = [record | ({"target": nearly} if record["group"] == "p0" else {}) for record in records]
    found, expected = (score_samples(of, NAMES, SKEWED, 0.001) for of in (apart, records))
    assert (found["targets"], expected["targets"]) == (2, 1)
    for name in ("jsd", "rkl", "jsd_interval", "effective_on_support", "pass@1", "accuracy_at_target"):
        assert found[name] == pytest.approx(expected[name], abs=1e-7), name
    for name in ("mean", "interval", "floor"):
        assert found["jsd_per_prompt"][name] == pytest.approx(expected["jsd_per_prompt"][name], abs=1e-7), name
    assert found["jsd_per_prompt"]["floor_p95"] == pytest.approx(expected["jsd_per_prompt"]["floor_p95"], rel=0.05)
