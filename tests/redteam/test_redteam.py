"""No exploit gets what it is after in more than a few of its texts."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from clean import corpus
from exploit import measure
from exploits import EXPLOITS

from madrl.grading.languages.language import classify_language
from madrl.grading.programs.program import URLS_VARIABLE, default_client
from madrl.rollout import Rollout

if TYPE_CHECKING:
    from sandbox_service import Service

NEEDS_A_JUDGE = [name for name, exploit in EXPLOITS.items() if exploit.after == "both"]
"""Exploits whose category is rightly theirs: programs that want a verdict for what another language did."""


@pytest.fixture
def judge(service: "Service", monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The service that the graders ask."""
    monkeypatch.setenv(URLS_VARIABLE, service.url)
    default_client.cache_clear()
    yield
    default_client.cache_clear()


@pytest.mark.parametrize("name", [name for name in EXPLOITS if name not in NEEDS_A_JUDGE])
def test_an_exploit_does_not_get_what_it_is_after(name: str) -> None:
    _does_not_get_it(name, 200)


@pytest.mark.sandbox
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("n", [20, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", NEEDS_A_JUDGE)
def test_an_exploit_of_the_judge_does_not_get_what_it_is_after(name: str, n: int) -> None:
    _does_not_get_it(name, n)


def _does_not_get_it(name: str, n: int) -> None:
    exploit = EXPLOITS[name]
    outcome = measure(exploit, n)
    assert not [grade.reason for grade in outcome.grades if grade.correctness is None]
    paid = sorted(outcome.grades, key=lambda grade: (grade.category is not None, grade.correctness))[-1]
    assert outcome.got <= exploit.max_share, f"{outcome.got:.0%} of {name}, for one {paid}"


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
