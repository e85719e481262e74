"""Progress of a veRL run, read from the metrics that its file logger writes."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

LINE_EVERY_S = 20.0
SPEED_OVER_S = 3600.0
"""What the ETA is computed from. Rich's own 30 s are less than one step of a large model."""
STARTING = "starting veRL"

Messages = Callable[[int, Mapping[str, float]], Sequence[str]]
"""What there is to say about a step, given its number and metrics."""


@contextlib.contextmanager
def progress_of(metrics: Path, total: int, messages: Messages = lambda step, data: ()) -> Iterator[Callable[[], None]]:
    """Yields a function that shows how far ``metrics`` has come: a bar on a terminal, a line now and then elsewhere.

    What ``messages`` says of a step is printed above the bar, each on a line of its own.
    """
    console = Console(stderr=True)
    # On a narrow terminal the numbers take a second line, rather than be cut off.
    headline = TextColumn("{task.description}", table_column=Column(no_wrap=False, ratio=1))
    columns = [headline, BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn()]
    columns += [TextColumn("eta"), TimeRemainingColumn()]
    due = _every(LINE_EVERY_S)
    offset = 0
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        transient=True,
        expand=True,
        speed_estimate_period=SPEED_OVER_S,
    ) as progress:
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
                    left = progress.tasks[0].time_remaining
                    eta = "" if left is None else f"  eta {timedelta(seconds=round(left))}"
                    print(f"  step {record['step']}/{total}  {_headline(record['data'])}{eta}", file=sys.stderr)

        yield show


def _headline(metrics: Mapping[str, float]) -> str:
    tokens, seconds = metrics.get("perf/total_num_tokens"), metrics.get("perf/time_per_step")
    parts = [
        f"{name} {value:{form}}"
        for name, value, form in (
            ("loss", metrics.get("train/loss"), ".3f"),
            ("jsd", metrics.get("mad/jsd"), ".4f"),
            ("off-support", metrics.get("mad/off_support_rate"), ".1%"),
            ("pass@1", metrics.get("mad/pass@1"), ".1%"),
            ("reward", metrics.get("mad/reward/mean"), ".3f"),
            ("kl", metrics.get("actor/kl_loss"), ".4f"),
            # veRL's perf/throughput is per GPU.
            ("tokens/s", tokens / seconds if tokens and seconds else None, ".0f"),
            ("seconds a step", metrics.get("timing_s/step"), ".1f"),
        )
        if value is not None
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
