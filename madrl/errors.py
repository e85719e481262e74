"""The one exception type that a user is meant to read, and a check of names that raises it."""

from collections.abc import Iterable


class MadrlError(ValueError):
    """Bad input from outside: a config value, a data row, a file.

    The message names the value and the remedy in one line; the command line prints it without a traceback.
    """


def check_texts(what: str, names: Iterable[object]) -> None:
    """Raises MadrlError for the first of the names, which it calls ``what``, that is no text: YAML reads a bare yes as
    true, and a bare 1e5 as a number."""
    for name in names:
        if not isinstance(name, str):
            remedy = "write it in quotes (YAML reads a bare yes as true, and 1e5 as a number)"
            raise MadrlError(f"{what} {name!r} is no text: {remedy}")
