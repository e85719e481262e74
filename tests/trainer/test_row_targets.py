"""Targets of the prompts' own, checked before a run starts."""

from pathlib import Path
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.schema import make_row, write_parquet
from madrl.trainer.compose import compose
from madrl.trainer.launch import train
from madrl.trainer.row_targets import check_row_targets

FIRST, EVEN = {"target": '{"rank_1": 1}'}, {"target": "uniform"}
SCHEDULE = "madrl.target_schedule=[{step: 0, target: uniform}, {step: 9, target: peak}]"


def overrides(folder: Path, train: list[dict[str, Any]], validation: list[dict[str, Any]], *more: str) -> list[str]:
    """A run whose rows have these fields in extra_info."""
    for name, extras in (("train", train), ("validation", validation)):
        rows = [
            make_row(data_source="x", prompt="?", ability="none", ground_truth="7", index=i, split=name, extra=extra)
            for i, extra in enumerate(extras)
        ]
        write_parquet(rows, folder / f"{name}.parquet")
    paths = [f"paths.{name}={folder / name}" for name in ("model", "run")]
    files = [f"paths.data={folder}", f"data.val_files={folder / 'validation.parquet'}"]
    return ["task=synthetic_closed", "profile=tiny", *files, *paths, *more]


def test_it_is_said_how_many_training_prompts_have_targets_of_their_own(tmp_path: Path) -> None:
    found = check_row_targets(compose(overrides(tmp_path, [FIRST, EVEN, EVEN, {"target": None}], [EVEN])))
    assert str(found) == "3 of 4 training prompts have targets of their own, 2 different ones"
    assert check_row_targets(compose(overrides(tmp_path, [{}, {}], [EVEN]))).training == 0


def test_a_target_over_a_category_that_is_not_declared_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"validation.parquet row 1: extra_info gives .* unknown category 'mauve'"):
        train(overrides(tmp_path, [FIRST], [FIRST, {"target": '{"mauve": 1}'}]))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("training", "option", "message"),
    [
        ([FIRST], SCHEDULE, "^madrl.target_schedule with prompts that have targets of their own .*: leave one out$"),
        (
            [FIRST],
            "madrl.hints=2",
            "^madrl.hints=2 with prompts that have targets of their own .*: .*; set madrl.hints=0$",
        ),
        ([EVEN, FIRST], "madrl.reward.form=gapo", "GAPO has no other target than uniform"),
    ],
)
def test_what_knows_one_target_alone_is_refused(
    tmp_path: Path, training: list[dict[str, Any]], option: str, message: str
) -> None:
    with pytest.raises(MadrlError, match=message) as error:
        check_row_targets(compose(overrides(tmp_path, training, [{}], option)))
    assert "\n" not in str(error.value)


def test_the_final_target_of_a_schedule_is_the_run_s_in_every_node_that_has_it(tmp_path: Path) -> None:
    last = "madrl.target_schedule=[{step: 0, target: uniform}, {step: 9, target: {rank_2: 1, rank_1: 3}}]"
    config = compose(overrides(tmp_path, [{}], [{}], last))
    for node in (config.madrl, config.trainer.v1.sampler.sampler_kwargs.madrl):
        assert node.target == {"rank_2": 1, "rank_1": 3}
    assert compose(overrides(tmp_path, [{}], [{}])).madrl.target == "uniform"
    assert compose(overrides(tmp_path, [{}], [{}], SCHEDULE, "madrl.target=peak")).madrl.target == "peak"
