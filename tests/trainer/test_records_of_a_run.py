"""What a run writes of its responses is what ``madrl rescore`` and ``madrl evaluate`` read, and earns what it earned.

The run's own reward manager scores the groups; no trainer, no Ray cluster.
"""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scripted_engine import ScriptedEngines, write_model
from test_group_loop import OPTIONS, WordTokenizer
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from madrl.cli import main
from madrl.evaluation.samples import score_samples
from madrl.grading.choice import choice_ground_truth
from madrl.grading.grader import GraderSpec
from madrl.records import read, read_graded
from madrl.sampling.engine import Generated, Sampling
from madrl.sampling.generate import generate_file
from madrl.schema import make_row, write_parquet
from madrl.trainer.compose import compose
from madrl.trainer.group_loop import Arrival, group_data
from madrl.trainer.replay_buffer import MadReplayBuffer, write_scores
from madrl.trainer.reward_manager import MadRewardManager

RESPONSES = (("Arctic", "Indian", "Indian", "nothing"), ("Pacific", "Pacific", "Arctic and Indian", "Southern"))
"""Of two prompts."""

ALPHA = ("madrl.reward.divergence=rkl", "madrl.reward.form=additive", "madrl.reward.alpha=0.5")

REWARD = ("--divergence", "rkl", "--form", "additive", "--alpha", "0.5")


@pytest.fixture(scope="module")
def manager() -> MadRewardManager:
    config = compose(["task=synthetic_closed", "madrl.target=peak", "trainer.experiment_name=x", *ALPHA])
    return MadRewardManager(config, WordTokenizer())


def scored(manager: MadRewardManager, row: int, validate: bool = False) -> dict[str, Any]:
    """What the run's reward manager says of one prompt's group."""
    columns = {
        "uid": f"random{row}",
        "data_source": "synthetic_closed_train",
        "reward_model": {"style": "rule", "ground_truth": choice_ground_truth(OPTIONS)},
        "extra_info": {"index": row, "split": "train", "cluster": "oceans"},
        "raw_prompt": [{"role": "user", "content": "Name an ocean."}],
    }
    arrivals = []
    for text in RESPONSES[row]:
        ids = WordTokenizer().encode(text)
        output = AgentLoopOutput(
            prompt_ids=[1], response_ids=ids, response_mask=[1] * len(ids), metrics=AgentLoopMetrics()
        )
        arrivals.append(Arrival(output, columns))
    return asyncio.run(manager.run_single(group_data(arrivals, {"validate": validate})))


def rescored(manager: MadRewardManager, path: Path) -> list[dict[str, Any]]:
    out = path.with_name("rescored.jsonl")
    names = ",".join(manager.reward.categories)
    assert main(["rescore", str(path), "-o", str(out), "--categories", names, "--target", "peak", *REWARD]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def generated(folder: Path, manager: MadRewardManager) -> Path:
    """The same responses as `madrl generate` writes them."""
    rows = [
        make_row(
            data_source="synthetic_closed_train",
            prompt="Name an ocean.",
            ability="choice",
            ground_truth=choice_ground_truth(OPTIONS),
            index=row,
            split="train",
            extra={"cluster": "oceans"},
        )
        for row in range(len(RESPONSES))
    ]
    write_parquet(rows, folder / "rows.parquet")
    engines = ScriptedEngines(lambda request: Generated(RESPONSES[request.row][request.sample], "stop", 1, 1))
    grader = GraderSpec("choice", "listed_option", manager.reward.categories)
    sampling = Sampling(str(write_model(folder / "model")))
    generate_file(
        folder / "rows.parquet", folder / "generated.jsonl", sampling, grader, len(RESPONSES[0]), start=engines.start
    )
    return folder / "generated.jsonl"


def test_rescoring_what_generate_wrote_gives_the_rewards_of_the_run_s_own_reward_manager(
    tmp_path: Path,
    manager: MadRewardManager,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = rescored(manager, generated(tmp_path, manager))
    groups = [scored(manager, row) for row in range(len(RESPONSES))]
    assert [row["reward"] for row in rows] == [reward for group in groups for reward in group["reward_score"]]
    infos = [info for group in groups for info in group["reward_extra_info"]]
    assert [row["divergence_reward"] for row in rows] == [info["divergence_reward"] for info in infos]
    assert "responses rescored: 8, groups: 2" in capsys.readouterr().out


def written_scores(folder: Path, manager: MadRewardManager, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the run's replay buffer makes of the groups, as it writes it to ``folder``/7.jsonl."""
    keys, fields = [], {"extra_fields": [], "rm_scores": []}  # type: tuple[list[str], dict[str, list[Any]]]
    for row in range(len(RESPONSES)):
        group = scored(manager, row)
        for session, (reward, info) in enumerate(zip(group["reward_score"], group["reward_extra_info"], strict=True)):
            # Each session has an output before its last one, to which veRL gives the same reward.
            for turn in (0, 1):
                keys.append(f"random_{row}_{session}_{turn}")
                fields["extra_fields"].append({"reward_extra_info": info})
                fields["rm_scores"].append(np.array([0.0, reward]))
    monkeypatch.setattr("madrl.trainer.replay_buffer.tq.kv_batch_get", lambda **_: fields)
    buffer = MadReplayBuffer.__new__(MadReplayBuffer)  # its own state, without veRL's
    buffer.max_response_length = 64
    tags = [{"response_len": 1}] * len(keys)
    write_scores(folder, 7, buffer._records(SimpleNamespace(keys=keys, tags=tags, partition_id="train")))
    return [json.loads(line) for line in (folder / "7.jsonl").read_text().splitlines()]


def test_rescoring_a_run_s_scores_gives_the_rewards_that_they_hold(
    tmp_path: Path, manager: MadRewardManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = written_scores(tmp_path, manager, monkeypatch)
    names = [(line["group"], line["session"], line["turn"], line["row"]) for line in written]
    assert names == [(f"random_{row}", session, 1, row) for row in (0, 1) for session in range(4)]
    rows = rescored(manager, tmp_path / "7.jsonl")
    assert [row["reward"] for row in rows] == [line["reward"] for line in written]
    assert [row["divergence_reward"] for row in rows] == [line["divergence_reward"] for line in written]


def test_what_a_response_is_of_a_further_attribute_goes_with_it_to_the_scores_and_to_verl_s_own_dumps(
    tmp_path: Path, manager: MadRewardManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "{unit: words, buckets: {one: 1, more: null}}"
    size = f"{{classifier: length, classifier_args: {words}, categories: [one, more], target: {{one: 1, more: 3}}}}"
    config = compose(
        [
            "task=synthetic_closed",
            "madrl.target=peak",
            "trainer.experiment_name=x",
            *ALPHA,
            f"madrl.attributes={{size: {size}}}",
        ]
    )
    assert config.madrl.reward.calibrate is False, "which it is for the peaked target alone"
    with_size = MadRewardManager(config, WordTokenizer())
    written = written_scores(tmp_path, with_size, monkeypatch)
    of_size = read_graded(tmp_path / "7.jsonl", ["one", "more"], "size")
    assert [line["category"] for line in of_size] == [*["one"] * 4, "one", "one", "more", "one"]
    assert [line["category"] for line in written] == [
        i["category"] for r in (0, 1) for i in scored(manager, r)["reward_extra_info"]
    ]
    alone = [info["divergence_reward"] for row in (0, 1) for info in scored(manager, row)["reward_extra_info"]]
    both = [first + line["divergence_reward"] for first, line in zip(alone, of_size, strict=True)]
    np.testing.assert_allclose([line["divergence_reward"] for line in written], both)
    dumped = read_graded(verl_dump(tmp_path, with_size), ["one", "more"], "size")
    assert [line["category"] for line in dumped] == [line["category"] for line in of_size]


def verl_dump(folder: Path, manager: MadRewardManager) -> Path:
    """The same responses as veRL dumps its validation, by its own function."""
    infos: dict[str, list[Any]] = {"uid": [], "reward": []}
    texts = [text for group in RESPONSES for text in group]
    for row in range(len(RESPONSES)):
        group = scored(manager, row, validate=True)
        infos["reward"] += group["reward_score"]
        infos["uid"] += [f"random_{row}_{session}_0" for session in range(len(RESPONSES[row]))]
        for info in group["reward_extra_info"]:
            for key, value in info.items():
                infos.setdefault(key, []).append(value)
    prompts, truths = ["Name an ocean."] * len(texts), [choice_ground_truth(OPTIONS)] * len(texts)
    PPOTrainer._write_generations(prompts, texts, truths, infos["reward"], infos, str(folder), 5)
    return folder / "5.jsonl"


def test_a_validation_dump_of_verl_s_is_read_by_our_names_and_measured_as_the_same_responses_of_generate(
    tmp_path: Path, manager: MadRewardManager
) -> None:
    dump, reward = verl_dump(tmp_path, manager), manager.reward
    first = next(iter(read(dump, ("group", "session", "turn", "response", "ground_truth", "correct"))))
    name = {"group": "random_0", "session": 0, "turn": 0, "row": 0, "prompt": "Name an ocean.", "response": "Arctic"}
    assert {key: first[key] for key in name} == name
    assert {"uid", "input", "output", "gts", "score"} & first.keys() == set()
    ours = read_graded(generated(tmp_path, manager), reward.categories)
    theirs = read_graded(dump, reward.categories)
    found = score_samples(theirs, reward.categories, reward.target, 0.001)
    assert found == score_samples(ours, reward.categories, reward.target, 0.001)
    assert (found["problems"], found["clusters"]) == (2, 1)
    assert [row["reward"] for row in rescored(manager, dump)] == [line["reward"] for line in theirs]
