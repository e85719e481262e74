"""One prompt's sessions: who waits for whom, what is graded when, and what a failure does to the siblings."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from madrl.trainer import prompt_group
from madrl.trainer.prompt_group import PromptGroup, Scored


class Recorder:
    """A grade and a scorer that remember their calls."""

    def __init__(self) -> None:
        self.graded: list[list[str]] = []
        self.scored: list[list[str]] = []

    async def grade(self, responses: Sequence[str]) -> list[str]:
        self.graded.append(list(responses))
        return [f"graded {r}" for r in responses]

    async def score(self, responses: Sequence[str], graded: Sequence[str]) -> list[Any]:
        self.scored.append(list(responses))
        return [(r, j, len(responses)) for r, j in zip(responses, graded, strict=True)]

    def group(self, size: int) -> PromptGroup[str, str]:
        return PromptGroup(size, self.grade, self.score)


async def test_every_session_gets_its_own_part_of_one_score_of_the_whole_group() -> None:
    calls = Recorder()
    group = calls.group(3)
    scored = await asyncio.gather(*(group.submit(i, f"r{i}") for i in (2, 0, 1)))
    assert [s.result for s in scored] == [(f"r{i}", f"graded r{i}", 3) for i in (2, 0, 1)]
    assert calls.scored == [["r0", "r1", "r2"]], "scored once, in session order"


async def test_responses_that_arrive_together_are_graded_together() -> None:
    calls = Recorder()
    group = calls.group(3)
    await asyncio.gather(*(group.submit(i, f"r{i}") for i in range(3)))
    assert calls.graded == [["r0", "r1", "r2"]]


async def test_an_early_response_is_graded_while_its_sibling_is_still_being_generated() -> None:
    calls = Recorder()
    group = calls.group(2)
    early = asyncio.create_task(group.submit(0, "early"))
    while not calls.graded:
        await asyncio.sleep(0.01)
    assert calls.graded == [["early"]]
    assert not calls.scored
    late = await group.submit(1, "late")
    assert calls.graded == [["early"], ["late"]]
    assert late.result == ("late", "graded late", 2)
    assert (await early).result == ("early", "graded early", 2)


async def test_a_session_that_fails_releases_its_siblings_and_the_group_is_the_rest() -> None:
    calls = Recorder()
    group = calls.group(3)
    waiting = [asyncio.create_task(group.submit(i, f"r{i}")) for i in (0, 2)]
    await asyncio.sleep(0)
    group.leave(1)
    results = [s.result for s in await asyncio.gather(*waiting)]
    assert results == [("r0", "graded r0", 2), ("r2", "graded r2", 2)]


class Clock:
    """In place of the module time: goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now

    perf_counter = time


async def test_waiting_for_siblings_is_not_counted_as_reward_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(prompt_group, "time", clock)
    calls = Recorder()

    async def grade(responses: Sequence[str]) -> list[str]:
        clock.now += 2
        return await calls.grade(responses)

    group: PromptGroup[str, str] = PromptGroup(2, grade, calls.score)
    early = asyncio.create_task(group.submit(0, "early"))
    while not calls.graded:
        await asyncio.sleep(0.01)
    clock.now += 30
    await group.submit(1, "late")
    timing = (await early).timing
    # Its own grade 2, 30 for the sibling's response, 2 for that one's grade.
    assert (timing.grade_s, timing.group_wait_s, timing.score_s) == (2, 32, 0)


async def test_a_response_that_cannot_be_graded_fails_alone_and_the_group_is_the_rest() -> None:
    calls = Recorder()

    async def grade(responses: Sequence[str]) -> list[str | Exception]:
        return [ValueError("unreadable") if r == "r1" else f"graded {r}" for r in responses]

    group: PromptGroup[str, str] = PromptGroup(3, grade, calls.score)
    results = await asyncio.gather(*(group.submit(i, f"r{i}") for i in range(3)), return_exceptions=True)
    assert str(results[1]) == "unreadable"
    assert [r.result for r in (results[0], results[2]) if isinstance(r, Scored)] == [
        ("r0", "graded r0", 2),
        ("r2", "graded r2", 2),
    ]


async def test_a_group_in_which_nothing_can_be_graded_is_not_scored() -> None:
    calls = Recorder()

    async def grade(responses: Sequence[str]) -> list[str | Exception]:
        return [ValueError("unreadable") for _ in responses]

    group: PromptGroup[str, str] = PromptGroup(2, grade, calls.score)
    results = await asyncio.gather(*(group.submit(i, f"r{i}") for i in range(2)), return_exceptions=True)
    assert [str(r) for r in results] == ["unreadable"] * 2
    assert not calls.scored


@pytest.mark.parametrize("stage", ["grade", "score"])
async def test_an_error_in_the_reward_stage_reaches_every_session(stage: str) -> None:
    async def broken(*arguments: Any) -> Any:
        raise RuntimeError(f"{stage} is down")

    calls = Recorder()
    group = PromptGroup(2, broken if stage == "grade" else calls.grade, broken if stage == "score" else calls.score)
    results: list[Scored | BaseException] = await asyncio.gather(
        *(group.submit(i, f"r{i}") for i in range(2)), return_exceptions=True
    )
    assert [str(r) for r in results] == [f"{stage} is down"] * 2
