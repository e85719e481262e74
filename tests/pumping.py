"""Text made to be slow for a regular expression, from the expression itself; and a process to try it in.

For each repetition in it: what leads there, then what it repeats, many times over, then something that fits nowhere. A
search that tries every beginning, or every way to divide a text between two repetitions, takes quadratic time on one of
them. What lookaheads, lookbehinds and backreferences ask for is not looked at.
"""

import re
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from re import _constants, _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

MANY = 100
"""A repetition that may occur fewer times than this is not tried: it cannot be slow."""
ALPHABET = " \t\na0_.,:;=<>(){}[]\"'`*#-+/\\$%&|^~!?@Aé是न"
REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
ENDS = ("", "\0")

CPU_S = 5
"""CPU seconds that a reader may take for one text of 100,000 characters. Linear readers took at most 1 s and most
of them 0.2, and the quickest quadratic search, for a repetition of one character, 8 s."""
ALL_CPU_S = 600
"""CPU seconds that a reader may take for all texts."""


class Attack(NamedTuple):
    """A text of any length."""

    head: str
    pump: str
    tail: str

    def text(self, length: int) -> str:
        """The text with about ``length`` characters."""
        return self.head + self.pump * (length // len(self.pump)) + self.tail


def attacks(pattern: re.Pattern[Any]) -> set[Attack]:
    """The texts that the pattern's repetitions suggest."""
    found = set()
    for head, pump in _pumps(list(_parser.parse(pattern.pattern, pattern.flags)), "", pattern.flags):
        for end in ENDS:
            found.add(Attack(head, pump, end))
            found.add(Attack("", head + pump, end))
        found.add(Attack("", head + 20 * pump, ""))
    return found


def examples(pattern: re.Pattern[Any]) -> list[str]:
    """A few short texts that the pattern matches, apart from what lookaheads and lookbehinds ask for."""
    return list(_examples(list(_parser.parse(pattern.pattern, pattern.flags)), pattern.flags))


def patterns_in(thing: Any) -> Iterator[re.Pattern[Any]]:
    """The regular expressions in a module, a dict, a sequence."""
    if isinstance(thing, re.Pattern):
        yield thing
    elif isinstance(thing, ModuleType):
        yield from patterns_in({name: value for name, value in vars(thing).items() if not name.startswith("__")})
    elif isinstance(thing, dict | list | tuple):
        for part in thing.values() if isinstance(thing, dict) else thing:
            if not isinstance(part, ModuleType):
                yield from patterns_in(part)


def read_all(read: Callable[[str], object], texts: Iterable[Attack], length: int) -> None:
    """Have ``read`` read each text, in this process, which dies of the one that takes too long; it is named last."""
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_CPU_S, ALL_CPU_S))
    for attack in texts:
        print(attack, flush=True)
        signal.setitimer(signal.ITIMER_PROF, CPU_S)  # SIGPROF ends a process, whatever C code it is in
        read(attack.text(length))
        signal.setitimer(signal.ITIMER_PROF, 0)


def _pumps(nodes: list[Any], head: str, flags: int) -> Iterator[tuple[str, str]]:
    """For every repetition in a sequence: a text that leads there, and a text that is repeated."""
    for op, argument in nodes:
        if op in REPEATS:
            _, most, body = argument
            yield from _pumps(list(body), head, flags)
            if most >= MANY:
                for pump in _examples(list(body), flags):
                    if pump:
                        yield head, pump
        elif op is _constants.SUBPATTERN:
            yield from _pumps(list(argument[3]), head, flags)
        elif op is _constants.ATOMIC_GROUP:
            yield from _pumps(list(argument), head, flags)
        elif op is _constants.BRANCH:
            for branch in argument[1]:
                yield from _pumps(list(branch), head, flags)
        head += next(_examples([(op, argument)], flags))


def _examples(nodes: list[Any], flags: int) -> Iterator[str]:
    """A few short texts that a sequence matches."""
    parts = [list(dict.fromkeys(_examples_of(op, argument, flags)))[:6] for op, argument in nodes]
    if not parts:
        yield ""
        return
    for number, parted in enumerate(product(*parts)):
        if number == 6:
            return
        yield "".join(parted)


def _examples_of(op: Any, argument: Any, flags: int) -> Iterator[str]:
    if op is _constants.LITERAL:
        yield chr(argument)
    elif op in (_constants.IN, _constants.NOT_LITERAL, _constants.ANY):
        members = [character for character in ALPHABET if _is_in(op, argument, character, flags)]
        kinds = {("letter" if c.isalpha() else "digit" if c.isdigit() else c): c for c in members}  # one of each
        yield from list(kinds.values())[:3] or [_first(argument)]
    elif op in REPEATS:
        least, _, body = argument
        yield from (example * max(least, 1) for example in _examples(list(body), flags))
    elif op is _constants.SUBPATTERN:
        yield from _examples(list(argument[3]), flags)
    elif op is _constants.ATOMIC_GROUP:
        yield from _examples(list(argument), flags)
    elif op is _constants.BRANCH:
        for branch in argument[1]:
            yield from _examples(list(branch), flags)
    else:
        yield ""


def _is_in(op: Any, argument: Any, character: str, flags: int) -> bool:
    if op is _constants.ANY:
        return character != "\n" or bool(flags & re.DOTALL)
    if op is _constants.NOT_LITERAL:
        return character != chr(argument)
    wanted = True
    for kind, value in argument:
        if kind is _constants.NEGATE:
            wanted = False
        elif _is_member(kind, value, character):
            return wanted
    return not wanted


def _is_member(kind: Any, value: Any, character: str) -> bool:
    if kind is _constants.LITERAL:
        return character == chr(value)
    if kind is _constants.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return _in_category(value, character)


def _in_category(category: Any, character: str) -> bool:
    name = str(category).removeprefix("CATEGORY_")
    is_in = {
        "DIGIT": character.isdigit(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }[name.removeprefix("NOT_")]
    return is_in != name.startswith("NOT_")


def _first(argument: Any) -> str:
    for kind, value in argument:
        if kind is _constants.LITERAL:
            return chr(value)
        if kind is _constants.RANGE:
            return chr(value[0])
    return "a"
