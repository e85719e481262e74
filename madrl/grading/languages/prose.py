r"""The prose of a response: its words, without what is written in no natural language or is not shown as text.

Left out are code (fenced and inline), LaTeX formulas and commands, the boxed answer, HTML tags and comments, addresses,
numbers, punctuation and invisible characters. What only looks like a formula stays: between the two dollar signs of
"costs $5, so she pays $10 in all" there are words, and a formula is no place to hide them.
"""

import re

from madrl.grading.normal_form import Characters, normalized

MAX_CHARS = 32_000
"""Only this much of a response is read, which bounds the time that one response can take; a response at veRL's usual
length caps is shorter."""

_MAX_INLINE = 400
_MAX_BOX = 400
_MATH_ENVIRONMENT = (
    r"(?:align|aligned|alignat|array|asy|bmatrix|cases|displaymath|eqnarray|equation|flalign|gather|gathered|math|"
    r"matrix|multline|pmatrix|split|tabular|tikzpicture|verbatim|vmatrix|lstlisting)\*?"
)
# Every alternative starts with a character of its own, which lets the search skip over plain text.
_OPENING = re.compile(
    rf"""
      (?P<escape>\\[\\$`])                                 # a line break in a formula, or a literal dollar
    | \\begin\{{(?P<environment>{_MATH_ENVIRONMENT})\}}
    | (?P<box>\\(?:boxed|fbox)\s*\{{)
    | (?P<display>\\\[|\\\(|\$\$)
    | (?P<dollar>\$)
    | (?P<ticks>`+|~~~+)
    | (?P<comment><!--)
    | (?P<asy>\[asy\])
    """,
    re.VERBOSE,
)
_FENCE = re.compile(r"(?P<run>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*", re.MULTILINE)
_INLINE_CODE = re.compile(r"(`+)[^`\n]+\1")
_CLOSING = {r"\[": r"\]", r"\(": r"\)", "$$": "$$"}
_BRACE = re.compile(r"[{}]")

_TEXT_IN_FORMULA = re.compile(r"\\(?:text|textrm|mathrm|mbox|operatorname)\s*\{[^{}]*\}")
_COMMAND = re.compile(r"\\(?:begin|end)\{[^{}\n]{0,40}\}|\\(?:[a-zA-Z]+\*?|.)")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_FOUR_WORDS = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]{2,}+[ ,]++){3}[^\W\d_]{2}")

_SENTENCE_END = re.compile(r"[.!?:;](?=\s)|[。!?।॥；：]")


def _letter(character: str, kind: str) -> str | None:
    """Letters, the marks on them, apostrophes and line ends stay, invisible characters go, and everything else becomes
    a space."""
    if kind[0] in "LM" or character in "'\n":
        return character
    if character == "’":
        return "'"
    return None if kind == "Cf" else " "


_LETTERS = Characters(_letter)


def prose(response: str) -> str:
    """The response's sentences, one a line, as words with single spaces between them; "" when it has no word.

    Compatibility forms are folded first (NFKC), so that full-width or mathematical letters are letters. Takes time
    linear in the length, whatever the text is.
    """
    text = normalized("NFKC", response[:MAX_CHARS])[:MAX_CHARS]
    text = _without_formulas(text)
    text = _COMMAND.sub(" ", _TEXT_IN_FORMULA.sub(" ", text))
    text = _ADDRESS.sub(" ", _TAG.sub(" ", text))
    text = _SENTENCE_END.sub("\n", text).translate(_LETTERS)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _without_formulas(text: str) -> str:
    """``text`` without code, comments, formulas and boxes, each replaced by a space.

    One pass from left to right. What is opened and never closed is only skipped over, except a fenced block (it runs to
    the end) and a box (it ends with its line).
    """
    kept: list[str] = []
    at = 0  # everything before it is decided
    dollar: int | None = None  # the last "$" that can open a formula, still undecided
    never_closed: set[str] = set()
    match = _OPENING.search(text)
    while match:
        start, end = match.span()
        opened = match.lastgroup
        formula = False
        stop: int | None = None  # where what opened here ends
        if opened == "dollar":
            closes = dollar is not None and start - dollar <= _MAX_INLINE and not text[start - 1].isspace()
            if closes and not text[end : end + 1].isdigit():
                assert dollar is not None
                start, stop, formula = dollar, end, True
            elif text[end : end + 1].strip():
                dollar = start
        elif opened == "ticks":
            stop = _end_of_code(text, start)
        elif opened == "box":
            stop = _end_of_box(text, end)
        elif opened != "escape":
            closing = {"comment": "-->", "asy": "[/asy]"}.get(opened or "") or (
                _CLOSING[match["display"]] if opened == "display" else rf"\end{{{match['environment']}}}"
            )
            found = -1 if closing in never_closed else text.find(closing, end)
            if found < 0:
                never_closed.add(closing)
            else:
                stop, formula = found + len(closing), opened == "display"
        if stop is not None:
            kept.append(text[at:start])
            kept.append(text[start:stop] if formula and _reads_as_prose(text[start:stop]) else " ")
            at, end, dollar = stop, stop, None
        match = _OPENING.search(text, end)
    kept.append(text[at:])
    return "".join(kept)


def _end_of_code(text: str, at: int) -> int | None:
    """Where the fenced block or the inline code ends that starts here; None when none does."""
    before = text[max(0, at - 4) : at].rpartition("\n")
    fence = None
    if not before[2].strip(" ") and (before[1] or at < 4):
        fence = _FENCE.match(text, at)
    if fence is None:
        code = _INLINE_CODE.match(text, at)
        return code.end() if code else None
    run = fence["run"]
    closing = re.compile(rf"^ {{0,3}}{run[0]}{{{len(run)},}}[ \t]*$", re.MULTILINE)
    found = closing.search(text, fence.end())
    return found.end() if found else len(text)


def _end_of_box(text: str, at: int) -> int:
    depth = 1
    for brace in _BRACE.finditer(text, at, at + _MAX_BOX):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    line_end = text.find("\n", at, at + _MAX_BOX)
    return line_end if line_end >= 0 else min(at + _MAX_BOX, len(text))


def _reads_as_prose(formula: str) -> bool:
    """Whether four words stand in a row in it, commands and their text aside."""
    return bool(_FOUR_WORDS.search(_COMMAND.sub("=", _TEXT_IN_FORMULA.sub("=", formula))))
