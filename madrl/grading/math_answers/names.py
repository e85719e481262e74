r"""MATH: what stands before a reference's equals sign. ``x = 5``, ``f(x) = x^2`` and ``AB = 5`` name a value, which is
an answer without its name. ``3x - 2y = 6`` is an equation, and 6 is no answer to what it answers.
"""

import re
from functools import lru_cache

from madrl.grading.math_answers.algebra import formula

_INDEX = r"'*+(?:_(?:\w|\{[^{}]*\}))?'*+"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_NAME = re.compile(
    rf"""
    (?:[A-Z]'*+)*{_INDEX} | \|(?:[A-Z]+|[a-z])\| | \[[A-Z]+\]                  # AB, its length, an area
      | m?\\(?:angle|triangle|Delta)\ ?\w+                                      # m\angle ABC
      | \\(?:overline|overrightarrow|vec|hat)\ ?(?:\{{[a-zA-Z]+\}}|[a-zA-Z])
      | [^\W\d_]{{3,}}                                                          # a word
      | (?:[a-z]|\\(?!pi(?![a-z]))[a-z]+){_INDEX}(?:\((?:[a-zA-Z0-9,]|\\[a-z]++)*+\))?    # x_1, v(t)
      | (?:[fgh]|[A-Z]+|\([fgh](?:\\circ\ ?|[-+*/])?[fgh]\)){_INDEX}(?:\^\{{-1\}})?{_ARGUMENTS}    # f(x+1)
      | \((?:[a-zA-Z](?:_\w)?,?)+\)                                              # (x,y)
      | E\[.*\] | [a-zA-Z](?::[a-zA-Z])+ | \\frac\{{d[a-zA-Z]\}}\{{d[a-zA-Z]\}} | d[a-zA-Z]/d[a-zA-Z]
      | \\(?:sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln|gcd|lcm|max|min|det)
        (?:_(?:\w|\{{[^{{}}]*\}}))?(?:\^\w)?(?:\ ?\d*\\?[a-zA-Z]+|\ ?\d+|{_ARGUMENTS})
    """,
    re.VERBOSE,
)


def is_one_name(side: str) -> bool:
    """Whether ``side``, in plain notation without spaces, is written as one name of a value."""
    return _NAME.fullmatch(side) is not None


@lru_cache(maxsize=4096)
def is_equation(reference: str) -> bool:
    """Whether ``reference``, in plain notation without spaces, says something of its letters, and names no value. A
    list of equations does not count."""
    side, equals, value = reference.rpartition("=")
    if not equals or is_list(side):
        return False
    return not all(_names(each, value) for each in ([side] if is_one_name(side) else side.split("=")))


def is_list(side: str) -> bool:
    """Whether there are several values before the last equals sign: ``x=2,y`` of ``x=2,y=3``."""
    return ("," in side or ";" in side) and not is_one_name(side)


def _names(side: str, value: str) -> bool:
    """Whether ``side`` is a name of which ``value`` says nothing, or a number that another way of writing follows. What
    cannot be read as a formula is a name."""
    read, named = formula(side), formula(value)
    if read is None:
        return True
    letters = named.letters if named else frozenset()
    if is_one_name(side):
        return not (read.tree[0] in ("letter", "f") and read.letters & letters)
    return not read.letters and not letters
