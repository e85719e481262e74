"""A soak: hundreds of steps of the smallest model in one process, and what grows while they are trained.

    python tests/soak.py [--steps 500] [--work FOLDER]     trains, and samples into docs/soak/samples.jsonl
    python tests/soak.py --draw                            docs/soak.png and the table in docs/soak.md

Every few seconds, a sample has the resident memory, the open files and the threads of every process of the run, and
what lies in /tmp and in /dev/shm of what was not there before. When the run has ended, the last sample says what is
left of it. Stopped and called again with the same --work, it goes on from the last checkpoint; the samples say which
attempt they are of.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS.parent), str(TESTS / "trainer")]

from fault_drill import Running, living, name_of, work_folder  # noqa: E402

from madrl.files import read_jsonl, replacing  # noqa: E402
from madrl.report.drawing import draw  # noqa: E402
from madrl.report.panels import COLORS, Panel, Series  # noqa: E402
from madrl.report.table import formatted  # noqa: E402

FOLDER = TESTS.parent / "docs" / "soak"
SAMPLES = FOLDER / "samples.jsonl"
FIGURE, PAGE = FOLDER.with_suffix(".png"), FOLDER.with_suffix(".md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

STEPS, EVERY_S = 500, 10.0
WARM_UP = 0.2
"""The part of an attempt's steps that its slopes leave out: caches and pools fill."""

LEFT_AFTER_S = 60.0
CHANGES = (
    "madrl.classifier=plugins_under_test:classify_by_checksum",
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=madrl.trainer.group_loop.GroupAgentLoopManager",
    "trainer.val_before_train=False",
    "trainer.save_freq=50",
    "trainer.test_freq=50",
)

MEASURES = {"rss": "resident memory, MiB", "fds": "open files", "threads": "threads"}
"""What is measured of each process."""

PLACES = {"tmp": Path("/tmp"), "shm": Path("/dev/shm")}


class Size(NamedTuple):
    """What lies under a folder."""

    entries: int
    mib: float


def size_of(folder: Path, leave_out: frozenset[Path] = frozenset()) -> Size:
    """The files under ``folder``, with what they take of the disk, without what lies under ``leave_out``."""
    entries, blocks = 0, 0
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(where, name) not in leave_out]
        for name in files:
            if Path(where, name) in leave_out:
                continue
            with suppress(FileNotFoundError):
                blocks += Path(where, name).lstat().st_blocks
                entries += 1
    return Size(entries, round(blocks / 2048, 1))


def there_in(place: Path) -> frozenset[Path]:
    """What is not the run's: what was there before. Ray adds a folder for each session to one of its own."""
    ray = place / "ray"
    return frozenset({*place.iterdir(), *(ray.iterdir() if ray.exists() else ())} - {ray})


def measured(processes: Mapping[psutil.Process, str]) -> dict[str, list[dict[str, float]]]:
    """Name -> its processes' measures. Ray's idle workers come and go: they count as one name."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for process, line in processes.items():
        with suppress(psutil.Error):
            with process.oneshot():
                rss, threads = process.memory_info().rss / 2**20, process.num_threads()
            values = {"rss": round(rss, 1), "fds": process.num_fds(), "threads": threads}
            found["idle workers" if "IDLE" in line else name_of(line)].append(values)
    return dict(sorted(found.items()))


def soak(steps: int, folder: Path) -> None:
    """Train and sample."""
    from real_runs import Trainings

    trainings = Trainings(folder)
    old = {name: there_in(place) for name, place in PLACES.items()}
    records = read_jsonl(SAMPLES) if SAMPLES.exists() else []
    attempt = 1 + max((record["attempt"] for record in records), default=0)
    running = Running(trainings, "soak", steps, folder / "hold", CHANGES)
    FOLDER.mkdir(exist_ok=True)
    everyone: dict[psutil.Process, str] = {}

    def sample(step: int) -> None:
        places = {name: size_of(place, old[name])._asdict() for name, place in PLACES.items()}
        processes = measured(living(everyone))
        record = {
            "attempt": attempt,
            "seconds": round(time.monotonic() - running.began, 1),
            "step": step,
            "processes": processes,
            **places,
        }
        with SAMPLES.open("a") as file:
            file.write(json.dumps(record) + "\n")

    first = running.step()
    try:
        while running.launcher.poll() is None:
            everyone |= running.processes()
            if (step := running.step()) > first:
                sample(step)
            with suppress(subprocess.TimeoutExpired):
                running.launcher.wait(EVERY_S)
    finally:
        running.stop()
    deadline = time.monotonic() + LEFT_AFTER_S
    while living(everyone) and time.monotonic() < deadline:
        time.sleep(0.5)
    sample(running.step())
    if running.launcher.returncode:
        raise SystemExit(f"the run ended with status {running.launcher.returncode}: {running.last_words()}")


class Curve(NamedTuple):
    """One number over the steps of an attempt."""

    steps: Sequence[int]
    values: Sequence[float]

    def slope(self) -> float:
        """Per 100 steps, once it has warmed up, by least squares."""
        first = self.steps[0] + WARM_UP * (self.steps[-1] - self.steps[0])
        steps, values = zip(*((s, v) for s, v in zip(self.steps, self.values, strict=True) if s >= first), strict=True)
        return float(100 * np.polyfit(steps, values, 1)[0]) if len(set(steps)) > 1 else 0.0


def whole(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The samples of the longest attempt before its last step, after which its processes end one by one."""
    of_attempt: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        of_attempt[record["attempt"]].append(record)
    longest = max(of_attempt.values(), key=lambda found: found[-1]["step"] - found[0]["step"])
    return [record for record in longest if record["step"] < longest[-1]["step"]]


def curves(records: Sequence[Mapping[str, Any]], measure: str) -> dict[str, Curve]:
    """Name of a process -> the sum of the measure over the processes of that name."""
    names = sorted({name for record in records for name in record["processes"]})
    steps = [record["step"] for record in records]
    found = {}
    for name in names:
        values = [sum(one[measure] for one in record["processes"].get(name, ())) for record in records]
        found[name] = Curve(steps, values)
    return found


def place_curves(records: Sequence[Mapping[str, Any]], field: str) -> dict[str, Curve]:
    steps = [record["step"] for record in records]
    return {str(PLACES[name]): Curve(steps, [record[name][field] for record in records]) for name in PLACES}


def panels(records: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """One for each measure: the largest processes by name, the others together."""
    found = []
    for measure, label in MEASURES.items():
        of_name = curves(records, measure)
        ordered = sorted(of_name, key=lambda name: -max(of_name[name].values))
        shown = {name: of_name[name] for name in ordered[: len(COLORS) - 1]}
        if rest := [of_name[name].values for name in ordered[len(COLORS) - 1 :]]:
            steps = [record["step"] for record in records]
            shown["all others together"] = Curve(steps, [sum(values) for values in zip(*rest, strict=True)])
        found.append(Panel([label], lines(shown), label, "step"))
    found.append(Panel(["new in /tmp and /dev/shm, MiB"], lines(place_curves(records, "mib")), "MiB", "step"))
    return found


def lines(shown: Mapping[str, Curve]) -> list[Series]:
    return [
        Series(name, "line", curve.steps, curve.values, color)
        for (name, curve), color in zip(shown.items(), COLORS, strict=False)
    ]


def table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of the table, in Markdown: what each kind of process has at the end, and how it grows."""
    yield "| | processes | MiB at the end | per 100 steps | open files | per 100 steps | threads | per 100 steps |\n"
    yield "| :-- |" + " --: |" * 7 + "\n"
    of = {measure: curves(records, measure) for measure in MEASURES}
    for name in of["rss"]:
        cells = [name, str(len(records[-1]["processes"].get(name, ())))]
        for measure, form in (("rss", "+.1f"), ("fds", "+.1f"), ("threads", "+.1f")):
            curve = of[measure][name]
            cells += [f"{curve.values[-1]:.0f}", formatted(curve.slope() + 0.0, form)]
        yield f"| {' | '.join(cells)} |\n"
    yield "\n| | files at the end | per 100 steps | MiB at the end | per 100 steps |\n| :-- |" + " --: |" * 4 + "\n"
    for place, entries in place_curves(records, "entries").items():
        mib = place_curves(records, "mib")[place]
        yield (
            f"| {place} | {entries.values[-1]:.0f} | {formatted(entries.slope() + 0.0, '+.1f')} | "
            f"{mib.values[-1]:.0f} | {formatted(mib.slope() + 0.0, '+.2f')} |\n"
        )


def left(record: Mapping[str, Any]) -> str:
    """What the sample after the end has."""
    names = ", ".join(record["processes"]) or "no process"
    places = ", ".join(f"{record[n]['entries']} files ({record[n]['mib']:.0f} MiB) in {PLACES[n]}" for n in PLACES)
    return f"After step {record['step']}, when the run had ended: {names}; {places}."


def write() -> None:
    """Draw the figure, and put the table into the page."""
    records = read_jsonl(SAMPLES)
    samples = whole(records)
    with replacing(FIGURE) as unfinished:
        draw(panels(samples), 2, {"png": unfinished}, f"Steps {samples[0]['step']} to {samples[-1]['step']}")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = f"{before}{BEGIN}\n\n{''.join(table(samples))}\n{left(records[-1])}\n\n{END}{rest.partition(END)[2]}"
    with replacing(PAGE) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS, help="(%(default)s)")
    parser.add_argument("--work", metavar="FOLDER", help="keep the run there, for the next call")
    parser.add_argument("--draw", action="store_true", help="draw what was sampled")
    args = parser.parse_args()
    if args.draw:
        write()
        return
    os.environ.pop("MADRL_SANDBOX_URLS", None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with work_folder(args.work) as folder:
        soak(args.steps, folder)


if __name__ == "__main__":
    main()
