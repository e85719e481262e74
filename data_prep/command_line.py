"""What the modules' command lines have in common: arguments, errors and warnings.

Exit status: 0 done, 2 a mistake in the call or its files (one line on stderr, no traceback), 130 Ctrl-C.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from madrl.errors import MadrlError


class Parser(argparse.ArgumentParser):
    """Has the arguments of every module, reports a mistake in one line, and takes no abbreviations."""

    def __init__(self, module: str, description: str) -> None:
        super().__init__(prog=f"data_prep.{module}", description=description, allow_abbrev=False)
        self.add_argument("--local_save_dir", type=Path, required=True, help="folder to write to")
        self.add_argument("--seed", type=int, default=42, help="decides all that is drawn (default: %(default)s)")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (--help shows the arguments)\n")


def benchmark_parser(module: str, description: str, hub: str) -> Parser:
    """The arguments of a module that prepares a published dataset."""
    parser = Parser(module, description)
    parser.add_argument(
        "--local_dataset_path",
        type=Path,
        metavar="DIR_OR_FILE",
        help=f"jsonl, json, csv or parquet files in the dataset's schema (default: {hub} from the Hugging Face hub)",
    )
    return parser


def run(parser: Parser, prepare: Callable[[argparse.Namespace], Sequence[str]], argv: Sequence[str] | None) -> int:
    """Parse the arguments, call ``prepare``, print the lines that it returns. Returns the exit status."""
    args = parser.parse_args(argv)
    try:
        lines = prepare(args)
    except ModuleNotFoundError as error:
        print(f"{parser.prog}: error: {error.name} is not installed: call madrl install cpu (or gpu)", file=sys.stderr)
        return 2
    except (MadrlError, OSError) as error:
        print(f"{parser.prog}: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted, nothing was changed", file=sys.stderr)
        return 130
    for line in lines:
        print(line)
    return 0
