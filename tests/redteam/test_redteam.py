"""No exploit gets the category that it is after in more than a few of its texts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from exploit import measure
from exploits import EXPLOITS

from madrl.grading.programs.program import URLS_VARIABLE, default_client

if TYPE_CHECKING:
    from sandbox_service import Service

JUDGED = [name for name, exploit in EXPLOITS.items() if exploit.task == "code_contests"]
"""Exploits that want a verdict of the judge too."""


@pytest.fixture
def judge(service: "Service", monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The service that the graders ask."""
    monkeypatch.setenv(URLS_VARIABLE, service.url)
    default_client.cache_clear()
    yield
    default_client.cache_clear()


@pytest.mark.parametrize("name", [name for name in EXPLOITS if name not in JUDGED])
def test_an_exploit_does_not_get_its_category(name: str) -> None:
    exploit = EXPLOITS[name]
    outcome = measure(exploit)
    reached = [grade for grade in outcome.grades if grade.category is not None]
    assert outcome.wanted <= exploit.max_share, f"{outcome.wanted:.0%} of {name}, for one {reached[0]}"


@pytest.mark.sandbox
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", JUDGED)
def test_an_exploit_of_programs_does_not_get_its_category_and_a_right_verdict(name: str) -> None:
    exploit = EXPLOITS[name]
    outcome = measure(exploit, 60)
    assert not [grade.reason for grade in outcome.grades if grade.correctness is None]
    passed = [grade for grade in outcome.grades if grade.correctness == 1]
    assert outcome.both <= exploit.max_share, f"{outcome.both:.0%} of {name}, for one {passed[0]}"


@pytest.mark.parametrize("name", EXPLOITS)
def test_an_exploit_is_the_same_texts_each_time(name: str) -> None:
    attempts = EXPLOITS[name].attempts
    assert list(attempts(8)) == list(attempts(8))
    assert len({attempt.response for attempt in attempts(8)}) == 8
