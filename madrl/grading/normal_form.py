"""Unicode's normal forms of text that a model wrote, in time linear in its length."""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

MAX_MARKS = 30
"""The number of marks on one letter that are read. It is Unicode's own limit for text that streams (UAX #15, section
13)."""

# Marks, and with them signs outside ASCII, which say nothing thirty times over. Python's re knows no class of marks,
# and takes the two halfwidth kana marks for letters, which the compatibility forms make marks of.
_MARK = r"(?:[^\x00-\x7f\w\s]|[\uff9e\uff9f])"
_TOO_MANY_MARKS = re.compile(f"({_MARK}{{{MAX_MARKS}}}){_MARK}+")


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """``text`` in a normal form of Unicode, without the marks and signs beyond MAX_MARKS in a row.

    ``unicodedata.normalize`` sorts the marks on a letter one by one, which takes quadratic time: four seconds for a
    letter with 64,000.
    """
    return unicodedata.normalize(form, _TOO_MANY_MARKS.sub(r"\1", text))


class Characters(dict[int, str | None]):
    """A str.translate table that is filled as characters are met: ``becomes`` takes one with its Unicode category and
    returns what stands in its place, None for nothing."""

    def __init__(self, becomes: Callable[[str, str], str | None]) -> None:
        self._becomes = becomes

    def __missing__(self, code: int) -> str | None:
        self[code] = self._becomes(chr(code), unicodedata.category(chr(code)))
        return self[code]
