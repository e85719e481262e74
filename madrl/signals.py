"""What tells a process to stop: noted in place of its effect, or passed on when a parent dies."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_PR_SET_PDEATHSIG = 1


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


def end_with_parent() -> Callable[[], None]:
    """What makes a child get SIGTERM when this process dies, however it dies (Linux): a ``preexec_fn`` of Popen.

    The child gets it also when the parent was dead before it asked.
    """
    parent = os.getpid()
    libc: Any = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ours would only note it, and the exec forget it
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask
