"""How long the event loop stands still beside a slow plug-in, and what the thread of a fast one costs.

    python -m madrl.grading.stalls

A reward worker grades all its responses in one event loop, so whoever stops it for five seconds stops all of them. Not
covered: a plug-in that keeps Python's lock in a single call, such as a regular expression that takes exponential time,
stops every thread of the process.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from madrl.grading.grader import Grader, GraderSpec
from madrl.rollout import Rollout

SLOW_S = 5.0
"""The time that a slow classifier takes for a response."""

TICK_S = 0.001
"""The time between two looks at the clock. What the loop is late for one is a stall."""

FAST_RESPONSES = 4096
GROUP_SIZE = 16


class Stall(NamedTuple):
    """What became of the event loop while responses were graded."""

    longest_s: float
    """The most that the loop was late."""
    graded_s: float
    """The time from the first response to the last grade."""


def beside(classifier: Callable[..., Any], responses: int) -> Stall:
    """Grade so many responses at once, and watch the loop meanwhile."""
    grader = Grader(GraderSpec(classifier, None, ()))

    async def watched() -> Stall:
        began = time.perf_counter()
        grading = asyncio.gather(*(grader.grade(Rollout(str(i), "")) for i in range(responses)))
        longest_s, looked = 0.0, began
        while not grading.done():
            await asyncio.sleep(TICK_S)
            now = time.perf_counter()
            longest_s, looked = max(longest_s, now - looked - TICK_S), now
        await grading
        return Stall(longest_s, time.perf_counter() - began)

    return asyncio.run(watched())


def per_response_s(classifier: Callable[..., Any], responses: int = FAST_RESPONSES) -> float:
    """Processor time of grading one response, of many in groups of GROUP_SIZE."""
    grader = Grader(GraderSpec(classifier, None, ()))

    async def timed() -> float:
        began = time.process_time()
        for start in range(0, responses, GROUP_SIZE):
            group = range(start, min(start + GROUP_SIZE, responses))
            await asyncio.gather(*(grader.grade(Rollout(str(i), "")) for i in group))
        return time.process_time() - began

    return asyncio.run(timed()) / responses


def main(slow_s: float = SLOW_S, responses: int = FAST_RESPONSES) -> None:
    """Print the stalls beside classifiers that sleep and that compute, and the cost of fast ones."""

    def sleeps(rollout: Rollout) -> str:
        time.sleep(slow_s)
        return "a"

    def computes(rollout: Rollout) -> str:
        until = time.monotonic() + slow_s
        while time.monotonic() < until:
            pass
        return "a"

    def is_fast(rollout: Rollout) -> str:
        return "a"

    def are_fast(rollouts: list[Rollout]) -> list[str]:
        return ["a"] * len(rollouts)

    async def is_async(rollout: Rollout) -> str:
        return "a"

    for what, classifier in (("sleeps", sleeps), ("computes", computes)):
        for count in (1, GROUP_SIZE):
            stall = beside(classifier, count)
            print(
                f"a classifier that {what} {slow_s:g} s, {count:2} responses: longest stall "
                f"{stall.longest_s * 1000:6.1f} ms, graded in {stall.graded_s:.1f} s"
            )
    for what, fast in (("async", is_async), ("in a thread", is_fast), ("in a thread, by batches", are_fast)):
        print(f"a classifier that does nothing, {what}: {per_response_s(fast, responses) * 1e6:.0f} us a response")


if __name__ == "__main__":
    main()
