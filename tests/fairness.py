"""Whether a program's verdict depends on what else the machine does.

    python tests/fairness.py [--levels full portable] [--settings alone clients hog1 hog4] [--only WORD ...]

Judges the programs of golden/judge (judge_problems.py), each of which deserves one verdict, with the real service:

alone    one client
clients  64 clients, who send every program twice, in an order of their own
hogN     one client a slot, while N processes of the usual priority spin on each core

and prints, for each level of protection and each setting, how many verdicts were other ones and how many IE, what the
judging took, and below it each program with another verdict. Each text is sent once only, so that all are compiled. An
unprivileged user runs the level ``portable`` only. The exit status is 1 when there is a difference.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
from judge_problems import JudgedProgram, programs

sys.path.insert(0, str(Path(__file__).parents[1]))

from sandbox.bench import running_service, tree_cpu

CLIENTS, COPIES = 64, 2
LEVELS = {"full": ("--require", "full"), "portable": ("--no-cgroups",)}
ANSWER_S = 3600.0
"""Seconds that a request may take: a service that is starved is slow."""


class Outcome(NamedTuple):
    """What became of one request."""

    program: JudgedProgram
    verdict: str
    cpu_s: float
    """Of its last test."""
    wall_s: float
    message: str

    @property
    def differs(self) -> bool:
        """Whether it is another verdict than the program deserves."""
        return self.verdict != self.program.verdict


class Measured(NamedTuple):
    """All requests of one setting, and what they took together."""

    level: str
    setting: str
    outcomes: list[Outcome]
    wall_s: float
    cpu_s: float
    """CPU seconds of every process of the service."""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS)[os.geteuid() != 0 :])
    parser.add_argument("--settings", nargs="+", default=["alone", "clients", "hog1", "hog4"])
    parser.add_argument("--only", nargs="+", default=[""], help="programs whose problem/file has one of these words")
    parser.add_argument("--write", type=Path, help="the tables, as Markdown, as soon as each is there")
    arguments = parser.parse_args()
    chosen = [program for program in programs() if any(word in program.name for word in arguments.only)]
    found = []
    for level in arguments.levels:
        for setting in arguments.settings:
            found.append(measure(chosen, level, setting))
            if arguments.write:
                arguments.write.write_text(report(found))
            print(line(found[-1]), file=sys.stderr, flush=True)
    print(report(found))
    return int(any(outcome.differs for measured in found for outcome in measured.outcomes))


def measure(chosen: Sequence[JudgedProgram], level: str, setting: str) -> Measured:
    """Judge the programs in one setting, with a service of its own."""
    slots = os.cpu_count() or 1
    order = list(chosen)
    clients, hogs = 1, 0
    if setting == "clients":
        clients, order = CLIENTS, order * COPIES
        random.Random(0).shuffle(order)
    elif setting.startswith("hog"):
        clients, hogs = slots, int(setting.removeprefix("hog")) * slots
    with running_service(slots, *LEVELS[level]) as (url, service):
        health = httpx.get(f"{url}/health").json()
        if health["protection"] != level:
            raise SystemExit(f"protection is {health['protection']}, not {level}: {health['protection_detail']}")
        with hogging(hogs), ThreadPoolExecutor(clients) as pool:
            before, started = tree_cpu(service), time.monotonic()
            outcomes = list(pool.map(lambda job: judged(url, job[1], f"{setting} {job[0]}"), enumerate(order)))
            return Measured(level, setting, outcomes, time.monotonic() - started, tree_cpu(service) - before)


def judged(url: str, program: JudgedProgram, mark: str) -> Outcome:
    """The service's answer to one program, once: IE is not asked for again."""
    started = time.monotonic()
    answer = httpx.post(f"{url}/judge", json=program.request(mark), timeout=ANSWER_S, trust_env=False)
    wall_s = time.monotonic() - started
    if answer.status_code != httpx.codes.OK:
        return Outcome(program, f"HTTP {answer.status_code}", 0.0, wall_s, answer.text[:200])
    said = answer.json()
    last = said["tests"][-1] if said["tests"] else {}
    message = said["message"] or last.get("message", "") or (said["compile"] or {}).get("stderr", "")
    return Outcome(program, said["verdict"], last.get("cpu_s", 0.0), wall_s, message[-200:])


@contextlib.contextmanager
def hogging(count: int) -> Iterator[None]:
    """So many processes that spin, each in a session of its own, during the block: neither a scheduler that groups
    processes by session nor the judge's cgroups count them as the judge's."""
    hogs = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()


def _spin() -> None:
    os.setsid()
    parent = psutil.Process().ppid()
    while os.getppid() == parent:
        for _ in range(10**6):
            pass


def line(measured: Measured) -> str:
    """One setting in a line."""
    level, setting, judged, others, ungraded, wall_s, cpu_s = cells(measured)
    return (
        f"{level}, {setting}: {judged} judged, {others} other verdicts, {ungraded} IE, wall {wall_s} s, CPU {cpu_s} s"
    )


def cells(measured: Measured) -> list[str]:
    """One setting as a row of the table."""
    level, setting, outcomes, wall_s, cpu_s = measured
    others = sum(outcome.differs for outcome in outcomes)
    ungraded = sum(outcome.verdict == "IE" for outcome in outcomes)
    return [level, setting, *map(str, (len(outcomes), others, ungraded)), f"{wall_s:.0f}", f"{cpu_s:.0f}"]


def report(found: Sequence[Measured]) -> str:
    """The table of the settings, and that of all other verdicts, in Markdown."""
    rows = [["level", "setting", "judged", "other verdicts", "IE", "wall s", "CPU s"], *map(cells, found)]
    differences = [["level", "setting", "program", "deserves", "got", "CPU s", "wall s", "message"]]
    for measured in found:
        for program, verdict, cpu_s, wall_s, message in filter(lambda outcome: outcome.differs, measured.outcomes):
            said = " ".join(message.replace("|", "/").split())
            times = (f"{cpu_s:.2f}", f"{wall_s:.1f}")
            differences.append([measured.level, measured.setting, program.name, program.verdict, verdict, *times, said])
    none = "Every verdict is the deserved one.\n"
    return f"{table(rows)}\n{table(differences) if len(differences) > 1 else none}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, whose first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
