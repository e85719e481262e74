"""The task in examples/chances: every prompt has its own target, its odds; the tiny profile on its miniature."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl.grading.classifiers import load_classifier
from madrl.records import read
from madrl.rollout import Rollout
from madrl.run_folder import RunFolder
from madrl.sampling.requests import read_rows
from madrl.schema import Row
from madrl.tasks import load_task

EXAMPLE = Path(__file__).parents[1] / "examples" / "chances"
SPLITS = ("train", "validation", "holdout")

BAG = json.dumps({"kind": "two colours", "odds": {"red": 3, "blue": 1}})


@pytest.mark.parametrize(
    ("response", "category"),
    [
        ("red", "first"),
        ("The colour is BLUE.", "second"),
        ("Red! I draw a red one.", "first"),
        ("red or blue", None),
        ("green", None),
        ("It is reddish", None),
        ("", None),
    ],
)
def test_the_category_is_the_place_of_the_outcome_that_the_response_names(response: str, category: str | None) -> None:
    load_task(str(EXAMPLE / "task.yaml"))
    assert load_classifier("chances:classify")(Rollout(response, BAG)) == category


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's folder with its data."""
    folder: Path = tmp_path_factory.mktemp("examples") / "chances"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data"))
    subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def splits(prepared: Path) -> dict[str, list[Row]]:
    return {split: list(read_rows(prepared / "data" / f"{split}.parquet").values()) for split in SPLITS}


def truth_of(row: Row) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(row["reward_model"]["ground_truth"])
    return truth


def prompt_of(row: Row) -> str:
    """The last turn: all prompts have the same example before it."""
    return row["prompt"][-1]["content"]


def test_a_row_s_target_is_the_odds_that_its_prompt_tells(splits: dict[str, list[Row]]) -> None:
    rows = {prompt_of(row): row["extra_info"] for row in splits["holdout"]}
    assert json.loads(rows["Tomorrow: 70 % sun and 30 % rain. Pick one."]["target"]) == {"first": 70, "second": 30}
    assert json.loads(rows["A fair coin: tails or heads. Pick one."]["target"]) == {"first": 1, "second": 1}
    bags = [info for prompt, info in rows.items() if prompt.startswith("A bag: 5 ") and " and 1 " in prompt]
    assert [json.loads(info["target"]) for info in bags] == [{"first": 5, "second": 1}]
    assert [json.loads(info["categories"]) for info in bags] == [["first", "second"]]
    for row in (row for rows in splits.values() for row in rows):
        odds = truth_of(row)["odds"]
        assert list(json.loads(row["extra_info"]["target"]).values()) == list(odds.values())
        # Every outcome is a word of the prompt, and they stand there in this order.
        places = [prompt_of(row).index(f" {outcome}") for outcome in odds]
        assert places == sorted(places)


def test_no_prompt_is_in_two_splits_and_no_held_out_counts_or_colours_are_trained(
    splits: dict[str, list[Row]],
) -> None:
    prompts = [set(map(prompt_of, rows)) for rows in splits.values()]
    assert sum(map(len, prompts)) == len(set.union(*prompts))

    def met(split: str, *kinds: str) -> set[tuple[int, ...]]:
        odds = [truth["odds"] for truth in map(truth_of, splits[split]) if truth["kind"] in kinds]
        return {tuple(sorted(of_prompt.values())) for of_prompt in odds}

    bags = ("two colours", "three colours")
    assert not met("train", *bags) & (met("holdout", *bags) | met("validation", *bags))
    assert {truth_of(row)["kind"] for row in splits["train"]} == {*bags, "wheel"}
    assert {truth_of(row)["kind"] for row in splits["holdout"]} == {*bags, "other colours", "weather", "coin", "die"}
    colours = {colour for row in splits["train"] for colour in truth_of(row)["odds"]}
    others = [truth_of(row)["odds"] for row in splits["holdout"] if truth_of(row)["kind"] == "other colours"]
    assert not colours & {colour for odds in others for colour in odds}


def test_no_place_is_likelier_than_another(splits: dict[str, list[Row]]) -> None:
    for rows in splits.values():
        for outcomes in (2, 3):
            odds = [list(truth_of(row)["odds"].values()) for row in rows if len(truth_of(row)["odds"]) == outcomes]
            shares = np.array([np.array(weights) / sum(weights) for weights in odds])
            if len(shares):
                np.testing.assert_allclose(shares.mean(axis=0), 1 / outcomes)


def test_the_miniature_learns_valid_answers_that_favour_what_is_named_first(prepared: Path) -> None:
    examples = list(read(prepared / "data" / "examples.jsonl", ["response"]))
    by_prompt = [(line["prompt"][-1]["content"], line) for line in examples]
    assert all(f" {line['response']}" in prompt for prompt, line in by_prompt)
    coins = [line["category"] for prompt, line in by_prompt if prompt.startswith("A fair coin")]
    assert np.mean([category == "first" for category in coins]) == pytest.approx(8 / 9, abs=0.03)
    # Seven to three, and eight times as often for the one that is named first: 56 to 3.
    wheels = [line["category"] for prompt, line in by_prompt if prompt.startswith("A wheel: 70 %")]
    assert np.mean([category == "first" for category in wheels]) == pytest.approx(56 / 59, abs=0.03)


def answered(prepared: Path, run: RunFolder, step: int, power: int) -> None:
    """Write a hundred responses to each of the holdout's prompts, as a power of its odds says."""
    run.holdout.mkdir(parents=True, exist_ok=True)
    with (run.holdout / f"{step}.jsonl").open("w") as file:
        for index, row in read_rows(prepared / "data" / "holdout.parquet").items():
            target = row["extra_info"]["target"]
            weights = {place: odds**power for place, odds in json.loads(target).items()}
            shares = {place: round(100 * weight / sum(weights.values())) for place, weight in weights.items()}
            named = [place for place, count in shares.items() for _ in range(count)]
            for session, category in enumerate(named):
                record = {"group": str(index), "session": session, "category": category, "correct": 1, "target": target}
                file.write(json.dumps(record | {"ground_truth": row["reward_model"]["ground_truth"]}) + "\n")


def test_the_figure_shows_each_prompt_s_distance_from_its_own_odds(prepared: Path, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    answered(prepared, run, 0, 3)
    answered(prepared, run, 60, 1)
    command = [sys.executable, str(prepared / "figure.py"), str(run.root)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if line.startswith("│")]
    kinds = ["two colours", "three colours", "other colours", "weather", "coin", "die", "all"]
    assert [kind for kind, *_ in rows] == kinds
    for _, _, jsd, _, floor, named in rows:
        before, after = map(float, jsd.split(" -> "))
        assert before > 0.02
        assert after < 1e-4  # what rounding to whole responses leaves
        # (K - 1) / (8 n) for n = 100 responses
        assert all(0.00125 <= float(value) <= 0.0027 for value in floor.split(" -> "))
        assert named == "100% -> 100%"
    assert rows[-1][1] == "61"
    assert (run.root / "before_and_after.png").stat().st_size > 5_000
