"""How far long work has come: a bar with the time that is left on a terminal, a line now and then elsewhere.

The one progress display of the project. It writes to stderr.
"""

import contextlib
import time
from collections.abc import Iterator
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

LINE_EVERY_S = 20.0

SPEED_OVER_S = 3600.0
"""The time that is left is computed from this last part of the work. Rich's own 30 s are less than one training step of
a large model."""


class Advance:
    """What the work calls as it goes on. ``progress`` makes it."""

    def __init__(self, bar: Progress, what: str, total: int | None, done: int) -> None:
        self._bar = bar
        self._what = what
        bar.add_task(what, total=total, completed=done)
        (self._task,) = bar.tasks
        self._last_line = time.monotonic()
        self._has_said = False

    def __call__(self, count: int = 1, text: str = "") -> None:
        """``count`` more are done. ``text`` stands beside the numbers."""
        self._bar.update(self._task.id, advance=count, description=f"{self._what}  {text}".rstrip())
        is_late = time.monotonic() - self._last_line >= LINE_EVERY_S
        if self._bar.disable and (is_late or (self._has_said and self._task.finished)):
            self._last_line, self._has_said = time.monotonic(), True
            of = "" if self._task.total is None else f"/{self._task.total:.0f}"
            left = self._task.time_remaining
            eta = "" if left is None else f"eta {timedelta(seconds=round(left))}"
            parts = (f"{self._what} {self._task.completed:.0f}{of}", text, eta)
            self.say("  ".join(("", *filter(None, parts))))

    def say(self, line: str, style: str = "") -> None:
        """Print a line of its own, above the bar where there is one. It is never wrapped."""
        self._bar.console.print(line, style=style, soft_wrap=True, markup=False, highlight=False)


@contextlib.contextmanager
def progress(what: str, total: int | None, done: int = 0) -> Iterator[Advance]:
    """Show the work ``what`` while the block runs; the block calls what is yielded with the number that it has done.

    Args:
        total: how many there are to do, None when nobody knows.
        done: how many of them were done before.
    """
    console = Console(stderr=True)
    # On a narrow terminal the numbers take a second line, rather than be cut off.
    description = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False, ratio=1))
    columns = (description, BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("eta"))
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        expand=True,
        speed_estimate_period=SPEED_OVER_S,
    ) as bar:
        yield Advance(bar, what, total, done)
