"""Functions that are not async, called in threads: whatever they raise comes back."""

import asyncio
import sys

import pytest

from madrl.grading.threads import asynchronous


def finds_nothing(response: str) -> str:
    return next(word for word in response.split() if word == "answer")


def leaves(response: str) -> None:
    sys.exit(3)


@pytest.mark.parametrize(("function", "said"), [(finds_nothing, "StopIteration"), (leaves, "SystemExit: 3")])
def test_what_no_future_can_hold_and_what_would_end_the_process_are_errors(function: object, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        asyncio.run(asynchronous(function)("no such word"))  # type: ignore[arg-type]
