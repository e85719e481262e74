"""Why a run of veRL's failed, told from its log.

What a process dies of is in the log once, and what the others make of that comes after it, a thousand lines of it; the
last of these is what veRL ends with. With an engine that was killed it is the advice to replace failed groups. So the
lines that tell a cause are looked for first (CAUSES), and only then the last line that names an exception.

What this does not cover: a cause that nothing in the log tells, such as a driver of a GPU that hangs.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

EXCEPTION = re.compile(r"\b\w*(?:Error|Exception)\b")
WARNING = re.compile(r"\b\w*Warning: ")
"""Python's own, which may quote an exception that nobody raised."""
RAY_PREFIX = re.compile(r"^(?:\x1b\[\d*m)*\((?:[\w:.]+ )?pid=\d+[^)]*\)(?:\x1b\[\d*m)*")
COLOURS = re.compile(r"\x1b\[\d*m")


class Cause(NamedTuple):
    """Something that ends a run, and how to know it."""

    told_by: re.Pattern[str]
    """What the first line of it looks like."""
    meaning: str
    """What has happened, and what to do, for the one who started the run."""


LINE_CHARACTERS = 300

RESUMES = "the same command goes on from the last checkpoint"

OVERSEER_ENDS = "madrl's overseer ends the run"
"""How the line begins with which the task runner ends (``madrl.trainer.step_watch.oversee``)."""

CAUSES = (
    Cause(
        re.compile(r"Raylet is terminated\. Termination is unexpected"),
        "Ray's raylet, its process on a node, died: it was killed, which the kernel does when the host has no memory "
        f"left (`dmesg` has a line of that), or its own error stands below that line; {RESUMES}",
    ),
    Cause(
        re.compile(r"Failed to connect to GCS within \d+ seconds"),
        "Ray's GCS, which holds its cluster together, died or cannot be reached: it was killed, which the kernel does "
        f"when the host has no memory left (`dmesg` has a line of that), or its host is away; {RESUMES}",
    ),
    Cause(
        re.compile(OVERSEER_ENDS),
        f"a process died without which the run would wait for ever; {RESUMES}",
    ),
    Cause(
        re.compile(r"engine core exited unexpectedly|EngineCore encountered a fatal error|EngineDeadError"),
        "the rollout engine's process died: it was killed, which the kernel does when the host has no memory left "
        f"(`dmesg` has a line of that), or its own error stands above that line; {RESUMES}",
    ),
    Cause(
        # At the beginning of a line it is what ended the run: others wrote about the deaths that it survived.
        re.compile(r"^ray\.exceptions\.(?:ActorDied|NodeDied|WorkerCrashed|OutOfMemory)Error\b"),
        "a process of the run died (class_name says which): it was killed, which the kernel and Ray do when the host "
        f"has no memory left (`dmesg` has a line of that), or its own error stands further above; {RESUMES}",
    ),
)
"""The causes that are looked for. The first whose line is there counts: each can bring about the later ones."""


class Failure(NamedTuple):
    """A cause that was found."""

    meaning: str
    place: int
    """The place of its first line among the lines."""
    line: str
    """That line, without Ray's colours and actor name; of a long one the beginning."""


def failure_of(lines: Sequence[str]) -> Failure | None:
    """The cause that the log ``lines`` of a failed run tell; None when they tell none."""
    for cause in CAUSES:
        for index, line in enumerate(lines):
            if cause.told_by.search(line):
                return Failure(cause.meaning, index, plain(line)[:LINE_CHARACTERS])
    return None


def last_error(lines: Sequence[str]) -> str | None:
    """The last line that names an exception and is no warning, without Ray's colours and actor name; None when no line
    does."""
    found = next((line for line in reversed(lines) if EXCEPTION.search(line) and not WARNING.search(line)), None)
    return None if found is None else plain(found)


def plain(line: str) -> str:
    """A line of a log without Ray's colours and actor name."""
    return COLOURS.sub("", RAY_PREFIX.sub("", line)).strip()
