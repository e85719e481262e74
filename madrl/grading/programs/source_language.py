"""Which of the five programming languages a piece of code is in, whatever its fence says.

What only one language says is looked for in the code without its comments and strings (bare_code): another language's
code in a comment or a string counts for nothing. Then that language's own tree-sitter grammar reads it. A grammar alone
can't decide, since short programs are grammatical in several (``print(1)`` in all five) and a C# program has few errors
as Java: hence the marks, of the language itself and of those outside the five.

Parsers take most of the time, so that only those languages are read that have enough marks, the likeliest first, and
none whose verdict the marks decide: code with a construct of a language outside the five, and little else. All that is
read for one response shares one allowance of steps (Allowance).

Whether the code compiles or does what it should is the sandbox's business. A text that is a program in two languages
at once is in one of them, and is run as that one.

Why no trained classifier: magika 1.0.3, on 2,408 published programs, each alone, is right for 94.1 % of those in the
five languages (Python 87.6, C++ 92.0) and takes 5.6 % of those in others for one of the five (Odin for Go, Nim for
Python); this module 100 % under their own tag and 99.9 % without one, and 0.8 %. With prose around in place of a fence
magika has 81.3 %, this module 99.9 %. It reads 100 programs a second on a core where this module reads 900 to 2,800,
wants onnxruntime, and knows neither what a fence claims nor what is broken.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from madrl.extras import require
from madrl.grading.programs.bare_code import bare
from madrl.grading.programs.language_marks import MANY, foreign_constructs, is_beyond_c, points
from madrl.tasks import PROGRAMMING_LANGUAGES

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

UNFRAMED = ("python", "javascript")
"""A program needs no frame (a main function, a package) in these, which would be a mark."""
_DOES_SOMETHING = re.compile(r"[=(]")
"""In code of an UNFRAMED language with less than PLAIN evidence: an assignment or a call. A number, a word or nothing
but comments is grammatical too, and no program."""
_DEFINES = re.compile(r"\b(?:def|function|class|lambda|import)\b|=>")

MAX_BYTES = 16_384
"""Longer code is in no language: five times a long solution. Parsers take quadratic time on code made for it."""
MAX_STEPS = 300
"""Parser steps for one response. A real program takes one for 91 bytes (the median; 36 at least), and no response with
one of 2,500 real programs took more than 252; what takes more is made to exhaust a parser. Counted, so that the verdict
doesn't depend on the machine."""
MAX_OPEN_ANGLES, MAX_VALUELESS = 100, 50
"""Of each ``<`` that waits for its ``>``, and ``=`` without a value: parsers follow all of them, in single steps that
take quadratic time. The real programs have 27 and 11 at most."""

CLEAN_SHARE, BROKEN_SHARE, CUT_SHARE = 0.02, 0.2, 0.5
"""Up to the first share of bytes that do not fit, a grammar accepts the code; beyond the second it rejects it. Between
them lie broken programs, and C++ with macros. Up to the third, code with SURE evidence of the claimed language is a
program cut short, whose open braces a parser cannot place."""

PLAIN, SURE, CERTAIN = 2, 4, 6
"""Points of evidence: enough for code that the grammar accepts, for code that it does not, and for code of which it
makes little and which nobody claims to be in the language."""


class Allowance:
    """What the parsers may still do for one response. Counts what they did."""

    def __init__(self) -> None:
        self.steps_left = MAX_STEPS
        self.parses = 0


class Reading(NamedTuple):
    """What the code looks like as one language."""

    language: str
    error_share: float
    """Bytes that do not fit the grammar, of those outside comments and strings."""
    points: int
    """The evidence for the language, of its marks."""
    foreign: bool
    """There is a construct of a language outside the five, in code that does not fit the grammar or has not SURE."""
    bare: str
    """The code without its comments and strings."""

    @property
    def clean(self) -> bool:
        return self.error_share <= CLEAN_SHARE and not self.foreign

    @property
    def broken(self) -> bool:
        return CLEAN_SHARE < self.error_share <= BROKEN_SHARE and not self.foreign

    @property
    def cut(self) -> bool:
        return BROKEN_SHARE < self.error_share <= CUT_SHARE and not self.foreign

    @property
    def is_attempt(self) -> bool:
        """It can be nothing but an attempt at a program in the language, though nobody claims so."""
        return (self.broken and self.points >= SURE) or (self.cut and self.points >= CERTAIN)


def source_language(
    code: str,
    claimed: str | None = None,
    *,
    doubtful: bool = False,
    among: Sequence[str] = PROGRAMMING_LANGUAGES,
    allowance: Allowance | None = None,
) -> str | None:
    """The language that ``code`` is in, one of ``among``; None when it is in none of them.

    ``claimed`` is the language that its fence names, ``doubtful`` that the fence names one outside the five,
    ``allowance`` what other code of the same response has left. In order:

    1. The claimed language, when its grammar accepts the code and there is evidence for it.
    2. The language whose grammar accepts the code, with the most evidence.
    3. The claimed language, when its grammar accepts the code and nothing speaks for another (``x = 1``, but not ``42``
       or a comment), or when the code is broken but has evidence of it: an attempt with a syntax error is an attempt,
       which will not compile. The line is at BROKEN_SHARE, or at CUT_SHARE with SURE evidence.
    4. The language that there is SURE evidence for in broken code, as C++ full of macros is to a parser, or CERTAIN
       evidence in code cut short.

    Without a claim only 2 and 4 count; of doubtful code only what a grammar accepts without an error, with SURE
    evidence: TypeScript that JavaScript's grammar takes for a slip is TypeScript, and what needs no such slip is
    JavaScript. Code with a construct of a language outside the five is in none, unless a grammar accepts all of it and
    the evidence is SURE.

    Plain C is C++ only where the fence claims C++. Python 2 is Python, as a program that does not compile. A Java class
    of functions only is Java, though it has nothing to run.
    """
    if len(code.encode("utf-8", "replace")) > MAX_BYTES or not code.strip():
        return None
    allowance = allowance or Allowance()
    enough = SURE if doubtful else PLAIN
    own = None
    if claimed and _seen(code, claimed).points >= PLAIN:
        own = _read(_seen(code, claimed), allowance)
        if own.clean:
            return claimed
    rest = [_seen(code, language) for language in among if language != claimed]
    others = _others(rest, enough, allowance)
    at_least = own.points if own else 0
    found = _best(others, lambda reading: reading.clean and reading.points >= enough)
    if found and doubtful and found.error_share:
        found = None
    if found and found.points >= at_least:
        return None if _is_plain_c(found) else found.language
    if claimed:
        own = own or _read(_seen(code, claimed), allowance)
        is_something = claimed not in UNFRAMED or _DOES_SOMETHING.search(own.bare)
        if own.clean and is_something and (own.points or (claimed in UNFRAMED and not own.error_share)):
            return claimed
        if (own.broken and own.points >= PLAIN) or (own.cut and own.points >= SURE):
            return claimed
    found = _best(others, lambda reading: reading.is_attempt and not doubtful)
    return found.language if found and found.points > at_least and not _is_plain_c(found) else None


def may_be_a_line(code: str, language: str) -> bool:
    """Whether code in the language has so few marks of it that it may be a line quoted from a program, or a sample of
    what one prints: its grammar's consent says little in an UNFRAMED language. What defines something is neither."""
    seen = _seen(code, language)
    return language in UNFRAMED and seen.points < PLAIN and not _DEFINES.search(seen.bare)


def possible_languages(code: str) -> list[str]:
    """The languages that marks leave possible for code that no fence claims, or for any part of it that leaves out only
    prose."""
    seen = (_seen(code, language) for language in PROGRAMMING_LANGUAGES)
    return [one.language for one in seen if one.points >= PLAIN and one.foreign < MANY]


@lru_cache(maxsize=16)
def _seen(code: str, language: str) -> "_Seen":
    return _Seen(code, language)


class _Seen:
    """What is seen in the code, as one language, before a parser reads it."""

    def __init__(self, code: str, language: str) -> None:
        self.language = language
        self.bare = bare(code, language)
        self.points = points(self.bare, language)

    @cached_property
    def foreign(self) -> int:
        return foreign_constructs(self.bare, self.language)


def _others(rest: Iterable[_Seen], enough: int, allowance: Allowance) -> list[Reading]:
    """The readings of the code in the languages with the most evidence, down to the first that fits: no other can have
    more."""
    readings: list[Reading] = []
    best = enough
    for one in sorted(rest, key=lambda one: -one.points):
        if one.points < best:
            break
        if one.foreign >= MANY:
            continue
        reading = _read(one, allowance)
        readings.append(reading)
        if reading.clean and not reading.error_share:
            best = max(best, reading.points)
    return readings


def _best(readings: Iterable[Reading], fits: Callable[[Reading], bool]) -> Reading | None:
    fitting = [reading for reading in readings if fits(reading)]
    return max(fitting, key=lambda reading: (not reading.error_share, reading.points), default=None)


def _is_plain_c(reading: Reading) -> bool:
    return reading.language == "cpp" and not is_beyond_c(reading.bare)


def _read(seen: _Seen, allowance: Allowance) -> Reading:
    """The code as one language. What the marks decide is not parsed."""
    if seen.points < SURE and seen.foreign:
        return Reading(seen.language, 1.0, seen.points, True, seen.bare)
    source = seen.bare.replace("\0", "?").encode("utf-8", "replace")  # a parser takes NUL for the end
    tree = None if _stalls(source) else _parse(source, _grammar(seen.language), allowance)
    wrong = len(source) if tree is None else _error_bytes(tree.root_node) if tree.root_node.has_error else 0
    share = wrong / max(1, len(seen.bare.strip()))
    return Reading(seen.language, share, seen.points, wrong > 0 and seen.foreign > 0, seen.bare)


@cache
def _grammar(language: str) -> "Language":
    # The wheels take a tenth of a second to load, and most who import the verifiers never read a program.
    require("programs")
    from importlib import import_module

    from tree_sitter import Language

    return Language(import_module(f"tree_sitter_{language}").language())


def _parse(source: bytes, grammar: "Language", allowance: Allowance) -> "Tree | None":
    """None when the steps are used up."""
    from tree_sitter import Parser

    def give_up(offset: int, has_error: bool) -> bool:
        allowance.steps_left -= 1
        return allowance.steps_left < 0

    if allowance.steps_left < 0:
        return None
    allowance.parses += 1
    # A parser is not to be shared between threads, and costs a microsecond. Only a source that is read through a
    # function can be given up.
    try:
        return Parser(grammar).parse(lambda offset, point: source[offset:], progress_callback=give_up)
    except ValueError:
        return None


def _stalls(source: bytes) -> bool:
    """Whether there is more of what parsers take quadratic time on than in any program."""
    angles = (1 if angle == b"<" else -1 for angle in re.findall(rb"<<|<=|[-=]>|[<>]", source) if len(angle) == 1)
    valueless = re.findall(rb"(?<![=!<>])=\s*[>*/%&|^?:;,.)\]}]", source)
    return max(accumulate(angles), default=0) > MAX_OPEN_ANGLES or len(valueless) > MAX_VALUELESS


def _error_bytes(root: "Node") -> int:
    """The bytes that a parser skipped, or could not place in anything larger. What it could make sense of within an
    error counts as right: the body of a class that is never closed, in a response cut at the length cap."""
    wrong, nodes = 0, [root]
    while nodes:
        node = nodes.pop()
        if node.is_missing:
            wrong += 1
        elif node.is_error:
            covered = 0
            for child in node.children:
                if child.child_count:
                    covered += child.end_byte - child.start_byte
                    nodes.append(child)
            wrong += node.end_byte - node.start_byte - covered
        elif node.has_error:
            nodes.extend(node.children)
    return wrong
