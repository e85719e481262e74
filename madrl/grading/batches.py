"""A plug-in as the Grader calls it: awaited with one response, whatever it takes and however slow it is.

One that is not async is called in a thread. One that takes a list of responses gets those that are there: what arrives
while it works on a batch makes up the next one. So batches grow as it gets slower, and nobody waits for a clock.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from madrl.grading.plugins import PluginError, takes_several
from madrl.grading.threads import asynchronous, awaitable_error, ends_the_caller
from madrl.rollout import Rollout

MAX_BATCH = 64
"""The responses that a plug-in is called with at most."""


def per_response(plugin: Callable[..., Any], what: str) -> Callable[[Rollout], Awaitable[Any]]:
    """``plugin``, called ``what`` in messages, as an async function of one response. Raises what ``takes_several``
    raises."""
    function = asynchronous(plugin)
    return Batches(function, what) if takes_several(plugin, what) else function


class Waiting(NamedTuple):
    """A response that waits for its result."""

    rollout: Rollout
    result: "asyncio.Future[Any]"


class Queue(NamedTuple):
    """What waits in one event loop, and the task that works on it until nothing does."""

    waiting: deque[Waiting]
    worker: "asyncio.Task[None]"


class Batches:
    """Calls an async function of several responses for who has one, in any event loop.

    An exception of the function is raised for each response of its batch, and so is PluginError where it returned
    anything but a list with one result for each.
    """

    def __init__(self, function: Callable[[list[Rollout]], Awaitable[Any]], what: str) -> None:
        self._function = function
        self._what = what
        self._queues: dict[asyncio.AbstractEventLoop, Queue] = {}

    async def __call__(self, rollout: Rollout) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._queues:  # the task begins when those that come together are all there
            waiting: deque[Waiting] = deque()
            self._queues[loop] = Queue(waiting, loop.create_task(self._work(waiting)))
        one = Waiting(rollout, loop.create_future())
        self._queues[loop].waiting.append(one)
        return await one.result

    async def _work(self, waiting: deque[Waiting]) -> None:
        try:
            while waiting:
                await self._answer([waiting.popleft() for _ in range(min(MAX_BATCH, len(waiting)))])
        finally:
            del self._queues[asyncio.get_running_loop()]
            for one in waiting:  # nobody works on them any more
                one.result.cancel()

    async def _answer(self, batch: list[Waiting]) -> None:
        try:
            found = await self._function([one.rollout for one in batch])
            if not isinstance(found, list | tuple) or len(found) != len(batch):
                shown = f"{len(found)} results" if isinstance(found, list | tuple) else f"a {type(found).__name__}"
                raise PluginError(
                    f"{self._what} returned {shown} for {len(batch)} responses: return a list with one each, in order"
                )
        except BaseException as error:  # whatever it is, somebody waits for each result
            for one in batch:
                if not one.result.done():  # who waited for it may be gone
                    one.result.set_exception(awaitable_error(error))
            if ends_the_caller(error):
                raise
            return
        for one, result in zip(batch, found, strict=True):
            if not one.result.done():
                one.result.set_result(result)
