"""Judges that are far slower than the programs come: a batch takes longer, and every verdict stays what it is."""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from judge_problems import JudgedProgram, programs
from scripted_service import Reply, ScriptedService, verdict

from madrl.grading.programs.sandbox_client import LEAST_TURNS, SandboxClient

WORKERS = 4
"""Reward workers that share the judges, each with a client of its own."""
REQUEST = {"language": "python", "code": "print(1)", "tests": [{"input": "", "output": "1"}]}


async def workers(stack: AsyncExitStack, url: str, **options: Any) -> list[SandboxClient]:
    return [await stack.enter_async_context(SandboxClient([url], clients=WORKERS, **options)) for _ in range(WORKERS)]


def health(slots: int, answered: int = 0) -> Reply:
    return Reply(body=json.dumps({"slots": slots, "answered": answered}).encode())


async def test_a_judge_whose_slots_are_not_known_yet_is_not_flooded() -> None:
    """The first batch of a run comes at once. Each request that is taken up has its deadline from then on."""
    told, go_on = asyncio.Event(), asyncio.Event()

    async def when_told(request: dict[str, Any]) -> Reply:
        await go_on.wait()
        return verdict()

    service = ScriptedService(when_told)
    service.health = health(6)
    service.before_health = told.wait
    async with service, SandboxClient([service.url], deadline_s=600) as client:
        batch = asyncio.gather(*(client.judge(REQUEST) for _ in range(100)))
        while not (service.health_requests and service.in_flight):
            await asyncio.sleep(0.01)
        assert service.most_in_flight <= LEAST_TURNS
        told.set()
        while service.in_flight < 12:
            await asyncio.sleep(0.01)
        go_on.set()
        assert {result.verdict for result in await batch} == {"AC"}
    assert service.most_in_flight == 12


async def test_what_waits_in_a_slow_judge_s_queue_is_graded_while_others_are() -> None:
    """One slot, four workers with four requests each in its queue: the last of them waits for two deadlines. On a busy
    machine one may miss its own: then a longer one is tried."""
    ungraded: list[str] = []
    for deadline_s in (2.0, 20.0, 200.0):
        slot = asyncio.Lock()

        async def one_at_a_time(
            request: dict[str, Any], slot: asyncio.Lock = slot, takes_s: float = deadline_s / 8
        ) -> Reply:
            async with slot:
                await asyncio.sleep(takes_s)
                return verdict(request["code"])

        service = ScriptedService(one_at_a_time)

        async def look(service: ScriptedService = service) -> None:
            service.health = health(1, len(service.requests) - service.in_flight)

        service.before_health = look
        batch = [(worker, code) for worker in range(WORKERS) for code in ("AC", "WA", "TLE", "RE", "AC", "MLE")]
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            clients = await workers(stack, service.url, deadline_s=deadline_s)
            results = await asyncio.gather(*(clients[i].judge({**REQUEST, "code": code}) for i, code in batch))
        ungraded = [result.reason for result in results if result.verdict is None]
        if not ungraded:
            assert [result.verdict for result in results] == [code for _, code in batch]
            assert len(service.requests) == len(batch)  # each was sent once, and kept its place in the queue
            return
    pytest.fail(f"{len(ungraded)} are ungraded: {ungraded[0]}")


async def test_a_request_that_no_verdict_of_others_helps_is_given_up() -> None:
    """A judge that goes on answering others does not keep one that it fails on alive for ever."""

    async def only_others(request: dict[str, Any]) -> Reply:
        if request["code"] == "poison":
            await asyncio.sleep(0.6)
            return Reply(504)
        return verdict()

    service = ScriptedService(only_others)

    async def look() -> None:
        service.health = health(1, len(service.requests))

    service.before_health = look
    async with service, SandboxClient([service.url], deadline_s=1.0) as client:
        poisoned = asyncio.create_task(client.judge({**REQUEST, "code": "poison"}))
        while not poisoned.done():
            await client.judge(REQUEST)
            assert sum(request["code"] == "poison" for request in service.requests) <= 20
        assert poisoned.result().verdict is None
        assert "no sandbox verdict within 1 s" in poisoned.result().reason


CHEAP = ("large_sum", "edit_distance", "knapsack", "quotients", "exit_status", "triangle", "components", "empty_input")


@pytest.mark.sandbox
@pytest.mark.slow
async def test_four_workers_at_one_slot_get_every_verdict_that_is_deserved(own_service: Callable[..., Any]) -> None:
    """Eighty programs that come at once, where a tenth of them would be enough work."""
    service = await asyncio.to_thread(own_service, "--slots", "1")
    chosen = [program for program in programs() if program.problem in CHEAP]
    random.Random(0).shuffle(chosen)

    def request(program: JudgedProgram) -> dict[str, Any]:
        fields = program.request()
        return {**fields, "time_limit_s": 10 * fields["time_limit_s"]}  # none of them is about time

    async with AsyncExitStack() as stack:
        clients = await workers(stack, service.url)
        asked = (clients[i % WORKERS].judge(request(program)) for i, program in enumerate(chosen))
        results = await asyncio.gather(*asked)
    found = {program.name: result.verdict or result.reason for program, result in zip(chosen, results, strict=True)}
    assert found == {program.name: program.verdict for program in chosen}
