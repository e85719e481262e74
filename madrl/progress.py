"""How far sampling has come: a bar with the time that is left on a terminal, a line now and then elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

Advance = Callable[[int], None]
"""Told how many more responses there are."""

LINE_EVERY_S = 20.0


@contextlib.contextmanager
def progress(what: str, total: int, done: int = 0) -> Iterator[Advance]:
    """Yields a function that is told of each batch; ``done`` of ``total`` are there already. Writes to stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("eta"))
    started = last = time.monotonic()
    now = done
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total, completed=done)

        def advance(count: int) -> None:
            nonlocal now, last
            now += count
            bar.update(task, completed=now)
            if not console.is_terminal and (time.monotonic() - last > LINE_EVERY_S or now >= total):
                last = time.monotonic()
                left = (last - started) / (now - done) * max(0, total - now)
                print(f"  {what}: {now} of {total}, {left:.0f} s left", file=sys.stderr)

        yield advance
