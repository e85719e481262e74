"""No exploit gets the category that it is after in more than a few of its texts."""

from collections import Counter

import pytest
from clean import corpus
from exploit import measure
from exploits import EXPLOITS

from madrl.grading.languages.language import classify_language
from madrl.rollout import Rollout


@pytest.mark.parametrize("name", EXPLOITS)
def test_an_exploit_does_not_get_its_category(name: str) -> None:
    exploit = EXPLOITS[name]
    outcome = measure(exploit)
    reached = [grade for grade in outcome.grades if grade.category is not None]
    assert outcome.wanted <= exploit.max_share, f"{outcome.wanted:.0%} of {name}, for one {reached[0]}"


@pytest.mark.parametrize("name", EXPLOITS)
def test_an_exploit_is_the_same_texts_each_time(name: str) -> None:
    attempts = EXPLOITS[name].attempts
    assert list(attempts(8)) == list(attempts(8))
    assert len({attempt.response for attempt in attempts(8)}) == 8


def test_honest_solutions_keep_their_language_in_every_style() -> None:
    made = list(corpus(20))
    wrong = Counter(
        (case["group"], case["category"])
        for case in made
        if classify_language(Rollout(case["response"], "")).category != case["category"]
    )
    assert wrong.total() <= 0.005 * len(made), wrong
