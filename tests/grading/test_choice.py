import json
import string
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.grading.choice import (
    CHOICE_CATEGORIES,
    alphabetical,
    choice_ground_truth,
    choice_key,
    classify_choice,
    fold,
)
from madrl.rollout import Classification, Rollout

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests/golden/choice_cases.json").read_text("utf-8"))
TOPICS = [alphabetical(t) for t in json.loads((ROOT / "data_prep/synthetic_topics.json").read_text("utf-8")).values()]
ONE_WORD_OPTIONS = [(option, options) for options in TOPICS for option in options if " " not in fold(option)]
OCEANS = choice_ground_truth(["Pacific", "Atlantic", "Indian", "Southern", "Arctic"])

topics = st.sampled_from(TOPICS)
decorations = st.text(string.punctuation + string.whitespace + "“”‘’«»…–—•、。！？", max_size=6)
cases = st.sampled_from([str, str.lower, str.upper, str.title, str.swapcase, str.casefold])


def classify(response: str, options: tuple[str, ...]) -> Classification:
    return classify_choice(Rollout(response, choice_ground_truth(options)))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_case(case: dict[str, Any]) -> None:
    classification = classify_choice(Rollout(case["response"], json.dumps(case["options"])))
    assert classification == Classification(case["category"], case["reason"])


@given(topics, st.integers(0, 4), cases, decorations, decorations)
def test_any_option_in_any_case_and_punctuation_gets_its_rank(
    options: tuple[str, ...], i: int, recase: Any, before: str, after: str
) -> None:
    assert classify(before + recase(options[i]) + after, options) == Classification(CHOICE_CATEGORIES[i], "")


@given(topics, st.permutations(range(5)), st.integers(2, 5), decorations)
def test_naming_several_options_is_off_support(
    options: tuple[str, ...], order: list[int], n: int, separator: str
) -> None:
    response = f"{separator} or ".join(options[i] for i in order[:n])
    assert classify(response, options) == Classification(None, f"names {n} options")


@given(st.sampled_from(ONE_WORD_OPTIONS), st.text(string.ascii_letters + string.digits, max_size=3), st.data())
def test_an_option_within_a_longer_word_is_not_named(
    listed: tuple[str, tuple[str, ...]], before: str, data: st.DataObject
) -> None:
    option, options = listed
    after = data.draw(st.text(string.ascii_letters + string.digits, min_size=0 if before else 1, max_size=3))
    assert classify(before + option + after, options) == Classification(None, "no listed option")


@given(st.text(), topics)
def test_any_text_is_classified_without_an_exception(response: str, options: tuple[str, ...]) -> None:
    found = classify(response, options)
    assert (found.category is None) == bool(found.reason)


@given(st.text(), decorations, decorations)
def test_decoration_around_a_text_folds_away(text: str, before: str, after: str) -> None:
    assert fold(f"{before} {text} {after}") == fold(text)


def test_ground_truth_lists_the_options_alphabetically_whatever_their_case_and_accents() -> None:
    assert json.loads(choice_ground_truth(["Zeta", "éclair", "eel", "Apple", "dog"])) == [
        "Apple",
        "dog",
        "éclair",
        "eel",
        "Zeta",
    ]


def test_ground_truth_does_not_depend_on_the_order_given() -> None:
    assert choice_ground_truth(["e", "b", "d", "a", "c"]) == choice_ground_truth(["a", "b", "c", "d", "e"])


@pytest.mark.parametrize(
    "ground_truth", ["", "pacific", "42", '{"a": 1}', '["a", "b", "c", "d"]', '["a", "b", "c", "d", 5]']
)
def test_ground_truth_that_is_no_list_of_five_strings_is_named_with_the_remedy(ground_truth: str) -> None:
    with pytest.raises(MadrlError, match=r"is not a JSON list of 5 strings: build it with choice_ground_truth"):
        classify_choice(Rollout("a", ground_truth))


@pytest.mark.parametrize("fifth", ["A", "á", " a. ", "?"])
def test_options_that_cannot_be_told_apart_are_refused(fifth: str) -> None:
    with pytest.raises(MadrlError, match="read the same, or one without a word"):
        classify_choice(Rollout("a", json.dumps(["a", "b", "c", "d", fifth])))


def test_an_option_with_punctuation_matches_by_its_words() -> None:
    options = ("a.b", "c|d", "(e)", "f*", "g+")
    assert classify("c d", options).category == "rank_2"
    assert classify("axb", options).category is None


def test_a_ground_truth_is_parsed_once_for_all_its_responses() -> None:
    choice_key.cache_clear()
    for _ in range(100):
        classify_choice(Rollout("Pacific", OCEANS))
    assert choice_key.cache_info().misses == 1


def test_fifty_thousand_short_answers_take_less_than_a_second() -> None:
    rollouts = [Rollout(r, OCEANS) for r in ("Pacific", "**The Pacific Ocean.**\n", "I'd pick “Pacific”.", "none")]
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for _ in range(12_500):
            for rollout in rollouts:
                classify_choice(rollout)
        best = min(best, time.process_time() - started)
    assert best < 1.0


def test_a_flood_of_words_takes_time_in_proportion() -> None:
    started = time.process_time()
    assert classify_choice(Rollout("pacifi " * 200_000, OCEANS)) == Classification(None, "no listed option")
    assert time.process_time() - started < 5.0
