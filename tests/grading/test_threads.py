"""Functions that are not async, called in threads: whatever they raise comes back."""

import asyncio
import sys

import pytest

from madrl.grading.threads import asynchronous, ends_the_caller


def finds_nothing(response: str) -> str:
    return next(word for word in response.split() if word == "answer")


def leaves(response: str) -> None:
    sys.exit(3)


@pytest.mark.parametrize(("function", "said"), [(finds_nothing, "StopIteration"), (leaves, "SystemExit: 3")])
def test_what_no_future_can_hold_and_what_would_end_the_process_are_errors(function: object, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        asyncio.run(asynchronous(function)("no such word"))  # type: ignore[arg-type]


def test_a_coroutine_that_is_closed_is_told_from_a_function_that_raises_as_if_it_were() -> None:
    loop = asyncio.new_event_loop()
    found = []

    async def waits(raised: GeneratorExit | None) -> None:
        try:
            if raised:
                raise raised
            await loop.create_future()
        except GeneratorExit as error:
            found.append(ends_the_caller(error))

    waiting = waits(None)
    waiting.send(None)
    waiting.close()
    loop.run_until_complete(waits(GeneratorExit()))
    loop.close()
    assert found == [True, False]
