import asyncio
import time
from collections import Counter

import pytest

from madrl.grading.programs.replicas import ASIDE_S, MAX_ASIDE_S, WITHOUT_S, Replica, next_replica


async def picks(replicas: list[Replica], avoid: Replica | None = None) -> Counter[str]:
    return Counter([(await next_replica(replicas, avoid)).url for _ in range(60)])


async def test_the_fewest_in_flight_come_first_and_equals_share() -> None:
    replicas = [Replica("a", in_flight=2), Replica("b", in_flight=1), Replica("c", in_flight=1)]
    # One of the two misses all sixty once in 2^59 runs.
    assert set(await picks(replicas)) == {"b", "c"}


async def test_the_replica_to_avoid_is_chosen_only_when_there_is_no_other() -> None:
    idle, busy = Replica("idle"), Replica("busy", in_flight=9)
    assert await picks([idle, busy], avoid=idle) == {"busy": 60}
    busy.leave_alone(60)
    assert await picks([idle, busy], avoid=idle) == {"idle": 60}


async def test_one_that_has_failed_gets_one_request_at_a_time_while_another_works() -> None:
    sick, well = Replica("sick", in_flight=1, failures=1), Replica("well", in_flight=50)
    assert await picks([sick, well]) == {"well": 60}
    well.failures = 1
    assert await picks([sick, well]) == {"sick": 60}
    sick.in_flight, well.failures = 0, 0
    assert await picks([sick, well]) == {"sick": 60}


async def test_when_all_are_left_alone_it_waits_for_the_first_to_return() -> None:
    soon, late = Replica("soon"), Replica("late")
    soon.leave_alone(0.2)
    late.leave_alone(60)
    started = time.monotonic()
    async with asyncio.timeout(300):
        assert (await next_replica([soon, late], avoid=soon)).url == "soon"
    assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize(
    ("failures", "aside_s"), [(1, ASIDE_S), (2, 2 * ASIDE_S), (3, 4 * ASIDE_S), (9999, MAX_ASIDE_S)]
)
def test_the_nth_failure_in_a_row_doubles_the_pause_up_to_its_limit(failures: int, aside_s: float) -> None:
    replica = Replica("sick", failures=failures - 1)
    before = time.monotonic()
    replica.failed("reset")
    assert replica.failures == failures
    assert before + aside_s <= replica.aside_until <= time.monotonic() + aside_s


def test_one_failure_that_hits_many_requests_counts_once() -> None:
    replica = Replica("sick")
    for _ in range(50):
        replica.failed("reset")
    assert replica.failures == 1


def test_a_replica_that_has_worked_again_starts_from_the_short_pause() -> None:
    replica = Replica("sick", failures=10)
    replica.worked()
    replica.failed("reset")
    assert replica.aside_until <= time.monotonic() + ASIDE_S


def test_being_left_alone_is_never_cut_short() -> None:
    replica = Replica("busy")
    replica.leave_alone(60)
    replica.leave_alone(1)
    assert replica.aside_until > time.monotonic() + 50


def test_a_replica_without_a_language_is_asked_for_the_others_and_later_again() -> None:
    replica = Replica("plain", failures=3)
    replica.lacks("java", "javac is not installed")
    assert not replica.may_have("java")
    assert replica.may_have("go")
    assert (replica.failures, replica.aside_until) == (0, 0.0)
    until, why = replica.without["java"]
    assert until <= time.monotonic() + WITHOUT_S
    replica.without["java"] = (time.monotonic(), why)
    assert replica.may_have("java")
