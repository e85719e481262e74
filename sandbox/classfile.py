"""Just enough of Java's class file format (JVM specification, chapter 4) to find the class that has a main method."""

import struct
from collections.abc import Mapping

_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Tag -> how many bytes of a constant follow it. A string, tag 1, says its own length."""
_PUBLIC, _STATIC = 0x0001, 0x0008


def main_class(files: Mapping[str, bytes]) -> str:
    """The class to run, as java wants it named: ``Main`` when it has a main method, else a public class that has one,
    else the first by name. Raises KeyError when no class has one."""
    found = []
    for name, content in files.items():
        if name.endswith(".class"):
            class_name, is_public, has_main = _describe(content)
            if has_main:
                found.append((class_name.rpartition("/")[2] != "Main", not is_public, class_name))
    if not found:
        raise KeyError("no class has a method 'public static void main(String[] args)'")
    return min(found)[2].replace("/", ".")


def _describe(content: bytes) -> tuple[str, bool, bool]:
    """A class's internal name, whether it is public, and whether it has a main method."""
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
    at = _skip_members(content, at + 2, fields)[0]
    (methods,) = struct.unpack_from(">H", content, at)
    _, members = _skip_members(content, at + 2, methods)
    wanted = _PUBLIC | _STATIC
    has_main = any(
        flags & wanted == wanted and strings[name] == b"main" and strings[kind] == b"([Ljava/lang/String;)V"
        for flags, name, kind in members
    )
    # The name is in modified UTF-8, in which a character beyond 16 bits is written as two surrogates.
    name = (
        strings[classes[this_class]].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
    )
    return name, bool(access & _PUBLIC), has_main


def _skip_members(content: bytes, at: int, count: int) -> tuple[int, list[tuple[int, int, int]]]:
    """The position after ``count`` fields or methods, and (flags, name, descriptor) of each."""
    members = []
    for _ in range(count):
        flags, name, kind, attributes = struct.unpack_from(">4H", content, at)
        members.append((flags, name, kind))
        at += 8
        for _ in range(attributes):
            (length,) = struct.unpack_from(">I", content, at + 2)
            at += 6 + length
    return at, members
