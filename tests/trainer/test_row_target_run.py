"""The real trainer on prompts with targets of their own, for two steps."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from real_runs import Trainings

from madrl.files import read_jsonl
from madrl.frequency import category_indices
from madrl.records import read
from madrl.report.evaluate import report_run
from madrl.reward import score_group
from madrl.run_folder import RunFolder
from madrl.trainer.row_targets import NO_LAUNCH_CHECK

pytestmark = [pytest.mark.verl, pytest.mark.slow, pytest.mark.nightly]

TARGETS = ('{"rank_1": 3, "rank_2": 1}', "uniform", None)
OWN = ["rank_1", "rank_2", "rank_3"]
"""Of the prompts that have a target, the first two of TARGETS: their categories."""
OPTIONS = (
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=madrl.trainer.group_loop.GroupAgentLoopManager",
    "madrl.target=uniform",
    "trainer.total_training_steps=2",
)


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    """The data of the other real runs, a third of the rows with each of TARGETS."""
    trainings = Trainings(tmp_path_factory.mktemp("own_targets"))
    own = trainings.folder / "own"
    own.mkdir()
    for file in trainings.data.glob("*.parquet"):
        rows = pq.read_table(file).to_pylist()
        for i, row in enumerate(rows):
            target = TARGETS[i % 3]
            row["extra_info"] |= {"target": target, "categories": target and json.dumps(OWN)}
        pq.write_table(pa.Table.from_pylist(rows), own / file.name)
    return trainings


@pytest.fixture(scope="module")
def own(trainings: Trainings) -> RunFolder:
    data = trainings.folder / "own"
    files = (f"paths.data={data}", f"data.val_files={data / 'validation.parquet'}")
    return trainings.run("own", *OPTIONS, *files)


def targets_by_row(records: list[dict[str, Any]]) -> dict[int, set[str | None]]:
    found = defaultdict(set)
    for record in records:
        found[record["row"]].add(record["target"])
    return found


def test_every_dump_has_the_target_that_each_row_gives_its_prompt(own: RunFolder) -> None:
    resolved = (
        '{"rank_1": 0.75, "rank_2": 0.25, "rank_3": 0.0}',
        json.dumps(dict.fromkeys(OWN, 1 / 3)),
        None,
    )
    for folder, steps in ((own.scores, (1, 2)), (own.validation, (0, 2))):
        for step in steps:
            for row, targets in targets_by_row(list(read(folder / f"{step}.jsonl", ("row", "category")))).items():
                assert targets == {resolved[row % 3]}, (folder.name, step, row)


def test_each_group_is_rewarded_and_measured_by_its_own_target(own: RunFolder) -> None:
    settings = own.settings()
    for step in (1, 2):
        groups = defaultdict(list)
        for record in read_jsonl(own.scores / f"{step}.jsonl"):
            groups[record["group"]].append(record)
        wanted = np.zeros(5)
        for group in groups.values():
            share = json.loads(group[0]["target"] or json.dumps(dict.fromkeys(settings.categories, 0.2)))
            indices = category_indices([r["category"] for r in group], list(share))
            expected = score_group(indices, [r["correct"] for r in group], np.array([*share.values()]), settings.reward)
            assert [r["reward"] for r in group] == pytest.approx(expected.reward.tolist(), abs=1e-5)
            wanted += np.array([share.get(name, 0.0) for name in settings.categories]) * np.sum(indices >= 0)
        metrics = own.history()[step]
        told = [metrics[f"mad/target/{name}"] for name in settings.categories]
        assert told == pytest.approx((wanted / wanted.sum()).tolist())
        assert 0 < metrics["mad/jsd_per_prompt_floor"] < metrics["mad/jsd_per_prompt"] < np.log(2)


def test_a_category_that_is_not_the_prompt_s_is_off_support_in_the_dumps_with_its_name(own: RunFolder) -> None:
    records = [r for step in (1, 2) for r in read_jsonl(own.scores / f"{step}.jsonl") if r["target"]]
    assert {r["category"] for r in records} <= {*OWN, None}
    assert any(
        f"category {name!r} is none of this prompt's" in r["reason"] for r in records for name in ("rank_4", "rank_5")
    )


def test_no_launch_check_is_made_and_the_run_says_so(own: RunFolder) -> None:
    assert own.launch_check.read_text() == f"{NO_LAUNCH_CHECK}\n"


def test_the_run_is_evaluated_against_the_targets_in_its_dumps(own: RunFolder) -> None:
    report_run(str(own.root))
    for one in json.loads(own.evaluation.read_text())["evaluations"]:
        dump = read(own.validation / f"{one['step']}.jsonl", ("category",))
        assert one["targets"] == len({record["target"] for record in dump}) > 1
        assert sum(of["target"] for of in one["by_category"].values()) == pytest.approx(1)
