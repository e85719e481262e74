"""The meter of the event loop's stalls: it sees one where there is one."""

import time

import pytest

from madrl.grading.stalls import beside, main, per_response_s
from madrl.rollout import Rollout


async def stops_the_loop(rollout: Rollout) -> str:
    time.sleep(0.3)  # what no async plug-in should do
    return "a"


def test_a_classifier_that_stops_the_loop_is_seen() -> None:
    stall = beside(stops_the_loop, 2)
    assert stall.longest_s > 0.25
    assert stall.graded_s > 0.55, "one after the other"


def test_every_response_is_graded_and_timed() -> None:
    seen = []

    def classify(rollout: Rollout) -> str:
        seen.append(rollout.response)
        return "a"

    assert per_response_s(classify, 20) >= 0
    assert sorted(map(int, seen)) == list(range(20))


def test_the_command_prints_a_stall_for_each_slow_classifier_and_the_cost_of_each_fast_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(slow_s=0.01, responses=32)
    printed = capsys.readouterr().out
    assert printed.count("longest stall") == 4
    assert printed.count("us a response") == 3
