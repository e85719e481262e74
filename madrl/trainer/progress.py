"""Progress of a veRL run, read from the metrics that its file logger writes."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LINE_EVERY_S = 20.0
STARTING = "starting veRL"

Messages = Callable[[int, Mapping[str, float]], Sequence[str]]
"""What there is to say about a step, given its number and metrics."""


@contextlib.contextmanager
def progress_of(metrics: Path, total: int, messages: Messages = lambda step, data: ()) -> Iterator[Callable[[], None]]:
    """Yields a function that shows how far ``metrics`` has come: a bar on a terminal, a line now and then elsewhere.

    What ``messages`` says of a step is printed above the bar, each on a line of its own.
    """
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    columns += [TextColumn("eta"), TimeRemainingColumn()]
    due = _every(LINE_EVERY_S)
    offset = 0
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(STARTING, total=total)

        def show() -> None:
            nonlocal offset
            if not metrics.exists():
                return
            with metrics.open("rb") as file:
                file.seek(offset)
                lines = file.read().splitlines(keepends=True)
            for line in lines:
                if not line.endswith(b"\n"):  # still being written
                    return
                offset += len(line)
                record = json.loads(line)
                for message in messages(record["step"], record["data"]):
                    console.print(message, style="yellow", soft_wrap=True, markup=False, highlight=False)
                progress.update(task, completed=record["step"], description=_headline(record["data"]))
                if not console.is_terminal and due():
                    print(f"  step {record['step']}/{total}  {_headline(record['data'])}", file=sys.stderr)

        yield show


def _headline(metrics: dict[str, float]) -> str:
    parts = [
        f"{name} {metrics[key]:{form}}"
        for name, key, form in (
            ("loss", "train/loss", ".3f"),
            ("jsd", "mad/jsd", ".4f"),
            ("off-support", "mad/off_support_rate", ".1%"),
            ("seconds a step", "timing_s/step", ".1f"),
        )
        if metrics.get(key) is not None
    ]
    return "  ".join(parts) or "first validation done"


def _every(seconds: float) -> Callable[[], bool]:
    """A test that says yes at most once in ``seconds``."""
    last = 0.0

    def due() -> bool:
        nonlocal last
        if time.monotonic() - last < seconds:
            return False
        last = time.monotonic()
        return True

    return due
