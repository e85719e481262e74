r"""MATH: whether two formulas are equal, by math-verify and sympy; and the worker process that does it.

A worker runs ``main``: it answers requests on its standard input until that closes. What a response
writes can make sympy run for ever, holding the interpreter's lock, take all memory or die. So the process lives under
limits that the kernel holds: CPU seconds per comparison (SIGPROF ends it), memory as a whole. Because of the first, a
worker whose parent has gone cannot stay on.
"""

import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import IO, Any, TypeVar

T = TypeVar("T")

HEADER = struct.Struct(">I")
"""The length of the JSON text that follows, on the way to a worker and back."""

STARTED = "started"
"""What a worker says first, once its libraries are there."""

REFERENCE_READY = "reference_ready"
"""The first of two answers to a request: the reference is sound, what happens now is the response's doing."""

LATE_IMPORTS = (("x^2+2x+1", "(x+1)^2"), (r"(-\infty,3]", r"x \le 3"), ("2,3", "x"))
"""Two formulas each, at whose comparison sympy imports what it has left for later. Should an import fail in the middle
of a response's comparison, math-verify would say that the two differ."""

BAD_REFERENCE, OUT_OF_MEMORY, ERROR = "bad_reference", "out_of_memory", "error"
"""What a worker can say instead of true or false."""


@cache
def _configs() -> list[Any]:
    # Half a second to import, and of no use to the process that hands out the work.
    import logging

    import math_verify  # type: ignore[import-untyped]

    logging.disable(logging.CRITICAL)
    return [math_verify.LatexExtractionConfig(boxed_match_priority=0)]


def formulas(latex: str) -> list[Any]:
    """What sympy makes of a formula; empty when it makes nothing of it."""
    configs = _configs()
    from math_verify import parse

    parsed = parse(rf"\boxed{{{latex}}}", configs, parsing_timeout=None, raise_on_error=False)
    return [formula for formula in parsed if not isinstance(formula, str)]


def same(reference: list[Any], answer: list[Any]) -> bool:
    """Whether one of ``answer`` equals one of ``reference``: algebraically, as sets, or to six digits as numbers."""
    import math_verify

    equal = math_verify.verify(reference, answer, allow_set_relation_comp=True, timeout_seconds=None)
    return bool(equal)


@lru_cache(maxsize=512)
def reference_formulas(latex: str) -> list[Any]:
    """``formulas`` of a reference, compared with itself once: empty when it cannot be used."""
    parsed = formulas(latex)
    return parsed if parsed and same(parsed, parsed) else []


def serve(cpu_s: float, memory_bytes: int) -> None:
    """Answer requests ``[reference, answer]`` with REFERENCE_READY and then a verdict, or with BAD_REFERENCE alone."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    # The parsers print what they dislike; the pipe is for replies.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for one, other in LATE_IMPORTS:
        same(formulas(one), formulas(other))
    write(replies, STARTED)
    os.dup2(1, 2)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while (request := read(requests)) is not None:
        reference, answer = request
        wanted = _limited(cpu_s, reference_formulas, reference)
        if not isinstance(wanted, list):
            write(replies, wanted)
        elif not wanted:
            write(replies, BAD_REFERENCE)
        else:
            write(replies, REFERENCE_READY)
            write(replies, _limited(cpu_s, _is_same, wanted, answer))


def _is_same(wanted: list[Any], answer: str) -> bool:
    return same(wanted, formulas(answer))


def _limited(cpu_s: float, work: Callable[..., T], *arguments: Any) -> T | str:
    """What ``work`` returns, or why it could not. The timer is off before anything is sent: a worker that has answered
    does not die of it."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        return work(*arguments)
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception:
        return ERROR
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def read(stream: IO[bytes]) -> Any:
    """The next message; None at the end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    return json.loads(stream.read(HEADER.unpack(header)[0]))


def write(stream: IO[bytes], message: Any) -> None:
    """Send a message."""
    body = json.dumps(message).encode()
    stream.write(HEADER.pack(len(body)) + body)
    stream.flush()


def main() -> None:
    """A worker: its arguments are CPU seconds and bytes of memory."""
    serve(float(sys.argv[1]), int(sys.argv[2]))
