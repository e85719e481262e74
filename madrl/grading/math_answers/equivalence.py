r"""MATH: whether an answer is the reference, decided by how both are written: word for word, number for number, list
for list. What needs algebra is left open, and goes in `symbolic`'s notation to a worker process.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from madrl.grading.math_answers.answer_words import same_words
from madrl.grading.math_answers.notation import plain
from madrl.grading.math_answers.quantities import Quantity, plain_quantity


class Expression(NamedTuple):
    """A reference or an answer, taken apart as far as its writing goes."""

    text: str
    """The answer in plain notation, without units, degree signs and spaces that mean nothing."""
    quantity: Quantity | None
    words: str | None
    """When it is made of words only."""
    has_text: bool
    """Some of it is marked as text, or written in a script that no formula is written in."""
    written: str
    """All of it, in plain notation."""

    @property
    def name(self) -> str:
        """What it says it is, before an equals sign: ``x`` of ``x = 5``."""
        return self.written.rpartition("=")[0].strip()

    @property
    def latex(self) -> str:
        """The LaTeX formula that `symbolic` is given."""
        if self.quantity:
            return self.quantity.latex
        return _QUOTED.sub(r"\\text{\1}", self.text).replace("%", r"\%")


class _List(NamedTuple):
    brackets: str
    """Opening and closing one, ``{}`` for a set; empty for items that just follow each other."""
    items: tuple[str, ...]
    decimal_comma: bool


def decide(reference: str, answer: str) -> bool | None:
    """Whether ``answer`` is ``reference``, or None when their writing does not tell."""
    theirs, ours = _reference(reference), expression(answer)
    # Units, and words of magnitude with them, are gone from the texts: numbers come first.
    for compare in (_same_quantity, _same_clock, _same_text, _same_words, _same_digits, _same_list):
        is_equal = compare(theirs, ours)
        if is_equal is not None:
            return is_equal
    return None


def expression(text: str, is_reference: bool = False) -> Expression:
    """``text`` taken apart. Only an answer may be written with a decimal comma: references are English."""
    whole = plain(text)
    joined = _CONJUNCTION.sub(",", whole)
    joined = _MEMBER_OF.sub("", joined)
    bare = _QUOTED.sub(" ", joined)
    words = _unquoted(whole) if _WORDS.fullmatch(bare) or _ALL_QUOTED.fullmatch(whole) else None
    if words is None or any(character.isdigit() for character in words):
        joined = _UNIT.sub(" ", joined)
        joined = _QUOTED_FORMULA.sub(r"\1", joined)
    quantity = plain_quantity(whole, decimal_comma=not is_reference)
    return Expression(_compact(joined), quantity, words, '"' in whole, whole)


@lru_cache(maxsize=4096)
def _reference(text: str) -> Expression:
    return expression(text, is_reference=True)


_QUOTED = re.compile(r'"([^"]*)"')
_CONJUNCTION = re.compile(
    r'\s*,?\s*(?:"\s*,?\s*(?:and|or|y|e|o|u|et|ou|和|或|或者|及|与|और|या|तथा|एवं)\s*"'
    r"|(?<=[\d)\]}]) (?:and|or|et|ou) )\s*,?\s*"
)
_MEMBER_OF = re.compile(r"^[a-zA-Z]\s*\\in\b\s*(?=[(\[\]\\])")
_UNIT = re.compile(r'"[^"\d]*"(?:\s*\^\s*\{?\s*[23]\s*\}?)?')
_QUOTED_FORMULA = re.compile(r'"(?=[^"]*")\s*([^"]*\d[^"]*?)\s*"')
_WORDS = re.compile(r"[^\d\\=+*/^_<>{}|\[\]-]*")
_ALL_QUOTED = re.compile(r'\(?\s*"[^"]*"\s*\)?')
_SPACES = re.compile(r"(\\[a-zA-Z]+|(?<=[0-9])) +(?=[a-zA-Z0-9])| +")


def _unquoted(text: str) -> str:
    return " ".join(text.replace('"', " ").split())


def _compact(text: str) -> str:
    r"""Without degree signs and spaces, except one that ends a command, ``\pi r``, or a number, ``4 2``."""
    return _SPACES.sub(lambda space: f"{space[1]} " if space[1] is not None else "", text.replace(r"^\circ", "")).strip(
        ".,;:"
    )


def _same_quantity(theirs: Expression, ours: Expression) -> bool | None:
    if theirs.quantity is None or ours.quantity is None:
        return None
    if theirs.name and ours.name and theirs.name != ours.name:
        return False
    return ours.quantity.equals(theirs.quantity)


def _same_text(theirs: Expression, ours: Expression) -> bool | None:
    return True if ours.text and theirs.text == ours.text else None


_CHOICE = re.compile(r"\(?\s*([A-Z])\s*[).:](?!\w).*|\(?\s*([A-Z])\s*\)?", re.DOTALL)
_LETTERS = re.compile(r"\(?\s*[A-Z](?:\s*[, ]\s*[A-Z])+\s*\)?")


def _same_words(theirs: Expression, ours: Expression) -> bool | None:
    if theirs.words is None:
        return False if theirs.quantity and ours.words is not None and not _is_algebra(ours) else None
    choice = _CHOICE.fullmatch(theirs.words)
    if choice:
        chosen = _CHOICE.fullmatch(ours.written.replace('"', ""))
        return (choice[1] or choice[2]) == (chosen[1] or chosen[2]) if chosen else None
    if ours.words is None:
        return None
    if _LETTERS.fullmatch(theirs.words) and _LETTERS.fullmatch(ours.words):
        return sorted(re.findall("[A-Z]", theirs.words)) == sorted(re.findall("[A-Z]", ours.words))
    if len(theirs.words) > 1 and same_words(theirs.words, ours.words):
        return True
    return False if theirs.has_text else None


def _is_algebra(ours: Expression) -> bool:
    """A letter may stand for a number, e for one; a word does not."""
    return not ours.has_text and max(map(len, ours.words.split()), default=0) < 3 if ours.words else False


_CLOCK = re.compile(r"(?P<time>\d{1,2}:\d\d(?::\d\d)?)(?P<half>[ap]m)?")
_NO_CLOCK = re.compile(r'[". ]')


def _same_clock(theirs: Expression, ours: Expression) -> bool | None:
    """A time of day, with or without a.m. and p.m."""
    wanted, given = (_CLOCK.fullmatch(_NO_CLOCK.sub("", side.written).lower()) for side in (theirs, ours))
    if wanted is None or given is None:
        return None
    halves = {wanted["half"], given["half"]}
    return wanted["time"] == given["time"] and (len(halves) == 1 or None in halves)


_IN_BASE = re.compile(r"([0-9A-Za-z]+)_\{?(\d+)\}?")


def _same_digits(theirs: Expression, ours: Expression) -> bool | None:
    r"""Digits in a base, ``1011_2``: an answer may leave out the base, which the problem names, but not change it."""
    based = _IN_BASE.fullmatch(theirs.text)
    if based is None:
        return None
    answered = _IN_BASE.fullmatch(ours.text)
    return answered.groups() == based.groups() if answered else ours.text == based[1]


def _same_list(theirs: Expression, ours: Expression) -> bool | None:
    wanted, given = _listed(theirs.text, False), _listed(ours.text, True)
    if wanted is None or given is None:
        return None
    if wanted.brackets != given.brackets and {wanted.brackets, given.brackets} != {"", "{}"}:
        return None
    ordered = wanted.brackets not in ("", "{}")
    pairs = [[plain_quantity(item, side.decimal_comma) for item in side.items] for side in (wanted, given)]
    if any(quantity is None for side in pairs for quantity in side):
        return True if wanted.items == given.items else None
    values = [[quantity.value for quantity in side if quantity] for side in pairs]
    if ordered:
        return values[0] == values[1]
    return True if Counter(values[0]) == Counter(values[1]) else (None if set(values[0]) == set(values[1]) else False)


_BRACKETS = {"(": "(", "[": "[", "]": "(", r"\{": "{"}
_CLOSING = {")": ")", "]": "]", "[": ")", r"\}": "}"}
"""Half-open intervals in French: ``]0 ; 1[``."""

_BRACKETED = re.compile(r"(\\\{|[\[(\]])(.*?)(\\\}|[\])\[])", re.DOTALL)
_NESTING = re.compile(r"\\.|[(\[{}\])]|[,;]", re.DOTALL)
_DEPTH = {"(": 1, "[": 1, "{": 1, r"\{": 1, ")": -1, "]": -1, "}": -1, r"\}": -1}


def _listed(text: str, is_answer: bool) -> _List | None:
    """The items of a list, a tuple, an interval or a set; None when ``text`` is none. Items that are separated by
    semicolons may have decimal commas."""
    brackets, inner = "", text
    whole = _BRACKETED.fullmatch(text)
    if whole and _is_one_bracket(text, whole[1], whole[3]):
        brackets, inner = _BRACKETS[whole[1]] + _CLOSING[whole[3]], whole[2]
    depth = 0
    separators: dict[str, list[int]] = {",": [], ";": []}
    for sign in _NESTING.finditer(inner):
        depth += _DEPTH.get(sign[0], 0)
        if depth == 0 and sign[0] in separators:
            separators[sign[0]].append(sign.start())
    semicolons = separators[";"]
    cuts = semicolons or separators[","]
    if not cuts:
        return _List(brackets, (inner,), False) if brackets == "{}" else None
    starts, ends = [0, *(cut + 1 for cut in cuts)], [*cuts, len(inner)]
    items = tuple(inner[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return _List(brackets, items, is_answer and bool(semicolons)) if all(items) else None


def _is_one_bracket(text: str, opening: str, closing: str) -> bool:
    """Whether the bracket at the start closes at the end, not before: ``(1,2)`` does, ``(1,2),(3,4)`` does not."""
    inner = text[len(opening) : -len(closing)]
    depth = 0
    for sign in _NESTING.finditer(inner):
        depth += _DEPTH.get(sign[0], 0)
        if depth < 0:
            return False
    return depth == 0
