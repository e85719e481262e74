"""Which of the five programming languages a piece of code is in, whatever its fence says.

A language's own tree-sitter grammar reads the code, and what only that language says is looked for in what is left once
the grammar's comments and strings are out: another language's code in a comment or a string counts for nothing. A
grammar alone can't decide, since short programs are grammatical in several (``print(1)`` in all five) and a C# program
has few errors as Java: hence the marks, of the language itself and of those outside the five.

Parsers take most of the time, so only the languages that have marks in the code are read, the likeliest first.
Whether the code compiles or does what it should is the sandbox's business.
"""

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from madrl.extras import require
from madrl.grading.programs.language_marks import beyond_c, foreign, marks
from madrl.tasks import PROGRAMMING_LANGUAGES

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

UNFRAMED = ("python", "javascript")
"""A program needs no frame (a main function, a package) in these, which would be a mark."""

MAX_BYTES = 16_384
"""Longer code is in no language: five times a long solution. Parsers take quadratic time on code made for it."""
MIN_STEPS, BYTES_PER_STEP = 100, 16
"""A parser that takes more than MIN_STEPS and a step for every BYTES_PER_STEP rejects the code: real programs need a
step for 40 bytes or more even in another language's grammar (350 files), code made to exhaust a parser hundreds of
times as many. Counted, so that the verdict doesn't depend on the machine's load."""
MAX_OPEN_ANGLES, MAX_VALUELESS = 500, 100
PARSING_TIME_S = 0.3
"""The last resort: CPU time for all parsers together, ten times what MAX_BYTES of a real program take. Code that
takes longer is in no language."""

CLEAN_SHARE, BROKEN_SHARE, CUT_SHARE = 0.02, 0.2, 0.5
"""Up to the first share of bytes that do not fit, a grammar accepts the code; beyond the second it rejects it. Between
them lie broken programs, and C++ with macros. Up to the third, code with SURE evidence of the claimed language is a
program cut short, whose open braces a parser cannot place."""

PLAIN, SURE, CERTAIN = 2, 4, 6
"""Points of evidence: enough for code that the grammar accepts, for code that it does not, and for code of which it
makes little and which nobody claims to be in the language."""


class Reading(NamedTuple):
    """What the code looks like as one language."""

    language: str
    error_share: float
    """Bytes that do not fit the grammar, of those outside comments and strings."""
    points: int
    """The evidence for the language, of its marks."""
    foreign: bool
    """There is a mark of a language outside the five. Not looked at when the code fits the grammar and has SURE."""
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


@lru_cache(maxsize=2048)
def source_language(code: str, claimed: str | None = None, doubtful: bool = False) -> str | None:
    """The language that ``code`` is in, one of PROGRAMMING_LANGUAGES; None when it is in none of them.

    ``claimed`` is the language that its fence names, ``doubtful`` that the fence names one outside the five. In order:

    1. The claimed language, when its grammar accepts the code and there is evidence for it.
    2. The language whose grammar accepts the code, with the most evidence.
    3. The claimed language, when its grammar accepts the code and nothing speaks for another (``x = 1``), or when the
       code is broken but has evidence of it: an attempt with a syntax error is an attempt, which will not compile. The
       line is at BROKEN_SHARE, or at CUT_SHARE with SURE evidence.
    4. The language that there is SURE evidence for in broken code, as C++ full of macros is to a parser, or CERTAIN
       evidence in code cut short.

    Without a claim only 2 and 4 count; of doubtful code SURE evidence is asked also in 2. Code with marks of a language
    outside the five is in none, unless a grammar accepts all of it and the evidence is SURE.

    Plain C is C++ only where the fence claims C++. Python 2 is Python, as a program that does not compile.
    Deterministic, except for code that exhausts a parser in spite of all that is counted.
    """
    source = code.replace("\0", "?").encode("utf-8", "replace")  # a parser takes NUL for the end
    if len(source) > MAX_BYTES or not code.strip():
        return None
    # Twice: a full garbage collection, half a second where veRL is imported, counts as the parsers' time.
    for _ in range(2):
        with suppress(_TooHardError):
            return _read_as_all(code, source, claimed, doubtful, time.thread_time() + PARSING_TIME_S)
    return None


def _read_as_all(code: str, source: bytes, claimed: str | None, doubtful: bool, deadline: float) -> str | None:
    """The work of ``source_language``. Raises _TooHardError at the deadline."""
    own = None
    if claimed and _points(code, claimed) >= PLAIN:
        own = _read(source, claimed, deadline)
        if own.clean and own.points >= PLAIN:
            return claimed
    others = _others(code, source, claimed, SURE if doubtful else PLAIN, deadline)
    at_least = own.points if own else 0
    found = _best(others, lambda reading: reading.clean and reading.points >= (SURE if doubtful else PLAIN))
    if found and found.points >= at_least:
        return None if _is_plain_c(found) else found.language
    if claimed:
        own = own or _read(source, claimed, deadline)
        if own.clean and (own.points or claimed in UNFRAMED):
            return claimed
        if (own.broken and own.points >= PLAIN) or (own.cut and own.points >= SURE):
            return claimed
    found = _best(others, lambda reading: reading.is_attempt and not doubtful)
    return found.language if found and found.points > at_least and not _is_plain_c(found) else None


def _others(code: str, source: bytes, claimed: str | None, enough: int, deadline: float) -> list[Reading]:
    """The code as each language but the claimed one that has marks in it, down to where no other can have more evidence
    than one that fits: comments and strings can hide marks, never add any."""
    marked = {language: _points(code, language) for language in PROGRAMMING_LANGUAGES if language != claimed}
    readings: list[Reading] = []
    best = enough
    for language in sorted(marked, key=lambda language: -marked[language]):
        if marked[language] < best:
            break
        reading = _read(source, language, deadline)
        readings.append(reading)
        if reading.clean:
            best = max(best, reading.points)
    return readings


def _best(readings: Iterable[Reading], fits: Callable[[Reading], bool]) -> Reading | None:
    fitting = [reading for reading in readings if fits(reading)]
    return max(fitting, key=lambda reading: (reading.points, -reading.error_share), default=None)


def _is_plain_c(reading: Reading) -> bool:
    return reading.language == "cpp" and not beyond_c().search(reading.bare)


def _points(code: str, language: str) -> int:
    return sum(points for mark, points in marks(language) if mark.search(code))


class _TooHardError(Exception):
    """The parsers have taken all the time there is."""


class _Grammar(NamedTuple):
    language: "Language"
    hidden: "Query"
    """Captures comments and strings."""


_HIDDEN = {
    "python": "[(comment) (string)] @hidden",
    "cpp": "[(comment) (string_literal) (raw_string_literal) (char_literal)] @hidden",
    "java": "[(line_comment) (block_comment) (string_literal) (character_literal)] @hidden",
    "go": "[(comment) (interpreted_string_literal) (raw_string_literal) (rune_literal)] @hidden",
    "javascript": "[(comment) (string) (template_string) (regex)] @hidden",
}


@cache
def _grammar(language: str) -> _Grammar:
    # The wheels take a tenth of a second to load, and most who import the verifiers never read a program.
    require("programs")
    from importlib import import_module

    from tree_sitter import Language, Query

    grammar = Language(import_module(f"tree_sitter_{language}").language())
    return _Grammar(grammar, Query(grammar, _HIDDEN[language]))


def _read(source: bytes, language: str, deadline: float) -> Reading:
    grammar = _grammar(language)
    tree = None if language == "java" and _stalls_java(source) else _parse(source, grammar.language, deadline)
    wrong = len(source) if tree is None else _error_bytes(tree.root_node) if tree.root_node.has_error else 0
    if tree is None or wrong > CUT_SHARE * len(source):  # a query takes long on a tree of nothing but errors
        return Reading(language, 1.0, 0, False, "")
    bare = _bare(source, tree, grammar.hidden)
    share = wrong / max(1, len(bare.strip()))
    points = _points(bare, language)
    is_foreign = (wrong > 0 or points < SURE) and foreign(language).search(bare) is not None
    return Reading(language, share, points, is_foreign, bare)


def _parse(source: bytes, language: "Language", deadline: float) -> "Tree | None":
    """None when the parser takes too many steps."""
    from tree_sitter import Parser

    steps_left = MIN_STEPS + len(source) // BYTES_PER_STEP

    def give_up(offset: int, has_error: bool) -> bool:
        nonlocal steps_left
        steps_left -= 1
        return steps_left < 0 or time.thread_time() > deadline

    # A parser is not to be shared between threads, and costs a microsecond. Only a source that is read through a
    # function can be given up.
    try:
        return Parser(language).parse(lambda offset, point: source[offset:], progress_callback=give_up)
    except ValueError:
        if steps_left < 0:
            return None
        raise _TooHardError from None


def _stalls_java(source: bytes) -> bool:
    """Java's parser follows every ``<`` that waits for its ``>`` and every ``=`` without a value, in a single step that
    takes quadratic time."""
    angles = (1 if angle == b"<" else -1 for angle in re.findall(rb"<<|<=|[-=]>|[<>]", source) if len(angle) == 1)
    valueless = re.findall(rb"(?<![=!<>])=\s*[>*/%&|^?:;,.)\]}]", source)
    return max(accumulate(angles), default=0) > MAX_OPEN_ANGLES or len(valueless) > MAX_VALUELESS


def _bare(source: bytes, tree: "Tree", hidden: "Query") -> str:
    from tree_sitter import QueryCursor

    captures = QueryCursor(hidden).captures(tree.root_node)
    pieces, end = [], 0
    for node in sorted(captures.get("hidden", []), key=lambda node: node.start_byte):
        if node.start_byte >= end:  # or it lies within the one before
            pieces.append(source[end : node.start_byte])
            pieces.append(b" " if "comment" in node.type else b'""')
            end = node.end_byte
    pieces.append(source[end:])
    return b"".join(pieces).decode("utf-8", "replace")


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
