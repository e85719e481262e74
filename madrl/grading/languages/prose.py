r"""The prose of a response: what a reader reads as words, sentence by sentence, and the numbers in each.

What is written in no natural language is left out: variables, formulas' letters, LaTeX commands, labels of one to three
words (a formula's, an identifier's, an address's), punctuation, invisible characters. Nothing else is: code, formulas,
boxes, comments, tags' attributes and addresses are containers, and four words in a row in one are prose like any other,
also where each word has a container of its own. So are labels of two and three words where there are many beside little
prose (MAX_LABELS): a solution told in labels is not in the language of the sentence around it.

What this does not find: prose inside a container that has no spaces, or operators in their place; letters with spaces
between them; ciphers.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from madrl.grading.normal_form import Characters, normalized

MAX_CHARS = 32_000
"""Only this much of a response is read, which bounds the time that one response can take; a response at veRL's usual
length caps is shorter."""

CJK_WEIGHT = 3.5
"""Latin letters that one Chinese, Japanese or Korean character stands for: the same solutions took 3.5 times as many in
English as in Chinese."""

MAX_LABELS = 0.6
"""Labels are read when they weigh more than this share of the prose: about as much as makes a mixture of it
(``language.MAX_FOREIGN``). Honest solutions beside code, figures or units in English stay below."""

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

_COMMAND = re.compile(r"\\(?:begin|end)\{[^{}\n]{0,40}\}|\\(?:[a-zA-Z]+\*?|.)")
_SMALL_CONTAINER = re.compile(
    r"\\(?:text|textrm|mathrm|mbox|operatorname)\s*\{[^{}]*\}|</?[a-zA-Z][^<>\n]{0,200}>|(?:https?://|www\.)\S+"
)

# Where a container starts and ends, in a text that has neither character.
_START, _STOP = "\x02", "\x03"
_CONTAINERS = re.compile(rf"{_START}[^{_STOP}]*{_STOP}(?:\s*+{_START}[^{_STOP}]*{_STOP})*")

# What operators, brackets and line ends divide. Arithmetic divides nothing, nor does a line end before a single word.
_CLAUSE = re.compile(r"(?:\d[\d\s.,=+\-*/×÷·()%$^]*+|[^\d=+*/()\[\]:\n]|\n(?=\S{1,30}(?:\n|$)))++")
_LETTER = r"(?:[^\W\d_]|[\u0900-\u0963])"
_LETTERS_IN_ROW = re.compile(rf"{_LETTER}+")
_WORD = re.compile(rf"[\u3400-\u9fff]|{_LETTER}{{2,}}+")
_WORDS_OF_PROSE = 4
# A word of a label: a shorter one is a variable, a unit or a function, and one beside an angle bracket a tag's name.
_LABEL = re.compile(rf"[\u3400-\u9fff]+|(?<!<)(?<!{_LETTER}){_LETTER}{{4,}}+(?!>)")
_CJK = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。!?।॥]")
_ORDINAL = re.compile(r"^([^\d\n]{0,12})\d{1,2}(?=\w?[ ]?:)|^([\s*#>(]{0,12})\d{1,2}(?=[.)]\s)", re.MULTILINE)
_NUMBER = re.compile(r"\d++(?:[.,]\d++)*+")
_RECKONING = re.compile(r"[=+×÷≈]|\d[ ]?[-−/*·][ ]?\d")


class Sentence(NamedTuple):
    """A sentence, or a line without an end of its own, with the formulas that follow it."""

    words: str
    """Its words with single spaces between them."""
    numbers: list[str]
    """The numbers in it, as they are written. Those that count lines ("2.", "Step 2:") are none."""
    reckons: bool
    """Whether it has an equation or an operation in it."""


def _unseen(character: str, kind: str) -> str | None:
    """Marks on Latin letters that have no letter of their own go, such as those that strike a letter out."""
    return None if kind == "Cf" or "\u0300" <= character <= "\u036f" or character in (_START, _STOP) else character


class Prose(NamedTuple):
    """What a reader reads as words."""

    sentences: list[Sentence]
    """Those that have words, in their order."""
    contained: float
    """The share of the letters that stand in containers, in [0, 1]."""


_VISIBLE = Characters(_unseen)


def _letter(character: str, kind: str) -> str | None:
    """Letters, the marks on them, apostrophes and line ends stay, and everything else becomes a space."""
    if kind[0] in "LM" or character in "'\n":
        return character
    return "'" if character == "’" else " "


_LETTERS = Characters(_letter)


def prose(response: str) -> Prose:
    """The response's prose.

    Compatibility forms are folded first (NFKC), so that full-width or mathematical letters are letters. Takes time
    linear in the length, whatever the text is.
    """
    marked = _marked(normalized("NFKC", response[:MAX_CHARS])[:MAX_CHARS].translate(_VISIBLE))
    labels: list[str] = []

    def without_labels(clause: re.Match[str]) -> str:
        if _is_prose(clause[0]):
            return clause[0].replace("_", " ")
        labels.extend(_labels(clause[0]))
        return _LETTERS_IN_ROW.sub(" ", clause[0])

    text, contained = _unmarked(marked, without_labels)
    sentences = _sentences(text)
    letters = sum(len(sentence.words) - sentence.words.count(" ") for sentence in sentences)
    if _weight(labels) > MAX_LABELS * _weight(sentence.words.replace(" ", "") for sentence in sentences):
        sentences = _sentences(_unmarked(marked, _with_labels)[0])
    return Prose(sentences, min(1.0, contained / max(1, letters)))


def _unmarked(marked: str, of_clause: Callable[[re.Match[str]], str]) -> tuple[str, int]:
    """The text with what ``of_clause`` leaves of each clause in containers, and the number of letters in these."""
    contained = 0

    def in_containers(containers: re.Match[str]) -> str:
        nonlocal contained
        text = _COMMAND.sub(" ", containers[0].replace(_START, " ").replace(_STOP, " "))
        kept = _CLAUSE.sub(of_clause, text)
        contained += sum(map(len, _LETTERS_IN_ROW.findall(kept)))
        return f" {kept} "

    return _CONTAINERS.sub(in_containers, marked), contained


def _is_prose(clause: str) -> bool:
    return len(_WORD.findall(clause)) >= _WORDS_OF_PROSE


def _labels(clause: str) -> list[str]:
    """The words of a clause that is a label: a single word may be anything's name."""
    words = _LABEL.findall(clause)
    return words if len(words) > 1 or any(_CJK.match(word) for word in words) else []


def _with_labels(clause: re.Match[str]) -> str:
    if _is_prose(clause[0]):
        return clause[0].replace("_", " ")
    return " ".join((_LETTERS_IN_ROW.sub(" ", clause[0]), *_labels(clause[0])))


def _sentences(text: str) -> list[Sentence]:
    text = _SENTENCE_END.sub("\n", _ORDINAL.sub(r"\1\2", _COMMAND.sub(" ", text)))
    found: list[tuple[str, list[str], list[str]]] = []
    before: tuple[list[str], list[str]] = [], []  # what stands without words before the first ones
    for line, letters in zip(text.split("\n"), text.translate(_LETTERS).split("\n"), strict=True):
        words = letters.split()
        if words:
            found.append((" ".join(words), *before) if not found else (" ".join(words), [], []))
        numbers, reckoning = found[-1][1:] if found else before
        numbers += numbers_in(line)
        reckoning += _RECKONING.findall(line)
    return [Sentence(words, numbers, bool(reckoning)) for words, numbers, reckoning in found]


def _weight(words: Iterable[str]) -> float:
    """The letters of the words, in Latin ones."""
    return sum(len(word) + (CJK_WEIGHT - 1) * len(_CJK.findall(word)) for word in words)


def numbers_in(text: str) -> list[str]:
    """The numbers in a text, as they are written."""
    return _NUMBER.findall(text)


def _marked(text: str) -> str:
    """``text`` with _START and _STOP around every container: code, comments, formulas, boxes, tags, addresses.

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
        stop: int | None = None  # where what opened here ends
        if opened == "dollar":
            closes = dollar is not None and start - dollar <= _MAX_INLINE and not text[start - 1].isspace()
            if closes and not text[end : end + 1].isdigit():
                assert dollar is not None
                start, stop = dollar, end
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
                stop = found + len(closing)
        if stop is not None:
            kept += [_SMALL_CONTAINER.sub(_in_container, text[at:start]), _START, text[start:stop], _STOP]
            at, end, dollar = stop, stop, None
        match = _OPENING.search(text, end)
    kept.append(_SMALL_CONTAINER.sub(_in_container, text[at:]))
    return "".join(kept)


def _in_container(found: re.Match[str]) -> str:
    return f"{_START}{found[0]}{_STOP}"


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
