"""What tells a process to stop, noted in place of its effect."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def told_to_stop(*numbers: signal.Signals) -> Iterator[list[signal.Signals]]:
    """Yields a list that gains each of these signals as it comes. For the main thread only."""
    told: list[signal.Signals] = []

    def tell(number: int, frame: FrameType | None) -> None:
        told.append(signal.Signals(number))

    before = {number: signal.signal(number, tell) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
