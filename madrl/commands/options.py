"""What several commands share: how a command is called, and the options that mean the same in all of them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from madrl.errors import MadrlError

ARGUMENTS_HELP = """its keyword arguments, such as '{"name": 1}' (none)"""

Command = Callable[[ArgumentParser, Sequence[str]], None]
"""A command takes a parser without options and the words after its own name. Its docstring is its help. It prints its
result to stdout, and raises MadrlError for what the user can mend."""


def call(parser: ArgumentParser, commands: Mapping[str, Command], words: Sequence[str]) -> None:
    """Call the command that the first word names with the words after it."""
    names = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands.items():
        names.add_parser(name, help=command.__doc__)
    name = parser.parse_args(words[:1]).command
    command = commands[name]
    command(Parser(prog=f"{parser.prog} {name}", description=command.__doc__, allow_abbrev=False), words[1:])


class Parser(ArgumentParser):
    """A parser that reports a usage error in the way of every other error."""

    def error(self, message: str) -> NoReturn:
        raise MadrlError(f"{message} (see {self.prog} --help)")


def parse_overrides(parser: ArgumentParser, words: Sequence[str]) -> Namespace:
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides; task=NAME is needed")
    parser.add_argument("--dry-run", action="store_true", help="only print the resolved config, checked against veRL")
    return parser.parse_intermixed_args(words)


def add_response_files(parser: ArgumentParser, needs: str, gains: str) -> None:
    parser.add_argument("input", metavar="IN.jsonl", help=f"{needs}; - is standard input")
    gets = f"gets the same lines with {gains}; - is standard output"
    parser.add_argument("-o", "--output", metavar="OUT.jsonl", required=True, help=gets)


def add_target_option(parser: ArgumentParser, meaning: str = "", required: bool = True) -> None:
    from madrl.targets import TARGETS

    named = f"""{", ".join(TARGETS)}, or JSON weights such as '{{"english": 3, "hindi": 1}}'"""
    parser.add_argument("--target", required=required, help=meaning + named)


def category_names(text: str) -> tuple[str, ...]:
    from madrl.targets import check_categories

    return check_categories([name.strip() for name in text.split(",")])
