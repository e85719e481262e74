import json
import math
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.grading.bench import (
    OFF,
    Found,
    Labelled,
    load_labelled,
    main,
    measure,
    measure_classifier,
    measure_scorer,
    measure_verifier,
)
from madrl.rollout import Classification, Rollout

OPTIONS = json.dumps(["bear", "cat", "dog", "eel", "fox"])


def first_letter(rollout: Rollout) -> Classification:
    """A classifier for these tests: "a..." is a, "b..." is b, anything else is off-support."""
    letter = rollout.response[:1]
    return Classification(letter) if letter in ("a", "b") else Classification(None, "neither")


def labelled(*pairs: tuple[str, str | None]) -> list[Labelled]:
    return [Labelled(Rollout(text, ""), category or OFF, "g", line) for line, (text, category) in enumerate(pairs, 1)]


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_accuracy_counts_null_as_a_category_and_the_leak_is_of_the_nulls() -> None:
    result = measure_classifier(
        first_letter, labelled(("ab", "a"), ("bc", "a"), ("x", None), ("a", None), ("b", None), ("y", None))
    )
    # hits: "ab", "x", "y" of 6; of the four nulls "a" and "b" got a category
    assert result.accuracy == 3 / 6
    assert result.leak == 2 / 4
    assert list(result.by_kind().itertuples(name=None)) == [(("g", "a"), 2, 1 / 2), (("g", OFF), 4, 2 / 4)]


def test_without_a_null_there_is_no_leak_rate() -> None:
    assert math.isnan(measure_classifier(first_letter, labelled(("a", "a"))).leak)


def test_confusions_name_the_first_line_and_come_most_frequent_first() -> None:
    result = measure_classifier(first_letter, labelled(("x", "a"), ("b1", "a"), ("b2", "a"), ("a", "a"), ("a", "b")))
    assert list(result.confusions().itertuples(name=None)) == [
        (("a", "b", ""), 2, 2),
        (("a", OFF, "neither"), 1, 1),
        (("b", "a", ""), 1, 5),
    ]


def nth_letter(rollout: Rollout, *, categories: tuple[str, ...], place: int) -> str | None:
    return next((name for name in categories if rollout.response[place] == name), None)


def test_a_plug_in_is_measured_with_its_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "l.jsonl", {"response": "ab", "category": "b"}, {"response": "bc", "category": None})
    own = [f"{__name__}:nth_letter", str(path), "--args", '{"place": 1}', "--categories", "a,b"]
    assert main(["classifier", *own]) == 0
    assert "accuracy 100.00%" in capsys.readouterr().out
    assert main(["classifier", *own[:2], "--args", "[1]"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_response_that_the_classifier_failed_on_is_ungraded_and_no_hit() -> None:
    def fails(rollout: Rollout) -> str:
        raise ConnectionError("down")

    (confusion,) = measure_classifier(fails, labelled(("x", None))).confusions().index
    assert confusion == (OFF, "ungraded", "classifier raised ConnectionError: down")


def test_a_response_is_timed_once_and_never_seen_before() -> None:
    seen: list[str] = []

    def remembering(rollout: Rollout) -> Classification:
        seen.append(rollout.response)
        return first_letter(rollout)

    measure_classifier(remembering, labelled(("a", "a"), ("a", "a"), ("b", "b")))
    assert seen[-2:] == ["a", "b"]
    assert not {"a", "b"} & set(seen[:-2])


def test_the_speed_is_in_different_responses_per_second() -> None:
    async def grade(rollout: Rollout) -> Found:
        return Found("a")

    ticks = iter([10.0, 10.5])
    lines = labelled(*((str(i % 30), "a") for i in range(60)))
    assert measure(grade, lines, clock=lambda: next(ticks)).responses_per_s == 60


def test_lines_may_carry_a_group_and_a_ground_truth(tmp_path: Path) -> None:
    path = write(
        tmp_path / "l.jsonl",
        {"response": "r", "category": None},
        {"response": "s", "category": "a", "group": "g", "ground_truth": "t"},
    )
    assert load_labelled(path) == [
        Labelled(Rollout("r", ""), OFF, "", 1),
        Labelled(Rollout("s", "t"), "a", "g", 2),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"response": "r"},
        {"category": "a"},
        {"response": 1, "category": "a"},
        {"response": "r", "category": 3},
        {"response": "r", "category": ""},
    ],
)
def test_a_line_without_response_or_category_is_named(tmp_path: Path, record: dict[str, object]) -> None:
    path = write(tmp_path / "l.jsonl", {"response": "r", "category": None}, record)
    with pytest.raises(MadrlError, match="line 2"):
        load_labelled(path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match="no lines"):
        load_labelled(write(tmp_path / "l.jsonl"))


def test_the_command_prints_accuracy_leak_speed_and_confusions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "l.jsonl",
        {"response": "a **bear**", "category": "rank_1", "ground_truth": OPTIONS, "group": "named"},
        {"response": "a cat", "category": None, "ground_truth": OPTIONS, "group": "unnamed"},
    )
    assert main(["classifier", "choice", str(path)]) == 0
    printed = capsys.readouterr().out
    for expected in ("named", "100.00%", "accuracy 50.00%", "leak 100.00%", "responses/s", "rank_2"):
        assert expected in printed


@pytest.mark.parametrize(
    "arguments", ["classifier nosuch l.jsonl", "classifier choice nosuch.jsonl", "verifier math nosuch.jsonl"]
)
def test_a_mistake_in_the_call_is_one_line_and_exit_code_2(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "l.jsonl", {"response": "r", "category": None})
    assert main(arguments.split()) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_verifier_and_other_scorers_are_measured_on_the_same_pairs(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.jsonl",
        {"gold": "1/2", "pred": r"\boxed{0.5}", "expected": True, "group": "fractions"},
        {"gold": "7", "pred": r"\boxed{8}", "expected": False, "source": "made"},
    )
    pairs = load_labelled(path)
    assert [(line.wanted, line.group) for line in pairs] == [("correct", "fractions"), ("incorrect", "made")]
    assert measure_verifier("math", pairs).accuracy == 1

    def generous(response: str, reference: str) -> dict[str, float]:
        return {"acc": 1.0 if reference == "7" else 1 / 0}

    found = measure_scorer(generous, pairs)
    # a false accept, and a pair without a verdict
    assert found.accuracy == 0
    assert list(found.confusions().index) == [
        ("correct", "ungraded", "ZeroDivisionError"),
        ("incorrect", "correct", ""),
    ]
