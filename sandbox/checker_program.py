"""Special judges: a program of the problem's author says whether an output is right, where several are.

The convention is testlib's (Mirzayanov): the checker is run with the paths of the input, the program's output and the
expected one, and its exit status is the verdict. It runs in a sandbox of its own, after the program's has ended, as the
output that it reads is a hostile program's.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sandbox.box import Box, Limits, RunOutcome
from sandbox.errors import CheckerError
from sandbox.jobs import JudgeVerdict, TestCase

CHECKER_LIMITS = Limits.of(cpu_s=10.0, memory_mb=1024)

PATHS = ("/tmp/check/input.txt", "/tmp/check/output.txt", "/tmp/check/answer.txt")
"""The arguments of a checker: what the program read, what it printed, and what the row expects."""

MESSAGE_BYTES = 300

_RIGHT, _WRONG, _PRESENTATION, _DIRT, _POINTS, _EARLY_END = 0, 1, 2, 4, 7, 8
"""Exit statuses, in testlib's numbers. 3, which says that the checker or the expected output is at fault, is not one of
them: it is treated as any other end that is no verdict."""

_POINTS_SAID = re.compile(rb"\s*points\s+([0-9.]{1,20})(?:\s|$)")


class Checked(NamedTuple):
    """What a checker says of one output."""

    verdict: JudgeVerdict
    points: float
    """In [0, 1]: 1 when accepted, 0 when not, or what the checker gives in between."""
    message: str


def checked(
    box: Box, cases: Iterable[tuple[TestCase, bytes]], check: Callable[[RunOutcome], None]
) -> Iterator[Checked]:
    """The checker's word on each (test, the program's output), in a box that runs the checker. ``check`` raises
    SandboxError for a run that says nothing of the checker, by our fault.

    An output that it rejects, or at which it ends without a verdict (a crash, a limit, a status that is none), is
    wrong, provided that it accepts the expected output in its place: no output makes itself ungraded, and what looks
    like a rejection may be a crash, as an uncaught exception ends Python, Java and Node with testlib's "wrong". Raises
    CheckerError when it does not, BoxLostError, and what ``check`` raises.
    """

    def outcome_on(test: TestCase, output: bytes) -> RunOutcome:
        box.clear()
        for path, content in zip(PATHS, (test.stdin, output, test.expected), strict=True):
            box.put(path, content)
        outcome = next(box.run([b""]))
        check(outcome)
        return outcome

    for test, output in cases:
        outcome = outcome_on(test, output)
        found = _said(outcome)
        if found is None or found.points == 0:
            own_outcome = outcome_on(test, test.expected)
            own = _said(own_outcome)
            if own is None or own.points < 1:
                raise CheckerError(f"the checker does not accept the expected output: {_how(own_outcome)}")
        yield found or Checked(JudgeVerdict.WA, 0.0, f"no verdict of the checker: {_how(outcome)}")


def _said(outcome: RunOutcome) -> Checked | None:
    """The verdict in an exit status; None when it is none."""
    if any((outcome.over_cpu, outcome.over_wall, outcome.over_output, outcome.over_memory, outcome.over_files)):
        return None
    message = outcome.stderr[:MESSAGE_BYTES].decode(errors="replace").strip()
    if outcome.exit_code == _RIGHT:
        return Checked(JudgeVerdict.AC, 1.0, message)
    if outcome.exit_code in (_WRONG, _PRESENTATION, _DIRT, _EARLY_END):
        return Checked(JudgeVerdict.WA, 0.0, message)
    if outcome.exit_code == _POINTS:
        said = _POINTS_SAID.match(outcome.stderr)
        try:
            points = float(said[1]) if said else math.nan
        except ValueError:
            points = math.nan
        if 0 <= points <= 1:
            return Checked(JudgeVerdict.AC if points == 1 else JudgeVerdict.WA, points, message)
    return None


def _how(outcome: RunOutcome) -> str:
    said = outcome.stderr[:MESSAGE_BYTES].decode(errors="replace").strip()
    ended = f"signal {outcome.signal}" if outcome.signal else f"exit status {outcome.exit_code}"
    return f"{ended} after {outcome.cpu_s:.1f} s of CPU time, {said!r}"
