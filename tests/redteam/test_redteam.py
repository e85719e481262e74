"""No exploit gets what it is after, the category or the verdict, in more than a few of its texts."""

import pytest
from exploit import measure
from exploits import EXPLOITS


@pytest.mark.parametrize("name", EXPLOITS)
def test_an_exploit_does_not_get_what_it_is_after(name: str) -> None:
    exploit = EXPLOITS[name]
    outcome = measure(exploit)
    if exploit.max_correct is not None:
        correct = [g.answer for g in outcome.grades if g.correctness]
        assert outcome.correct <= exploit.max_correct, f"{outcome.correct:.0%} of {name}: {correct[:5]}"
        return
    reached = [grade for grade in outcome.grades if grade.category is not None]
    assert outcome.wanted <= exploit.max_share, f"{outcome.wanted:.0%} of {name}, for one {reached[0]}"


@pytest.mark.parametrize("name", EXPLOITS)
def test_an_exploit_is_the_same_texts_each_time(name: str) -> None:
    attempts = EXPLOITS[name].attempts
    assert list(attempts(8)) == list(attempts(8))
    assert len({attempt.response for attempt in attempts(8)}) == 8
