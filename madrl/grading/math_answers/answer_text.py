"""MATH: which part of a response is its answer, and of a reference solution its reference. Text only: what the answer
means is `quantities` and `equivalence`.

An answer is, in this order: what the last non-empty box holds; what follows ``####`` (GSM8K); what follows "the answer
is" in English, Chinese, Spanish, Hindi or French; a last line that is nothing but a number or a bold text. Everything
here takes time linear in the length of the response.
"""

import re
from collections import deque

from madrl.errors import MadrlError
from madrl.grading.math_answers.quantities import quantity

_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"[^\s$]+")

_HASHES = re.compile(r"^[ \t*]*####(?!#)[ \t]*(\S.*)$", re.MULTILINE)

_GAP = r"[^.:：=\n。।]{0,60}?"
"""What may stand between "answer" and "is": "the answer to the second question is"."""

_ANSWER_IS = re.compile(
    rf"""
    (?:
        \banswer\b {_GAP} (?: [:：=] | \b(?:is|are|equals|(?:would|must|should|will)\ be)\b )
      | (?:答案|答) [^.:：=\n。，,]{{0,12}}? (?: [:：=] | 是|为|為|等于 )
      | \brespuesta\b {_GAP} (?: [:：=] | \b(?:es|son|será|sería)\b (?:\ de\b)? )
      | \br[ée]ponse\b {_GAP} (?: [:：=] | \b(?:est|sont|sera|serait)\b (?:\ (?:donc|de)\b)? )
      | (?:उत्तर|जवाब) (?![\u0900-\u097f]) (?: \s* (?:है|होगा)(?![\u0900-\u097f]) )?
    )
    [\s*_]* [:：=]? [\s*_]*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HINDI_VERB = re.compile(r"\s(?:है|हैं|होगा|होगी|होंगे|था|थी|थे)$")
_MATHS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_SENTENCE_END = re.compile(r"[。।\n]|(?<!\bRs)(?<!रु)[.!?](?=\s|$)")
_BOLD_LINE = re.compile(r"\*\*([^*]+)\*\*[.。।]?")

TAIL_LENGTH = 8192
"""The number of characters that are read behind "the answer is": twice what is graded."""


def answer_in(response: str) -> str | None:
    """The answer that ``response`` gives, as it is written there; None when it gives none.

    A response with a box is graded by its last box alone: None when that box is never closed.
    """
    if _BOX.search(response):
        return last_boxed(response)
    return _after_hashes(response) or _after_answer_is(response) or _last_line(response)


def last_boxed(text: str) -> str | None:
    r"""What the last ``\boxed{...}`` or ``\fbox{...}`` with anything in it holds, or ``\boxed 5`` without braces; the
    inner of two nested ones. None when there is no box, or when the last is never closed (the text was cut off)."""
    for box in reversed(list(_BOX.finditer(text))):
        if not text.startswith("{", box.end()):
            bare = _BARE_BOX.match(text, box.end())
            content: str | None = bare[0].rstrip(".,;}") if bare else ""
        else:
            content = _braced(text, box.end())
        if content is None:
            return None
        if content.strip():
            return content.strip()
    return None


def gsm8k_answer(answer_field: str) -> str:
    """The reference in an ``answer`` of GSM8K: what follows the last ``####``, without thousands separators.

    Raises MadrlError when there is none.
    """
    _, hashes, reference = answer_field.rpartition("####")
    reference = reference.strip().replace(",", "")
    if not hashes or not reference:
        raise MadrlError(f"GSM8K answer {answer_field[-80:]!r} has no '#### N' at its end: is the row complete?")
    return reference


def _braced(text: str, start: int) -> str | None:
    """What stands between the brace at ``start`` and the one that closes it."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[start + 1 : brace.start()]
    return None


def _after_hashes(response: str) -> str | None:
    """``x`` of the last line ``#### x``. Since that is a Markdown heading too, it must be the last line that is not
    blank, or ``x`` a quantity."""
    found = _last(_HASHES, response)
    if found is None:
        return None
    answer = _undecorated(found[1])
    is_last_line = not response[found.end() :].strip()
    return answer if is_last_line or quantity(answer) is not None else None


def _after_answer_is(response: str) -> str | None:
    """The rest of the sentence after the last "the answer is", or the formula that it starts with."""
    found = _last(_ANSWER_IS, response)
    if found is None:
        return None
    tail = response[found.end() : found.end() + TAIL_LENGTH]
    maths = _MATHS.match(tail)
    if maths:
        return next(group for group in maths.groups() if group is not None).strip() or None
    end = _SENTENCE_END.search(tail)
    return _HINDI_VERB.sub("", _undecorated(tail[: end.start()] if end else tail)) or None


def _last_line(response: str) -> str | None:
    """The last line that is not blank, when it is bold as a whole, or a number without a word."""
    line = response.rstrip().rpartition("\n")[2].strip()
    bold = _BOLD_LINE.fullmatch(line)
    if bold:
        return bold[1].strip() or None
    if len(line) > TAIL_LENGTH or any(character.isalpha() for character in line):
        return None
    return line if quantity(line) is not None else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = deque(pattern.finditer(text), maxlen=1)
    return last[0] if last else None


def _undecorated(text: str) -> str:
    """Without the marks of bold, italic and code."""
    return text.replace("**", "").strip().strip("*_`").strip()
