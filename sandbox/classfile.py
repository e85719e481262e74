"""Just enough of Java's class file format (JVM specification, chapter 4) to find the class that has a main method."""

import struct
from collections.abc import Mapping
from typing import NamedTuple

_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Tag -> how many bytes of a constant follow it. A string, tag 1, says its own length."""
_PUBLIC, _STATIC = 0x0001, 0x0008


def main_class(files: Mapping[str, bytes]) -> str:
    """The class to run, as java wants it named. Of the top-level classes that have a main method that is ``Main``, else
    a public one, else the first in the source; a nested one where no other has one. Raises KeyError when none has."""
    found = []
    for name, content in files.items():
        if name.endswith(".class"):
            described = _describe(content)
            if described.main_line is not None:
                is_main = described.name.rpartition("/")[2] == "Main"
                found.append(
                    (described.is_nested, not is_main, not described.is_public, described.main_line, described.name)
                )
    if not found:
        raise KeyError("no class has a method 'public static void main(String[] args)'")
    return min(found)[-1].replace("/", ".")


class _Described(NamedTuple):
    """What a class file says of its class."""

    name: str
    is_public: bool
    is_nested: bool
    main_line: int | None
    """The line of the source in which its main method begins, 0 where that is unknown. None: it has none."""


def _describe(content: bytes) -> _Described:
    (count,) = struct.unpack_from(">H", content, 8)
    strings: dict[int, bytes] = {}
    classes: dict[int, int] = {}
    at, index = 10, 1
    while index < count:
        tag = content[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", content, at + 1)
            strings[index] = content[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            if tag == 7:
                (classes[index],) = struct.unpack_from(">H", content, at + 1)
            at += 1 + _SIZES[tag]
        index += 2 if tag in (5, 6) else 1
    access, this_class, _, interfaces = struct.unpack_from(">4H", content, at)
    at += 8 + 2 * interfaces
    (fields,) = struct.unpack_from(">H", content, at)
    at, _ = _members(content, at + 2, fields, strings)
    (methods,) = struct.unpack_from(">H", content, at)
    at, members = _members(content, at + 2, methods, strings)
    wanted = _PUBLIC | _STATIC
    main_line = next(
        (
            _first_line(attributes.get(b"Code"), strings)
            for flags, name, kind, attributes in members
            if flags & wanted == wanted and name == b"main" and kind == b"([Ljava/lang/String;)V"
        ),
        None,
    )
    _, attributes = _attributes(content, at, strings)
    # The first two bytes are the number of nested classes that this one mentions, itself included; each takes eight.
    nested = struct.iter_unpack(">4H", attributes.get(b"InnerClasses", bytes(2))[2:])
    # The name is in modified UTF-8, in which a character beyond 16 bits is written as two surrogates.
    name = (
        strings[classes[this_class]].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
    )
    return _Described(name, bool(access & _PUBLIC), any(inner == this_class for inner, *_ in nested), main_line)


def _members(
    content: bytes, at: int, count: int, strings: Mapping[int, bytes]
) -> tuple[int, list[tuple[int, bytes, bytes, dict[bytes, bytes]]]]:
    """The position after ``count`` fields or methods, and (flags, name, descriptor, attributes) of each."""
    members = []
    for _ in range(count):
        flags, name, kind = struct.unpack_from(">3H", content, at)
        at, attributes = _attributes(content, at + 6, strings)
        members.append((flags, strings[name], strings[kind], attributes))
    return at, members


def _attributes(content: bytes, at: int, strings: Mapping[int, bytes]) -> tuple[int, dict[bytes, bytes]]:
    """The position after a list of attributes, and the content of each under its name."""
    (count,) = struct.unpack_from(">H", content, at)
    at += 2
    attributes = {}
    for _ in range(count):
        name, length = struct.unpack_from(">HI", content, at)
        attributes[strings[name]] = content[at + 6 : at + 6 + length]
        at += 6 + length
    return at, attributes


def _first_line(code: bytes | None, strings: Mapping[int, bytes]) -> int:
    """The line of the source of a method's first statement, by its attribute Code. 0 where that does not say."""
    if code is None:
        return 0
    (length,) = struct.unpack_from(">I", code, 4)
    (handlers,) = struct.unpack_from(">H", code, 8 + length)
    _, attributes = _attributes(code, 10 + length + 8 * handlers, strings)
    lines = attributes.get(b"LineNumberTable", b"")
    return int(struct.unpack_from(">H", lines, 4)[0]) if len(lines) > 4 else 0
