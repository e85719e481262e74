import csv
import json
from pathlib import Path
from typing import Any

import pytest
from prepared_data import content, read_rows, run_module

from data_prep import opinion_surveys
from data_prep.opinion_surveys import SurveyError, answers_of, options_of, selections_of
from madrl.schema import check_parquet
from madrl.targets import resolve_target

SPLITS = ("train", "selection", "validation", "holdout")


def row(question: str, selections: Any, options: Any = ("Good", "Bad"), wrapped: bool = True) -> dict[str, str]:
    """A row as the dataset has it: Python's own texts of a dictionary and a list."""
    text = f"defaultdict(<class 'list'>, {selections!r})" if wrapped else repr(selections)
    return {"question": question, "selections": text, "options": repr(list(options)), "source": "WVS"}


GOOD = [
    row(f"How is thing {i}?", {"Norland": [i / 40, 1 - i / 40], "Sudland (Current national sample)": [0.5, 0.5]})
    for i in range(40)
]

BAD = {
    "no_question": row("", {"Norland": [0.5, 0.5]}),
    "selections_not_read": row("Is this run?", {}) | {"selections": "__import__('os').abort()"},
    "options_not_read": row("Is this a list?", {"Norland": [0.5, 0.5]}) | {"options": "[nan, 'Yes']"},
    "number_of_options": row("Which one?", {"Norland": [1.0]}, ["This"]),
    "options_not_distinct": row("Which of two?", {"Norland": [0.5, 0.5]}, ["This", "This "]),
    "country_not_asked": row("Whom did they ask?", {"Sudland": [0.5, 0.5]}),
    "shares_not_read": row("How many?", {"Norland": [60, 40]}),
    "number_of_shares": row("And the third?", {"Norland": [0.2, 0.8]}, ["This", "That", "Neither"]),
    "shares_do_not_sum_to_1": row("What else?", {"Norland": [0.2, 0.5]}),
}
"""Reason -> a row that is dropped for it, for the country Norland."""


def write_source(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["question", "selections", "options", "source"])
        writer.writeheader()
        writer.writerows(rows)
    return path


def prepare(source: Path, target: Path, *arguments: str) -> int:
    paths = ["--local_dataset_path", str(source), "--local_save_dir", str(target)]
    return opinion_surveys.main([*paths, *arguments])


def rows_of(folder: Path) -> dict[str, Any]:
    """The first line of its prompt -> row."""
    rows = [row for split in SPLITS for row in read_rows(folder, split)]
    return {row["prompt"][0]["content"].splitlines()[0]: row for row in rows}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "global_opinions.csv", GOOD + list(BAD.values()))


@pytest.fixture(scope="module")
def norland(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("norland")
    assert prepare(source, folder, "--country", "Norland") == 0
    return folder


def test_a_row_asks_for_a_letter_and_its_target_is_how_often_the_country_chose_each(norland: Path) -> None:
    found = rows_of(norland)["How is thing 10?"]
    assert found["prompt"] == [
        {
            "role": "user",
            "content": "How is thing 10?\n\nA. Good\nB. Bad\n\nAnswer with the letter of one option only.",
        }
    ]
    info = found["extra_info"]
    assert json.loads(info["target"]) == {"A": 0.25, "B": 0.75}  # 10/40, 30/40
    assert json.loads(info["categories"]) == ["A", "B"]
    assert json.loads(found["reward_model"]["ground_truth"]) == {"A": "Good", "B": "Bad"}
    assert (info["source"], info["countries"]) == ("WVS", 1)
    assert found["ability"] == "opinion"


def test_without_a_country_the_target_is_the_mean_over_all_that_were_asked(source: Path, tmp_path: Path) -> None:
    assert prepare(source, tmp_path) == 0
    info = rows_of(tmp_path)["How is thing 10?"]["extra_info"]
    assert json.loads(info["target"]) == {"A": 0.375, "B": 0.625}  # (0.25 + 0.5) / 2
    assert info["countries"] == 2
    # Sudland alone was asked this one.
    assert json.loads(rows_of(tmp_path)["Whom did they ask?"]["extra_info"]["target"]) == {"A": 0.5, "B": 0.5}


def test_no_question_is_in_two_splits(norland: Path) -> None:
    prompts = [[row["prompt"][0]["content"] for row in read_rows(norland, split)] for split in SPLITS]
    assert sum(map(len, prompts)) == len(set().union(*prompts)) == 40
    assert all(check_parquet(norland / f"{split}.parquet") for split in SPLITS)


def test_the_manifest_has_the_reason_of_every_row_that_is_dropped(norland: Path) -> None:
    manifest = json.loads((norland / "manifest.json").read_text("utf-8"))
    assert manifest["drops"] == dict.fromkeys(sorted(BAD), 1)
    assert (manifest["rows_read"], manifest["rows_kept"]) == ({"train": 49}, {"train": 40})
    assert (manifest["country"], manifest["categories"]) == ("Norland", ["A", "B"])
    details = {drop["reason"]: drop["detail"] for drop in manifest["dropped"]}
    assert details["shares_do_not_sum_to_1"] == "Norland: [0.2, 0.5] sum to 0.7"
    assert details["number_of_shares"] == "Norland: [0.2, 0.8] are 2 shares of 3 options"
    assert details["options_not_read"] == "options is \"[nan, 'Yes']\": ValueError"


def test_the_same_arguments_give_the_same_bytes_in_another_process(norland: Path, source: Path, tmp_path: Path) -> None:
    arguments = ("--local_dataset_path", source, "--local_save_dir", tmp_path, "--country", "Norland")
    done = run_module("opinion_surveys", *arguments)
    assert done.returncode == 0, done.stderr
    assert "categories: [A, B]" in done.stdout
    assert content(tmp_path) == content(norland)


def test_a_country_that_was_asked_nothing_is_named_beside_those_that_were(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(source, tmp_path, "--country", "Atlantis") == 2
    assert "--country 'Atlantis' was asked nothing: the rows name Norland, Sudland" in capsys.readouterr().err


def test_a_bad_country_is_left_out_of_the_mean() -> None:
    answers = answers_of({"Norland": [0.2, 0.8], "Sudland": [], "Estland": [0.4, 0.6]}, 2, None)
    assert answers.shares == pytest.approx([0.3, 0.7])
    assert answers.countries == 2
    with pytest.raises(SurveyError, match="Sudland"):
        answers_of({"Sudland": []}, 2, None)


def test_rounded_shares_are_normalised() -> None:
    shares = answers_of({"Norland": [0.33, 0.33, 0.33]}, 3, "Norland").shares
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert resolve_target(dict(zip("ABC", shares, strict=True)), ["A", "B", "C"]) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("wrapped", [True, False])
def test_selections_are_a_dictionary_in_a_defaultdict_or_by_itself(wrapped: bool) -> None:
    shares = {"Côte d'Ivoire": [0.25, 0.75], "Norland": [1, 0]}
    assert selections_of(row("?", shares, wrapped=wrapped)["selections"]) == shares


@pytest.mark.parametrize(
    "text",
    [
        "defaultdict(<class 'list'>, open('x'))",
        "defaultdict(<class 'list'>, {}) or open('x')",
        "{'Norland': [nan, 1]}",
        "{[]: 1}",
        "[0.5, 0.5]",
        "(" * 10_000,
        "",
    ],
)
def test_what_is_no_literal_dictionary_is_no_survey(text: str) -> None:
    with pytest.raises(SurveyError) as caught:
        selections_of(text)
    assert caught.value.reason == "selections_not_read"


def test_options_that_are_numbers_are_read_as_text() -> None:
    assert options_of("[1, 2.0, 'Very\\n good ']") == ["1", "2.0", "Very good"]
    with pytest.raises(SurveyError, match="27 options"):
        options_of(repr(list(range(27))))


def test_half_a_character_is_named_with_its_row_and_as_an_option_drops_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = [json.dumps(one) for one in GOOD]
    half = row("Is this text?", {"Norland": [0.5, 0.5]}, ["\ud800", "b"])
    (tmp_path / "train.jsonl").write_text("\n".join([*whole, json.dumps(half)]))
    assert prepare(tmp_path / "train.jsonl", tmp_path / "out", "--country", "Norland") == 0
    (dropped,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["dropped"]
    assert (dropped["reason"], dropped["row"]) == ("options_not_read", "train.jsonl, line 41")
    (tmp_path / "train.jsonl").write_text("\n".join([*whole, json.dumps(half | {"question": "Is \ud800 text?"})]))
    capsys.readouterr()
    assert prepare(tmp_path / "train.jsonl", tmp_path / "out2") != 0
    assert "train.jsonl, line 41: field 'question' is not Unicode text" in capsys.readouterr().err
