"""How fast requests follow one another."""

import asyncio
import time

from madrl.grading.judges.pace import Pace


async def gone_at(pace: Pace, requests: int) -> list[float]:
    """The seconds after which each of so many requests, asked for at the same time, may go."""
    started = time.monotonic()

    async def go() -> float:
        await pace.wait()
        return time.monotonic() - started

    return list(await asyncio.gather(*(go() for _ in range(requests))))


async def test_requests_go_evenly_spaced_and_in_order() -> None:
    times = await gone_at(Pace(per_minute=600), 4)  # every 0.1 s
    assert times == sorted(times)
    assert all(time_s >= 0.1 * number for number, time_s in enumerate(times))


async def test_without_a_limit_none_waits_for_another() -> None:
    pace = Pace(None)
    async with asyncio.timeout(600):
        await gone_at(pace, 1000)


async def test_nothing_goes_while_the_service_is_left_alone() -> None:
    pace = Pace(None)
    pace.leave_alone(0.2)
    pace.leave_alone(0.1)  # the longer one counts
    assert min(await gone_at(pace, 3)) >= 0.2


async def test_a_request_that_is_already_waiting_is_held_up_too() -> None:
    pace = Pace(None)
    pace.leave_alone(0.05)
    waiting = asyncio.create_task(gone_at(pace, 1))
    await asyncio.sleep(0)
    pace.leave_alone(0.3)
    assert (await waiting)[0] >= 0.3 - 0.05


async def test_a_request_that_is_cancelled_lets_the_next_one_go() -> None:
    pace = Pace(None)
    pace.leave_alone(0.1)
    first = asyncio.create_task(pace.wait())
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(600):
        await pace.wait()
