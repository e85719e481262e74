"""The program in a response: a fenced block that is one, in the language that its code really is.

One extracted object serves both the verifier and the language classifier, so that a response cannot earn one
language's category with another's code. How the language is told is source_language's subject; how the program is
found is this one's. Responses that fence nothing are searched for bare code.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from madrl.grading.programs.source_language import Allowance, may_be_a_line, possible_languages, source_language
from madrl.tasks import PROGRAMMING_LANGUAGES

LANGUAGE_OF_TAG = {
    **dict.fromkeys(("python", "py", "python3", "py3", "pypy", "pypy3"), "python"),
    **dict.fromkeys(("cpp", "c++", "cc", "cxx", "g++"), "cpp"),
    **{f"{name}{year}": "cpp" for name in ("c++", "cpp") for year in ("11", "14", "17", "20", "23")},
    **dict.fromkeys(("java", *(f"java{version}" for version in ("8", "11", "17", "21"))), "java"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("javascript", "js", "node", "nodejs", "node.js", "mjs", "cjs", "es6"), "javascript"),
}
"""Tag in lower case -> the language's one name, here and in the sandbox."""

FOREIGN_TAGS = frozenset({
    "c", "c99", "c11", "ada", "awk", "bash", "sh", "shell", "zsh", "batch", "powershell", "basic", "vb", "vbnet",
    "cobol", "clojure", "coffeescript", "crystal", "cs", "csharp", "c#", "d", "dart", "delphi", "elixir", "erlang",
    "fortran", "fsharp", "f#", "groovy", "haskell", "hs", "julia", "kotlin", "kt", "lisp", "scheme", "racket",
    "lua", "matlab", "octave", "nim", "objc", "objective-c", "objectivec", "ocaml", "pascal", "perl", "php",
    "prolog", "r", "ruby", "rb", "rust", "rs", "scala", "solidity", "sql", "swift", "tcl", "ts", "tsx",
    "typescript", "v", "verilog", "zig",
})  # fmt: skip
"""Tags, in lower case, of languages that are not ours. Any other tag (text, output, none at all) says nothing."""

MAX_UNFENCED_TRIES = 12

_LINE_END = re.compile(r"\r\n|\n|\r")
_FENCE = re.compile(r"(?P<marker>[ ]*(?:(?:[-*+]|\d{1,9}[.)])[ ]+)?)(?P<run>`{3,}|~{3,})(?P<info>.*)")
_LIST_ITEM = re.compile(r"[ ]*(?:[-*+]|\d{1,9}[.)])[ ]+")
_TAG = re.compile(r"\{?\s*\.?([^\s{}]*)")
_TAG_NAME = re.compile(r"[a-z]*(?:\+\+|\.js)?\d*")  # of c++20-gnu, python3.11, python:main.py

_NUMBERS = re.compile(r"[-+\d\s.]*")
_COMMENT = re.compile(r"\s*(?://|/\*|\*|#(?![# ]*[A-Z\d*])|\"\"\"|''')")
_CODE = re.compile(
    r"[;{}=]|\w\(|\)\s*+(?::\s*+)?$|^\s*(?:#\s*include|import|from|package|using|return|else|try|pass)\b|:\s*$|^\s+\S"
)
_PROSE = re.compile(r"\s*(?:[#>*+-]+\s|\d+[.)]\s|\*\*)?[\"'`*(]*[^\W\d_][\w'’-]*,?(?:\s+\S+){2,}|\s*#{1,6}\s|\s*\*\*")


class Program(NamedTuple):
    """What a response would have us run."""

    language: str | None
    """A value of LANGUAGE_OF_TAG, by what the code is; None when it is in no language of ours."""
    code: str
    """Its lines, each ending in a newline."""
    tag: str
    """The first word after the fence, as written; empty without a fence."""
    reason: str = ""
    """Why the language is not the one that the tag names."""


class _Block(NamedTuple):
    tag: str
    code: str

    @property
    def claimed(self) -> str | None:
        """The language of ours that the tag names: as it is, before a version or an option, or as a file's ending."""
        tag = self.tag.lower()
        names = (tag, _TAG_NAME.match(tag)[0], tag.rpartition(".")[2])  # type: ignore[index]
        return next((LANGUAGE_OF_TAG[name] for name in names if name in LANGUAGE_OF_TAG), None)


@lru_cache(maxsize=512)
def last_program(response: str) -> Program | None:
    """The last fenced block of ``response`` that is a program in the language of ours that its tag names; without one,
    the last that is a program in any language of ours (source_language).

    So sample output after a program changes nothing, and neither does an untagged sketch of the same in other words. A
    block that may be a line quoted from a program (``dp[i] = dp[i - 1]``) stands behind every program, bare code too.
    When no block is a program, the last that isn't blank stands for it, with no language. A response that fences
    nothing is searched for bare code; None when there is none in it either.
    """
    prose, blocks = _split(response)
    allowance = Allowance()
    others: list[tuple[int, Program]] = []
    lines: list[tuple[int, Program]] = []
    for number, block in sorted(enumerate(blocks), key=lambda of: (of[1].claimed is None, -of[0])):
        program = _program(block, allowance)
        if program.language and may_be_a_line(block.code, program.language):
            lines.append((number, program))
        elif program.language and program.language == block.claimed:
            return program
        else:
            others.append((number, program))
    in_ours = [program for _, program in sorted(others, reverse=True) if program.language]
    if in_ours:
        return in_ours[0]
    unfenced = _unfenced(prose, allowance)
    if unfenced:
        return unfenced
    last = max(lines or others, default=None)
    return last[1] if last else None


def _program(block: _Block, allowance: Allowance) -> Program:
    doubtful = block.tag.lower() in FOREIGN_TAGS
    language = source_language(block.code, block.claimed, doubtful=doubtful, allowance=allowance)
    said = f"tag {block.tag}" if block.tag else "no tag"
    reason = "" if language and language == block.claimed else f"{said}, code is {language or 'none of ours'}"
    return Program(language, block.code, block.tag, reason)


def _split(response: str) -> tuple[list[str], list[_Block]]:
    """The lines outside fenced blocks, and the blocks that aren't blank.

    Fences are CommonMark's (0.31, section 4.5): three or more backticks or tildes after at most three spaces, closed by
    at least as many of the same, so that a longer fence can hold a shorter one. A fence inside a sentence is none. A
    block that is never closed runs to the end: a response cut at the length cap still has a program, graded like any
    other. The tag is the info string's first word, or the class in ``{.python}``. Below a list item the three spaces
    count from the item's text, and the item may start with the fence.
    """
    prose: list[str] = []
    blocks: list[_Block] = []
    lines: list[str] = []
    opened: re.Match[str] | None = None
    item = 0  # where the text of the last list item starts
    for line in _LINE_END.split(response):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            marker = _LIST_ITEM.match(line)
            if marker:
                item = marker.end()
            elif line and not line[0].isspace():
                item = 0
            # An info string with a backtick in it is inline code: ```print(1)```.
            if fence and len(fence["marker"]) <= item + 3 and not (fence["run"][0] == "`" and "`" in fence["info"]):
                opened, lines = fence, []
            else:
                prose.append(line)
        elif _closes(fence, opened, item):
            blocks.append(_block(opened, lines))
            opened = None
        else:
            indent = len(line) - len(line.lstrip(" "))
            lines.append(line[min(indent, len(opened["marker"])) :])
    if opened is not None:
        blocks.append(_block(opened, lines))
    return prose, [block for block in blocks if block.code.strip()]


def _closes(fence: re.Match[str] | None, opened: re.Match[str], item: int) -> bool:
    return (
        fence is not None
        and fence["marker"].isspace() | (not fence["marker"])
        and len(fence["marker"]) <= (item if len(opened["marker"]) >= item else 0) + 3
        and fence["run"].startswith(opened["run"])
        and not fence["info"].strip(" \t")
    )


def _block(opened: re.Match[str], lines: list[str]) -> _Block:
    tag = _TAG.match(opened["info"].strip())
    assert tag is not None  # it matches the empty string
    return _Block(tag[1], "".join(f"{line}\n" for line in lines))


def _unfenced(lines: list[str], allowance: Allowance) -> Program | None:
    """The longest stretch of lines that is a program, between what reads as prose."""
    possible: Sequence[str] = PROGRAMMING_LANGUAGES
    for number, (start, end) in enumerate(_stretches(lines)):
        code = "".join(f"{line}\n" for line in lines[start:end])
        language = source_language(code, among=possible, allowance=allowance)
        if language:
            return Program(language, code, "", f"no fence, code is {language}")
        if number == 0:  # the first stretch holds all others
            possible = possible_languages(code)
        if not possible:
            break
    return None


def _stretches(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Where a program may start and end: first where prose turns to code for the first and the last time, then later
    starts and earlier ends, MAX_UNFENCED_TRIES in all.

    A line that looks like code may be prose all the same when it stands alone and ends as a sentence does (``Let x =
    5.``), or is only numbers, as in sample input. All others belong to the program: or a part of a program in another
    language would pass for one of ours.
    """
    written = [i for i, line in enumerate(lines) if line.strip()]
    code = {i for i in written if not _is_prose(lines[i])}
    certain = {i for i in code if not _NUMBERS.fullmatch(lines[i]) and (
        i - 1 in code or i + 1 in code or lines[i].rstrip()[-1] in ";{}"
        or (_CODE.search(lines[i]) and lines[i].rstrip()[-1] not in ".:!?,")
    )}  # fmt: skip
    starts = [i for before, i in pairwise([-1, *written]) if i in code and before not in certain]
    ends = [i + 1 for i, after in pairwise([*written, -1]) if i in code and after not in certain]
    ends.reverse()
    pairs = sorted(
        ((skipped_starts + skipped_ends, start, end)
         for skipped_starts, start in enumerate(starts[:MAX_UNFENCED_TRIES])
         for skipped_ends, end in enumerate(ends[:MAX_UNFENCED_TRIES]) if start < end),
    )  # fmt: skip
    for _, start, end in pairs[:MAX_UNFENCED_TRIES]:
        yield start, end


def _is_prose(line: str) -> bool:
    return bool(_PROSE.match(line)) and not _COMMENT.match(line) and not _CODE.search(line)
