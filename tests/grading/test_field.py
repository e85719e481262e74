import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.grading.field import FieldClassifier, json_objects
from madrl.rollout import Classification, Rollout

GOLDEN = Path(__file__).parents[1] / "golden" / "field_cases.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]

STANCES = ("agree", "strongly disagree")
ALIASES = {"yes": "agree", "no": "strongly disagree", "false": "strongly disagree"}
CLASSIFIERS = {
    "json": FieldClassifier(json="answer.stance", aliases=ALIASES, categories=STANCES),
    "marker": FieldClassifier(marker="Stance:", aliases=ALIASES, categories=STANCES),
}


@pytest.mark.parametrize("case", CASES, ids=[f"{case['group']} {case['response'][:40]}" for case in CASES])
def test_golden_case(case: dict[str, Any]) -> None:
    found = CLASSIFIERS[case["group"]](Rollout(case["response"], ""))
    assert found == Classification(case["category"], case["reason"], case["unusual"])


def test_json_that_is_nested_without_end_is_off_support() -> None:
    response = '{"answer": {"stance": "agree"}} ' + '{"a": ' * 100_000
    assert CLASSIFIERS["json"](Rollout(response, "")) == Classification(None, "JSON nested too deeply")


def test_categories_that_are_numbers_are_compared_as_they_are_written() -> None:
    classifier = FieldClassifier(json="score", categories=("1", "2", "2.0"))
    found = [
        classifier(Rollout(f'{{"score": {score}}}', "")).category for score in ('"1"', "1", "2.0", "2.00", "9" * 5000)
    ]
    assert found == ["1", "1", "2.0", None, None]


def test_signs_that_tell_categories_apart_stay() -> None:
    classifier = FieldClassifier(marker="Language:", categories=("C", "C++", "C#"))
    assert [classifier(Rollout(f"Language: {name}.", "")).category for name in ("c", "c++", "C#")] == ["C", "C++", "C#"]


def test_objects_come_from_left_to_right_without_those_inside_of_others() -> None:
    assert list(json_objects('a {"b": {"c": 1}} {d} {"e": [{}]} {"f"')) == [{"b": {"c": "1"}}, {"e": [{}]}]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"categories": STANCES}, "json None and marker None: name one of them"),
        ({"json": "a", "marker": "A:", "categories": STANCES}, "name one of them"),
        ({"json": "a..b", "categories": STANCES}, "json 'a..b': write the keys with a point between them"),
        ({"marker": "** ", "categories": STANCES}, "marker '** ' has nothing to search for"),
        ({"json": "a"}, "none are declared"),
        ({"json": "a", "categories": ("yes", "Yes.")}, "value 'Yes.' of 'Yes.' reads the same as one of 'yes'"),
        ({"json": "a", "categories": ("a", "!")}, "value '!' of '!' has nothing that is compared"),
        ({"json": "a", "aliases": {"y": "yes"}, "categories": STANCES}, "alias 'y' is of 'yes'"),
        ({"json": "a", "aliases": {True: "agree"}, "categories": STANCES}, "alias True is no text: write it in quotes"),
        ({"json": "a", "aliases": ["y"], "categories": STANCES}, "aliases ['y']: write {value: category}"),
    ],
)
def test_a_bad_argument_is_named(args: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=re.escape(message)):
        FieldClassifier(**args)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@given(st.text('{}[]":,\\ \nastnceSTANCE*ａ\u200b', max_size=100))
def test_any_text_gets_a_category_or_a_reason(kind: str, response: str) -> None:
    found = CLASSIFIERS[kind](Rollout(response, ""))
    assert (found.category in STANCES) != bool(found.reason)


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=5),
    st.sampled_from(STANCES),
    st.text(max_size=50),
)
def test_whatever_else_an_object_holds_its_field_is_found(others: dict[str, str], stance: str, before: str) -> None:
    response = f"{before.replace('{', '')}\n{json.dumps({**others, 'answer': {'stance': stance}})}"
    assert CLASSIFIERS["json"](Rollout(response, "")).category == stance
