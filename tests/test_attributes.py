"""Further attributes beside the first: what they must be, what a group earns by them, and what is said of each."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl import GroupReward, MadrlError, Rollout, rescore
from madrl.alarms import RunHealth, read_events
from madrl.attributes import attributes_of, metrics_of_attribute
from madrl.cli import main
from madrl.evaluation.dumps import Run, evaluate_run
from madrl.evaluation.metrics import jsd_to_target
from madrl.frequency import OFF_SUPPORT, UNCLASSIFIED
from madrl.grading.grader import Grader, GraderSpec
from madrl.records import is_ungraded, of_attribute, read_graded
from madrl.reward import FurtherAttribute, RewardConfig, score_group
from madrl.settings import Settings
from madrl.trainer.replay_buffer import batch_metrics

LENGTH = {"classifier": "length", "classifier_args": {"unit": "words", "buckets": {"short": 2, "long": None}}}
NODE: dict[str, Any] = {
    "categories": ["left", "right"],
    "target": "uniform",
    "classifier": "mine:classify",
    "verifier": "math",
    "reward": {"divergence": "l2", "form": "additive", "alpha": 0.5},
    "max_ungraded_rate": 0.2,
    "launch_check": "stop",
    "task": "mine",
    "profile": "tiny",
    "naming": "mine:ask",
    "attributes": {"length": {**LENGTH, "categories": ["short", "long"], "target": {"short": 3, "long": 1}}},
}


def by_first_letter(rollout: Rollout) -> str | None:
    return {"a": "left", "b": "right"}.get(rollout.response[:1])


def by_size(rollout: Rollout) -> str | None:
    if rollout.response.endswith("?"):
        raise ConnectionError("nobody knows")
    return "long" if " " in rollout.response else "short"


def reward_of(**changed: Any) -> GroupReward:
    size = {"classifier": by_size, "categories": ["short", "long"], "target": {"short": 3, "long": 1}, "weight": 2}
    own: dict[str, Any] = {
        "categories": ["left", "right"],
        "classifier": by_first_letter,
        "verifier": lambda rollout: False,
        "divergence": "l2",
        "alpha": 0.5,
        "attributes": {"size": size},
    }
    return GroupReward(**{**own, **changed})


def rollouts(*responses: str) -> list[Rollout]:
    return [Rollout(response, "") for response in responses]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ([], r"madrl.attributes=\[\] is not a mapping: write madrl.attributes={length"),
        ({"Length": {}}, "'Length' is no name: use lower-case letters"),
        ({"a b": {}}, "'a b' is no name"),
        ({"length": 3}, r"madrl.attributes.length=3 is not a mapping: its keys are \['classifier'"),
        ({"length": {"goal": 1}}, "unknown key madrl.attributes.length.goal: the keys are"),
        ({"length": {"classifier": "length"}}, "madrl.attributes.length.categories is not set"),
        ({"length": {**LENGTH, "categories": "ab"}}, r"length.categories='ab' is not a list: write \[a, b, c\]"),
        ({"length": {**LENGTH, "categories": ["a", "a"]}}, "madrl.attributes.length: .*'a'"),
        ({"length": {**LENGTH, "categories": ["a", "b"], "target": {"c": 1}}}, "madrl.attributes.length: .*'c'"),
        ({"length": {**LENGTH, "categories": ["a", "b"], "weight": 0}}, r"length.weight=0 is not a number in \(0, 1e6"),
        ({"length": {**LENGTH, "categories": ["a", "b"], "weight": True}}, "length.weight=True is not a number"),
        ({"length": {**LENGTH, "categories": [True, False]}}, "madrl.attributes.length: category True is no text"),
        (
            {"length": {"classifier": "length", "classifier_args": [1], "categories": ["a", "b"]}},
            r"length.classifier_args=\[1\] is not a mapping",
        ),
    ],
)
def test_an_attribute_that_makes_no_sense_is_one_clear_error(node: Any, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        attributes_of(node)


def test_an_attribute_has_a_uniform_target_and_the_weight_of_the_first_unless_it_says_otherwise() -> None:
    found = attributes_of({"length": {**LENGTH, "categories": ["short", "long"], "weight": None}})["length"]
    assert (found.target.tolist(), found.weight) == ([0.5, 0.5], 1.0)


def test_an_attribute_s_weight_may_be_a_number_of_numpy_s() -> None:
    found = attributes_of({"length": {**LENGTH, "categories": ["short", "long"], "weight": np.float32(0.5)}})["length"]
    assert found.weight == 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": {**NODE["reward"], "calibrate": True}}, "calibrate=True with further attributes"),
        ({"reward": {"form": "gapo"}}, "form=gapo with further attributes: GAPO has no rule for several"),
        ({"hints": 2}, "madrl.hints=2 with madrl.attributes: a hint asks for a category of one attribute"),
    ],
)
def test_what_has_no_rule_for_several_attributes_is_refused_beside_them(changes: Any, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        Settings.from_config(NODE | changes)
    alone = {key: value for key, value in NODE.items() if key != "attributes"}
    assert Settings.from_config(alone | changes).attributes == {}


def test_a_group_earns_the_weighted_sum_of_its_attributes_terms_as_worked_by_hand() -> None:
    score = reward_of().score(rollouts("a", "a", "b c", "z"))
    # First: q = (1/2, 1/4), p* = (1/2, 1/2): 0, 0, 1/4, off-support -1.
    # Size:  q = (3/4, 1/4), p* = (3/4, 1/4): 0 everywhere. Twice that is added.
    np.testing.assert_allclose(score.divergence_reward, [0, 0, 0.25, -1], atol=1e-15)
    score = reward_of().score(rollouts("a", "a b", "b c", "z z"))
    # First as before; size: q = (1/4, 3/4): 3/4 - 1/4 = 1/2 for short, 1/4 - 3/4 = -1/2 for long.
    np.testing.assert_allclose(score.attributes[0].divergence_reward, [0.5, -0.5, -0.5, -0.5])
    np.testing.assert_allclose(score.divergence_reward, [1, -1, 0.25 - 1, -1 - 1])
    np.testing.assert_allclose(score.reward, [0.5, -0.5, -0.375, -1])
    np.testing.assert_allclose(score.attributes[0].frequency, [0.25, 0.75])
    np.testing.assert_allclose(score.frequency, [0.5, 0.25])


def test_an_attribute_that_is_the_first_again_doubles_its_term_and_changes_nothing_else() -> None:
    rng = np.random.default_rng(0)
    config, target = RewardConfig(divergence="rkl"), np.array([0.5, 0.3, 0.2])
    for _ in range(50):
        indices = rng.integers(OFF_SUPPORT, 3, size=8)
        correct = rng.choice([0.0, 1.0], size=8).tolist()
        alone = score_group(indices, correct, target, config)
        twice = score_group(indices, correct, target, config, further=[FurtherAttribute(indices, target, 1.0)])
        np.testing.assert_array_equal(twice.divergence_reward, 2 * alone.divergence_reward)
        np.testing.assert_array_equal(twice.attributes[0].divergence_reward, alone.divergence_reward)
        np.testing.assert_array_equal(twice.frequency, alone.frequency)


def test_one_attribute_without_a_category_takes_its_siblings_mean_of_that_term_alone() -> None:
    config, target = RewardConfig(divergence="l2"), np.array([0.5, 0.5])
    first, second = np.array([0, 0, 1]), np.array([0, 1, UNCLASSIFIED])
    score = score_group(first, [0, 0, 0], target, config, further=[FurtherAttribute(second, target, 1.0)])
    # First: q = (2/3, 1/3): -1/6, -1/6, 1/6. Second, of the two that are known: q = (1/2, 1/2): 0, and their mean is 0.
    np.testing.assert_allclose(score.divergence_reward, [-1 / 6, -1 / 6, 1 / 6])
    np.testing.assert_allclose(score.attributes[0].frequency, [0.5, 0.5])


def test_attributes_of_another_length_and_hinted_responses_beside_them_are_refused() -> None:
    config, target, indices = RewardConfig(), np.array([0.5, 0.5]), np.array([0, 1])
    further = [FurtherAttribute(np.array([0]), target, 1.0)]
    with pytest.raises(MadrlError, match="2 categories but 1 of a further attribute"):
        score_group(indices, [1, 1], target, config, further=further)
    further = [FurtherAttribute(indices, target, 1.0)]
    with pytest.raises(MadrlError, match="hinted responses with further attributes"):
        score_group(indices, [1, 1], target, config, np.array([True, False]), further)


async def test_a_grade_has_the_category_of_each_attribute_and_an_exception_of_one_leaves_that_one_ungraded() -> None:
    reward = reward_of()
    grade = await reward.grade(Rollout("b c", ""))
    assert (grade.category, grade.attributes["size"].category, grade.has_all_categories) == ("right", "long", True)
    lost = await reward.grade(Rollout("b?", ""))
    assert (lost.category, lost.classified, lost.has_all_categories) == ("right", True, False)
    assert lost.attributes["size"] == (None, "classifier raised ConnectionError: nobody knows", "", False)
    assert lost.reason == "attribute size: classifier raised ConnectionError: nobody knows"


async def test_a_batch_whose_further_categories_nobody_can_say_is_an_outage() -> None:
    whose = r"^classifier test_attributes:by_size of attribute size could not grade 3 of 3 responses"
    with pytest.raises(MadrlError, match=rf"{whose} \(classifier raised ConnectionError: nobody knows\)"):
        await reward_of().grader.grade_all(rollouts("a?", "b?", "a?"))


async def test_a_category_that_an_attribute_does_not_declare_is_a_mistake_of_its_classifier() -> None:
    reward = reward_of(attributes={"size": {"classifier": by_size, "categories": ["short", "middle"]}})
    with pytest.raises(MadrlError, match=r"by_size: .*'long'"):
        await reward.grade(Rollout("a b", ""))


def test_what_tells_graders_apart_has_the_attributes_classifiers_and_nothing_of_what_is_wanted_of_them() -> None:
    def identity(**changes: Any) -> dict[str, Any]:
        attributes = attributes_of({"length": {**LENGTH, "categories": ["short", "long"], **changes}})
        return Grader(GraderSpec("choice", "math", ("a",), attributes=attributes)).identity()

    plain = Grader(GraderSpec("choice", "math", ("a",))).identity()
    assert not [key for key in plain if "attribute" in key]
    assert identity() == identity(target={"short": 1}, weight=3)
    assert identity() != identity(classifier_args={"unit": "words", "buckets": {"short": 3, "long": None}})
    assert json.dumps(identity())


def record(group: str, category: str | None, length: str | None, **more: Any) -> dict[str, Any]:
    return {
        "group": group, "session": 0, "turn": 0, "category": category, "correct": 1.0, "correctness": 1.0,
        "divergence_reward": 0.0, "reward": 0.0, "reason": "", "unusual": None, "queued": 1, "truncated": False,
        "attributes": {"length": {"category": length, "classified": True, "divergence_reward": 0.25}}, **more,
    }  # fmt: skip


def test_a_record_of_an_attribute_has_its_category_in_the_place_of_the_first() -> None:
    own = of_attribute(record("p", "left", "long", target='{"left": 1}'), "length")
    assert (own["category"], own["divergence_reward"], own["correct"]) == ("long", 0.25, 1.0)
    assert "target" not in own, "a prompt's own target is one for the first"
    with pytest.raises(MadrlError, match=r"no attribute 'tone': attributes has \['length'\]"):
        of_attribute(record("p", "left", "long"), "tone")


def test_a_response_that_lacks_a_further_category_is_ungraded() -> None:
    lost = record("p", "left", None)
    lost["attributes"]["length"]["classified"] = False
    assert (is_ungraded(lost), is_ungraded(record("p", "left", None))) == (True, False)


def test_each_attribute_has_metrics_of_its_own_worked_by_hand() -> None:
    settings = Settings.from_config(NODE)
    records = [record("p", "left", "short"), record("p", "right", "long"), record("q", "left", None)]
    found = batch_metrics(records, settings)
    assert found["mad/share/left"] == pytest.approx(2 / 3)
    assert found["mad/off_support_rate"] == 0
    of_length = metrics_of_attribute(found, "length")
    assert of_length["mad/share/short"] == 0.5
    assert of_length["mad/off_support_rate"] == pytest.approx(1 / 3)
    assert of_length["mad/jsd"] == jsd_to_target(np.array([0.75, 0.25]), np.array([0, 1]))
    assert of_length["mad/divergence_reward/mean"] == 0.25
    assert "mad/pass@1" not in of_length
    alone = {key: value for key, value in NODE.items() if key != "attributes"}
    first = {key: value for key, value in found.items() if not key.startswith("mad/attributes/")}
    assert batch_metrics(records, Settings.from_config(alone)) == first


def test_an_attribute_s_alarms_name_it_and_survive_a_resume(tmp_path: Path) -> None:
    settings = Settings.from_config(NODE)
    sound = {"mad/share/left": 0.5, "mad/share/right": 0.5, "mad/single_category_group_rate": 0.0}
    starved = {f"mad/attributes/length/{name}": p for name, p in (("share/short", 1.0), ("share/long", 0.0))}
    starved |= {"mad/attributes/length/off_support_rate": 0.9, "mad/attributes/length/single_category_group_rate": 0.2}
    history = dict.fromkeys(range(1, 13), sound | starved)
    path = tmp_path / "alarms.jsonl"
    health = RunHealth(settings, prompts=8, group_size=16)
    for step, metrics in history.items():
        health.record(step, metrics, path)
    events = read_events(path)
    assert [(event.name, list(event.categories)) for event in events] == [
        ("starved_categories of length", ["long"]),
        ("off_support of length", []),
    ]
    assert str(events[0]).startswith("ALARM starved_categories of length at step ")
    assert health.metrics()["mad/alarm/starved_categories"] == 1
    resumed = RunHealth(settings, prompts=8, group_size=16)
    resumed.resume(history, 13, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()


CONFIG = """
seed: 42
paths: {{run: {root}, data: data}}
data: {{train_batch_size: 2}}
actor_rollout_ref: {{rollout: {{n: 4}}, actor: {{entropy_coeff: 0}}}}
trainer: {{total_training_steps: 2, experiment_name: x}}
madrl: {madrl}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    root = tmp_path / "run"
    for folder in ("validation", "scores"):
        (root / folder).mkdir(parents=True)
    (root / "config.yaml").write_text(CONFIG.format(root=root, madrl=json.dumps(NODE)))
    (root / "run.json").write_text(json.dumps({"attempts": [{"status": "finished", "overrides": []}]}))
    for step, long_ in ((0, 6), (2, 2)):
        lines = []
        for i in range(8):
            row = record(f"p{i // 4}", ("left", "right")[i % 2], "long" if i < long_ else "short")
            own = {"uid": f"p{i // 4}_{i % 4}_0", "input": "?", "output": "!", "gts": "", "score": 0.0, "row": "0"}
            row["attributes"] = json.dumps(row["attributes"])  # as veRL dumps it
            lines.append(json.dumps({k: v for k, v in row.items() if k not in ("group", "session", "turn")} | own))
        (root / "validation" / f"{step}.jsonl").write_text("\n".join(lines) + "\n")
    metrics = {"mad/share/left": 0.5, "mad/share/right": 0.5, "mad/jsd": 0.01, "mad/jsd_per_prompt": 0.02}
    metrics |= {"mad/attributes/length/share/short": 0.6, "mad/attributes/length/share/long": 0.4}
    metrics |= {"mad/attributes/length/jsd": 0.03}
    (root / "metrics.jsonl").write_text("".join(json.dumps({"step": s, "data": metrics}) + "\n" for s in (1, 2)))
    return root


def test_a_run_is_evaluated_once_for_each_attribute(run: Path) -> None:
    found = evaluate_run(run)
    shares = [
        [of["share"] for of in one["by_category"].values()] for one in found["attributes"]["length"]["evaluations"]
    ]
    assert shares == [[0.25, 0.75], [0.75, 0.25]]
    assert found["attributes"]["length"]["target"] == {"short": 0.75, "long": 0.25}
    assert [one["by_category"]["left"]["share"] for one in found["evaluations"]] == [0.5, 0.5]
    assert found["attributes"]["length"]["evaluations"][1]["jsd"] == 0
    assert str(Run.load(run).key) == "mine uniform l2, with length add50 seed 42"


def test_the_evaluation_and_the_page_of_a_run_show_each_attribute(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "Pooled responses: length" in printed
    assert (run / "evaluation.png").exists()
    assert main(["report", str(run), "-o", str(tmp_path / "page")]) == 0
    page = (tmp_path / "page" / "index.html").read_text()
    for said in ("Category shares: length", "Distance to the target: length", "Categories: length"):
        assert said in page


def test_rescoring_refuses_what_it_has_no_targets_for(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    lines = [record("p", "left", "short"), record("p", "right", "long", session=1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_graded(path, ["short", "long"], "length")[1]["category"] == "long"
    with pytest.raises(MadrlError, match="earned something for length too"):
        rescore.rescore_file(path, tmp_path / "out", ("left", "right"), np.array([0.5, 0.5]), RewardConfig())


def test_an_attribute_s_classifier_is_asked_whether_it_is_ready() -> None:
    class Waits:
        def __call__(self, rollout: Rollout) -> str:
            return "short"

        def check_ready(self) -> None:
            raise MadrlError("its server is down")

    reward = reward_of(attributes={"size": {"classifier": Waits(), "categories": ["short", "long"]}})
    with pytest.raises(MadrlError, match="its server is down"):
        reward.grader.check_ready()
    assert asyncio.run(reward.grade(Rollout("a", ""))).attributes["size"].category == "short"
