"""How the Grader calls plug-ins: in threads, awaited, or with several responses at once."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from madrl.grading import batches
from madrl.grading.classifiers import CLASSIFIERS
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, PluginError
from madrl.group_reward import GroupReward
from madrl.rollout import Classification, Grade, Rollout

OPTIONS = '["a", "b", "c", "d", "e"]'


def rollouts(*responses: str) -> list[Rollout]:
    return [Rollout(response, OPTIONS) for response in responses]


async def grades(classifier: Plugin, *responses: str) -> list[Grade]:
    grader = Grader(GraderSpec(classifier, None, ()))
    return await asyncio.gather(*map(grader.grade, rollouts(*responses)))


class Batched:
    """Names each response by itself, and keeps the batches it was called with."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, rollouts: list[Rollout]) -> list[str]:
        self.batches.append([rollout.response for rollout in rollouts])
        return [rollout.response for rollout in rollouts]


async def test_the_loop_goes_on_while_a_classifier_blocks_in_a_thread_of_its_own() -> None:
    asked, may_go, threads = threading.Event(), threading.Event(), set()

    def blocks(rollout: Rollout) -> str:
        threads.add(threading.get_ident())
        asked.set()
        assert may_go.wait(60)
        return "a"

    grading = asyncio.create_task(grades(blocks, "x", "y"))
    while not asked.is_set():
        await asyncio.sleep(0.001)
    turns = 0
    while turns < 100:  # nobody but this loop can let the classifier go
        await asyncio.sleep(0)
        turns += 1
    may_go.set()
    assert [grade.category for grade in await grading] == ["a", "a"]
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("name", [*CLASSIFIERS, "one", "several"])
async def test_no_synchronous_classifier_runs_in_the_event_loop_s_thread(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()

    def one(rollout: Rollout) -> str:
        threads.add(threading.get_ident())
        return "a"

    def several(rollouts: Sequence[Rollout]) -> list[str]:
        threads.add(threading.get_ident())
        return ["a"] * len(rollouts)

    def built_in(rollout: Rollout) -> object:
        threads.add(threading.get_ident())
        return original(rollout)

    if name in CLASSIFIERS:
        original = CLASSIFIERS[name]
        monkeypatch.setitem(CLASSIFIERS, name, built_in)
    own: dict[str, Plugin] = {"one": one, "several": several}
    await grades(own.get(name, name), "a", "b")
    assert threads
    assert threading.get_ident() not in threads


async def test_a_classifier_may_be_async_and_is_awaited_in_the_loop() -> None:
    threads = set()

    async def classify(rollout: Rollout) -> str:
        threads.add(threading.get_ident())
        await asyncio.sleep(0)
        return rollout.response

    async def classify_several(rollouts: list[Rollout]) -> list[str]:
        return [await classify(rollout) for rollout in rollouts]

    for classifier in (classify, classify_several):
        assert [grade.category for grade in await grades(classifier, "a", "b")] == ["a", "b"]
    assert threads == {threading.get_ident()}


async def test_responses_that_come_together_are_one_batch_and_each_gets_its_own_result() -> None:
    batched = Batched()
    assert [grade.category for grade in await grades(batched, "a", "b", "c")] == ["a", "b", "c"]
    assert batched.batches == [["a", "b", "c"]]


async def test_what_arrives_while_a_batch_is_worked_on_makes_up_the_next_ones_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_BATCH", 3)
    started, may_go, seen = asyncio.Event(), asyncio.Event(), []

    async def classify(rollouts: list[Rollout]) -> list[str]:
        seen.append([rollout.response for rollout in rollouts])
        started.set()
        await may_go.wait()
        return seen[-1]

    grader = Grader(GraderSpec(classify, None, ()))
    first = asyncio.create_task(grader.grade(Rollout("first", "")))
    await started.wait()
    others = [asyncio.create_task(grader.grade(Rollout(str(i), ""))) for i in range(4)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert seen == [["first"]], "one batch at a time"
    may_go.set()
    assert [grade.category for grade in await asyncio.gather(first, *others)] == ["first", "0", "1", "2", "3"]
    assert seen == [["first"], ["0", "1", "2"], ["3"]]


@pytest.mark.parametrize(
    ("found", "shown"), [(["a"], "1 results"), (["a"] * 3, "3 results"), ("ab", "a str"), (None, "a NoneType")]
)
async def test_anything_but_a_result_for_each_is_a_mistake_of_the_plug_in(found: object, shown: str) -> None:
    def classify(rollouts: list[Rollout]) -> object:
        return found

    classify.__module__, classify.__qualname__ = "mine", "classify"
    expected = f"classifier mine:classify returned {shown} for 2 responses: return a list with one each, in order"
    with pytest.raises(PluginError, match=expected):
        await grades(classify, "a", "b")


async def test_an_exception_leaves_its_batch_ungraded_and_no_other() -> None:
    def classify(rollouts: list[Rollout]) -> list[Classification]:
        if len(rollouts) == 2:
            raise ConnectionError("down")
        return [Classification("a")]

    grader = Grader(GraderSpec(classify, None, ()))
    lost = await asyncio.gather(*map(grader.grade, rollouts("a", "b")))
    assert [(one.category, one.classified, one.reason) for one in lost] == [
        (None, False, "classifier raised ConnectionError: down")
    ] * 2
    assert await grader.grade(Rollout("a", "")) == Grade("a", None, queued=1)


async def test_a_function_that_waits_for_what_was_cancelled_leaves_its_batch_ungraded_and_no_other() -> None:
    async def classify(rollouts: list[Rollout]) -> list[str]:
        if rollouts[0].response == "a":
            other = asyncio.create_task(asyncio.sleep(1000))
            other.cancel()
            await other
        return ["b"] * len(rollouts)

    grader = Grader(GraderSpec(classify, None, ()))
    lost = await asyncio.gather(*map(grader.grade, rollouts("a", "a")))
    assert [(one.category, one.classified) for one in lost] == [(None, False)] * 2
    assert all("CancelledError" in one.reason for one in lost)
    assert (await grader.grade(Rollout("b", ""))).category == "b"


class Panic(BaseException):
    """As the exception of a panic in Rust, which is no Exception."""


@pytest.mark.parametrize("error", [Panic("index out of bounds"), GeneratorExit("closed"), asyncio.CancelledError()])
async def test_what_is_no_exception_leaves_its_batch_ungraded_and_keeps_nobody_waiting(error: BaseException) -> None:
    def classify(rollouts: list[Rollout]) -> list[str]:
        raise error

    async def classify_async(rollouts: list[Rollout]) -> list[str]:
        raise error

    for classifier in (classify, classify_async):
        lost = await asyncio.wait_for(grades(classifier, "a", "a"), 60)
        assert [one.classified for one in lost] == [False, False]
        assert all(type(error).__name__ in one.reason for one in lost)


async def test_what_waits_behind_a_batch_that_is_lost_to_no_exception_is_classified() -> None:
    async def classify(rollouts: list[Rollout]) -> list[str]:
        if rollouts[0].response == "lost":
            raise GeneratorExit("closed")
        return ["a"] * len(rollouts)

    found = await asyncio.wait_for(grades(classify, *["lost"] * batches.MAX_BATCH, "a"), 60)
    assert [one.category for one in found] == [None] * batches.MAX_BATCH + ["a"]


async def test_a_response_that_nobody_waits_for_any_more_costs_its_batch_nothing() -> None:
    started, may_go = asyncio.Event(), asyncio.Event()

    async def classify(rollouts: list[Rollout]) -> list[str]:
        started.set()
        await may_go.wait()
        return ["a"] * len(rollouts)

    grader = Grader(GraderSpec(classify, None, ()))
    gone, stays = (asyncio.create_task(grader.grade(one)) for one in rollouts("a", "b"))
    await started.wait()
    gone.cancel()
    may_go.set()
    assert (await stays).category == "a"
    assert gone.cancelled()
    assert grader.in_progress == 0


def test_one_grader_serves_several_event_loops() -> None:
    batched = Batched()
    reward = GroupReward(
        categories=["a", "b"], classifier=batched, verifier=lambda rollouts: True, divergence="l2", alpha=0.0
    )
    for _ in range(2):
        assert [grade.category for grade in reward.score(rollouts("a", "b")).grades] == ["a", "b"]
        assert [grade.category for grade in asyncio.run(reward(rollouts("b", "a"))).grades] == ["b", "a"]
    assert [len(batch) for batch in batched.batches] == [2] * 4


async def test_a_verifier_may_take_several_as_well() -> None:
    def verify(rollouts: list[Rollout]) -> list[float]:
        return [float(rollout.response == "a") for rollout in rollouts]

    grader = Grader(GraderSpec(None, verify, ()))
    found = await asyncio.gather(*map(grader.grade, rollouts("a", "b")))
    assert [grade.correctness for grade in found] == [1.0, 0.0]
