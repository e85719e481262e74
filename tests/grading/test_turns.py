"""How many requests are taken up at a time: a number that follows the fleet's slots."""

import asyncio
import json
from typing import Any

import pytest
from scripted_service import Reply, ScriptedService, verdict

from madrl.grading.programs.sandbox_client import FIRST_TURNS, SandboxClient
from madrl.grading.turns import Turns

REQUEST = {"language": "python", "code": "print(1)", "tests": [{"input": "", "output": "1"}]}


async def held(turns: Turns) -> int:
    """How many turns are free, found by taking them and giving them back."""
    taken = 0
    while True:
        try:
            async with asyncio.timeout(0.01):
                await turns.acquire()
            taken += 1
        except TimeoutError:
            break
    for _ in range(taken):
        turns.release()
    return taken


@pytest.mark.parametrize("sizes", [(5,), (2,), (5, 2), (2, 5), (1, 1), (3, 1, 4, 2)])
async def test_the_number_of_turns_is_the_last_that_was_set(sizes: tuple[int, ...]) -> None:
    turns = Turns(3)
    for size in sizes:
        turns.resize(size)
        for _ in range(2):
            assert await held(turns) <= max(3, *sizes)
    assert await held(turns) == sizes[-1]


async def test_turns_that_are_held_when_there_are_fewer_end_one_by_one() -> None:
    turns = Turns(4)
    for _ in range(4):
        await turns.acquire()
    turns.resize(2)
    for _ in range(2):
        turns.release()
        assert await held(turns) == 0
    turns.release()
    assert await held(turns) == 1
    turns.release()
    assert await held(turns) == 2


async def test_a_turn_that_nobody_waits_for_any_more_goes_to_the_next() -> None:
    turns = Turns(1)
    await turns.acquire()
    gone, next_one = (asyncio.create_task(turns.acquire()) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    turns.release()  # in the same moment, before the task has noticed
    await next_one
    turns.release()
    assert await held(turns) == 1


def waiting(slots: object) -> tuple[ScriptedService, asyncio.Event]:
    """A service that answers when it is told to."""
    go_on = asyncio.Event()

    async def handler(request: dict[str, Any]) -> Reply:
        await go_on.wait()
        return verdict()

    service = ScriptedService(handler)
    service.health = Reply(body=json.dumps({"slots": slots}).encode())
    return service, go_on


@pytest.mark.parametrize(("slots", "clients", "at_a_time"), [(6, 1, 12), (6, 2, 6), (1, 1, 4), (100, 1, 200)])
async def test_a_client_takes_up_twice_its_share_of_the_slots(slots: int, clients: int, at_a_time: int) -> None:
    service, go_on = waiting(slots)
    async with service, SandboxClient([service.url], deadline_s=600, clients=clients) as client:
        go_on.set()
        assert (await client.judge(REQUEST)).verdict == "AC"  # the first one asks, beside its own work
        while service.health_requests < 1:
            await asyncio.sleep(0.01)
        await asyncio.gather(*client._learning)
        assert (await client.judge(REQUEST)).verdict == "AC"
        go_on.clear()
        service.most_in_flight = 0
        batch = asyncio.gather(*(client.judge(REQUEST) for _ in range(at_a_time + 20)))
        while service.in_flight < at_a_time:
            await asyncio.sleep(0.01)
        go_on.set()
        assert {result.verdict for result in await batch} == {"AC"}
    assert service.most_in_flight == at_a_time
    assert service.health_requests == 1


async def test_a_service_that_tells_no_slots_is_asked_as_before() -> None:
    service, go_on = waiting("many")
    async with service, SandboxClient([service.url], deadline_s=600) as client:
        batch = asyncio.gather(*(client.judge(REQUEST) for _ in range(FIRST_TURNS + 20)))
        while service.in_flight < FIRST_TURNS:
            await asyncio.sleep(0.01)
        go_on.set()
        assert {result.verdict for result in await batch} == {"AC"}
    assert service.most_in_flight == FIRST_TURNS
