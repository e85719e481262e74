"""The page on plug-ins of one's own, docs/classifiers.md: its examples do what it says."""

import asyncio
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from madrl import GroupReward, MadrlError, Rollout
from madrl.grading.grader import Grader, GraderSpec
from madrl.rollout import Grade

PAGE = Path(__file__).parents[2] / "docs" / "classifiers.md"
EXAMPLES = re.compile(r"<!-- mine.py -->\n```python\n(.*?)```", re.DOTALL)

LIMITS = {"limits": {"short": 2, "long": 4}}
WORDS = {"words": {"short": ["brief", "few"], "long": ["many", "all"]}}


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's examples as the module ``mine``."""
    (tmp_path / "mine.py").write_text("\n\n".join(EXAMPLES.findall(PAGE.read_text("utf-8"))), encoding="utf-8")
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        yield
    sys.modules.pop("mine", None)


def grades(name: str, arguments: dict[str, Any], *responses: str) -> list[Grade]:
    grader = Grader(GraderSpec(f"mine:{name}", None, ("short", "long"), classifier_args=arguments))

    async def ask() -> list[Grade]:
        return await asyncio.gather(*(grader.grade(Rollout(response, "")) for response in responses))

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("name", "arguments", "responses", "categories"),
    [
        ("by_words", LIMITS, ("a", "a b c", "a b c d e"), ["short", "long", None]),
        ("Stance", WORDS, ("Few words", "all of many, and few", "brief, all", ""), ["short", "long", None, None]),
        ("by_length_rank", {"limit": 3}, ("abc", "abcd"), ["short", "long"]),
    ],
)
def test_the_examples_classify(
    name: str, arguments: dict[str, Any], responses: tuple[str, ...], categories: list[str | None]
) -> None:
    found = grades(name, arguments, *responses)
    assert [grade.category for grade in found] == categories
    assert all(grade.classified for grade in found)


def test_a_value_that_makes_no_sense_is_told_before_a_run() -> None:
    with pytest.raises(MadrlError, match="classifier mine:Stance: no words for 'long': name some in words"):
        grades("Stance", {"words": {"short": ["brief"]}})


def test_a_service_that_is_down_leaves_its_responses_ungraded() -> None:
    with socket.socket() as reserved:  # bound and not listening: whoever connects is refused
        reserved.bind(("127.0.0.1", 0))
        (grade,) = grades("by_service", {"url": f"http://127.0.0.1:{reserved.getsockname()[1]}"}, "a")
    assert (grade.category, grade.classified) == (None, False)
    assert grade.reason.startswith("classifier raised ConnectError")


def test_the_library_takes_the_same_arguments() -> None:
    reward = GroupReward(
        categories=["short", "long"],
        classifier="mine:by_words",
        classifier_args=LIMITS,
        verifier=lambda rollout: True,
        divergence="l2",
    )
    assert [grade.category for grade in reward.score([Rollout("a", ""), Rollout("a b c", "")]).grades] == [
        "short",
        "long",
    ]
