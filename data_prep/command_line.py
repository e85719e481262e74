"""What the scripts' command lines have in common: arguments, errors, warnings, progress.

Exit status: 0 done, 2 a mistake in the call or its files (one line on stderr, no traceback), 130 Ctrl-C.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from madrl.errors import MadrlError

DEFAULT_SEED = 42
LINE_EVERY_S = 20.0


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, and takes no abbreviations."""

    def __init__(self, script: str, description: str) -> None:
        super().__init__(prog=script, description=description, allow_abbrev=False)
        self.add_argument("--local_save_dir", type=Path, required=True, help="folder to write to")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (--help shows the arguments)\n")


def benchmark_parser(script: str, description: str, hub: str) -> Parser:
    """The arguments of a script that prepares a published benchmark."""
    parser = Parser(script, description)
    parser.add_argument(
        "--local_dataset_path",
        type=Path,
        metavar="DIR_OR_FILE",
        help=f"jsonl, json or parquet files in the dataset's own schema (default: {hub} from the Hugging Face hub)",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="decides the splits (default: %(default)s)")
    return parser


def source(args: argparse.Namespace, hub: str) -> str:
    """Where a benchmark's rows are from, as the manifest says it: the hub's name, or that files were given."""
    return hub if args.local_dataset_path is None else "local files"


def run(parser: Parser, prepare: Callable[[argparse.Namespace], Sequence[str]], argv: Sequence[str] | None) -> int:
    """Parse, prepare, print the lines that it returns; the exit status."""
    args = parser.parse_args(argv)
    try:
        lines = prepare(args)
    except (MadrlError, OSError) as error:
        print(f"{parser.prog}: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted, nothing was changed", file=sys.stderr)
        return 130
    for line in lines:
        print(line)
    return 0


def warn(message: str) -> None:
    """One line on stderr, for what the user should know and need not mend."""
    print(f"warning: {message}", file=sys.stderr)


@contextmanager
def progress_bar(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Yields a function to call for each thing done: a bar with the time left on a terminal, a line on stderr now and
    then elsewhere. ``total`` is None when nobody knows."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done, started = 0, time.monotonic()
    due = started + LINE_EVERY_S
    with Progress(
        *columns, TextColumn("eta"), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(description, total=total)

        def advance() -> None:
            nonlocal done, due
            done += 1
            bar.advance(task)
            now = time.monotonic()
            if not console.is_terminal and now >= due:
                due = now + LINE_EVERY_S
                left = "" if total is None else f" of {total}, {(now - started) / done * (total - done):.0f} s left"
                print(f"{description}: {done}{left}", file=sys.stderr)

        yield advance
