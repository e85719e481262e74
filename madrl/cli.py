"""The ``madrl`` command line.

A command is one function of madrl/commands and a row in COMMANDS: it declares its options, parses its words, and does
what they say. It imports what its options need, and after parsing what its work needs, so that ``madrl --help`` imports
nothing heavy. This is argparse because typer, with its pydantic, would add 0.2 s of CPU time to every call.

Exit codes: 0 done, 2 a mistake in the call or its files (one line on stderr, no traceback), 130 Ctrl-C, 141 the reader
of our output went away.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from madrl import __version__
from madrl.commands import models, responses, results, running
from madrl.commands.options import Command, Parser, call
from madrl.errors import MadrlError
from madrl.tasks import make_importable

OUR_PACKAGES = ("madrl", "sandbox", "data_prep")

COMMANDS: dict[str, Command] = {
    "doctor": running.doctor,
    "install": running.install,
    "run": running.run,
    "judges": running.judges,
    "warm-start": running.warm_start,
    "train": running.train,
    "rehearse": running.rehearse,
    "grid": running.grid,
    "holdout": models.holdout,
    "evaluate": results.evaluate,
    "temperature-sweep": running.temperature_sweep,
    "alternatives": running.alternatives,
    "report": results.report,
    "card": results.card,
    "miniature": models.miniature,
    "small-model": models.small_model,
    "generate": models.generate,
    "classify": responses.classify,
    "verify": responses.verify,
    "rescore": responses.rescore,
    "floor": results.floor,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` defaults to the process's own arguments."""
    make_importable(Path.cwd())
    parser = Parser(prog="madrl", description="Match a target distribution over a category of an LLM's responses.")
    parser.add_argument("--version", action="version", version=f"madrl {__version__}")
    try:
        try:
            call(parser, COMMANDS, sys.argv[1:] if argv is None else argv)
        except SystemExit as done:
            if done.code:  # not after --help or --version
                raise
        sys.stdout.flush()
    except MadrlError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "madrl").partition(".")[0] in OUR_PACKAGES:
            raise
        return _fail(f"{error.name} is not installed: call madrl install cpu, or on GPUs madrl install gpu")
    except BrokenPipeError:
        _let_go_of_stdout()
        return 141
    except OSError as error:
        from madrl.files import no_space

        reason = no_space(error)
        if reason is not None:
            _let_go_of_stdout()
        elif error.filename is None:  # no file that the user named
            raise
        return _fail(f"{error.filename or 'output'}: {reason or error.strerror}")
    except MemoryError as error:
        return _fail(f"not enough memory{f' ({error})' if str(error) else ''}: ask for less at once, or give it more")
    except KeyboardInterrupt:
        return 130
    return 0


def _let_go_of_stdout() -> None:
    """Give stdout a place to write to where it has lost its own: the interpreter flushes it once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    print("madrl: error:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
