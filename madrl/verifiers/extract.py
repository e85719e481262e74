"""The program in a response: its last fenced block, and the language that the block's tag names.

One extracted object serves both the verifier and the language classifier, so that a response cannot earn one
language's category with another's code. Whether the code is in the language that its tag names is not looked at here.
"""

import re
from typing import NamedTuple

LANGUAGE_OF_TAG = {
    **dict.fromkeys(("python", "py", "python3", "py3"), "python"),
    **dict.fromkeys(("cpp", "c++", "cc", "cxx"), "cpp"),
    **{f"{name}{year}": "cpp" for name in ("c++", "cpp") for year in ("11", "14", "17", "20", "23")},
    "java": "java",
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("javascript", "js", "node", "nodejs", "mjs"), "javascript"),
}
"""Tag in lower case -> the language's one name, here and in the sandbox."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<run>`{3,}|~{3,})(?P<info>.*)")
_TAG = re.compile(r"\{?\s*\.?([^\s{}]*)")


class Program(NamedTuple):
    """What a response would have us run."""

    language: str | None
    """A value of LANGUAGE_OF_TAG; None when the tag is missing or names no language of ours."""
    code: str
    """Its lines, each ending in a newline."""
    tag: str
    """The first word after the fence, as written."""


def last_program(response: str) -> Program | None:
    """The last fenced block of ``response``; None when there is none, or when the last one is blank.

    Fences are CommonMark's (0.31, section 4.5) at the top level: three or more backticks or tildes after at most three
    spaces, closed by at least as many of the same, so that a longer fence can hold a shorter one. A fence inside a
    sentence is none. A block that is never closed runs to the end: a response cut at the length cap still has a
    program, judged like any other. The tag is the info string's first word, or the class in ``{.python}``.
    """
    program = None
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in _LINE_END.split(response):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            # An info string with a backtick in it is inline code: ```print(1)```.
            if fence and not (fence["run"][0] == "`" and "`" in fence["info"]):
                opened, lines = fence, []
        elif fence and fence["run"].startswith(opened["run"]) and not fence["info"].strip(" \t"):
            program, opened = _program(opened, lines), None
        else:
            indent = len(line) - len(line.lstrip(" "))
            lines.append(line[min(indent, len(opened["indent"])) :])
    if opened is not None:
        program = _program(opened, lines)
    return program if program and program.code.strip() else None


def _program(opened: re.Match[str], lines: list[str]) -> Program:
    tag = _TAG.match(opened["info"].strip())
    assert tag is not None  # it matches the empty string
    return Program(LANGUAGE_OF_TAG.get(tag[1].lower()), "".join(f"{line}\n" for line in lines), tag[1])
