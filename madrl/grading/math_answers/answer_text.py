"""MATH: which part of a response is its answer, and of a reference solution its reference. Text only: what the answer
means is `quantities` and `equivalence`.

An answer is, in this order: what the last non-empty box holds; what follows ``####`` (GSM8K); what follows "the answer
is" in English, Chinese, Spanish, Hindi or French; a last line that is nothing but a number or a bold text; the number
of a last sentence that concludes ("so", "altogether", "in total"), asks nothing, and has no other number and no word
that changes it. A last sentence that only mentions a number is no answer. Everything here takes time linear in the
length of the response.
"""

import re
from collections import deque

from madrl.errors import MadrlError
from madrl.grading.math_answers.answer_words import changed_by_words
from madrl.grading.math_answers.notation import plain
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
    return _after_hashes(response) or _after_answer_is(response) or _last_line(response) or _conclusion(response)


def has_box(response: str) -> bool:
    """Whether there is a box, with anything in it or not."""
    return _BOX.search(response) is not None


def is_spanish_or_french(text: str) -> bool:
    """Whether more words of it stand for Spanish or French than for English. Numbers are written with a decimal comma
    there, and with points or spaces between thousands."""
    return sum(1 for _ in _CONTINENTAL.finditer(text)) > sum(1 for _ in _ENGLISH.finditer(text))


_CONTINENTAL = re.compile(
    r"(?<!\w)(?:el|la|los|las|del|que|es|son|en|por|para|una?|y|con|cada|respuesta|entonces|le|les|des?|du|est|sont|dans|pour"
    r"|une|et|avec|chaque|donc|réponse|euros|pesos|d[óo]lares|soles|metros|m[èe]tres|litros|litres)(?!\w)|[áéíóúñ¿¡àâçèêëîïôœû]",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"(?<!\w)(?:the|of|is|are|and|in|to|we|for|with|each|so|that|answer)(?!\w)", re.IGNORECASE)


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


_CONCLUDES = re.compile(
    r"(?<!\w)(?:so|therefore|thus|hence|altogether|in total|in all|total of|así que|entonces|por (?:lo )?tanto"
    r"|por eso|en total"
    r"|luego|donc|ainsi|par cons[ée]quent|au total|en tout"
    r"|इसलिए|अतः|अत:|कुल|इस प्रकार)(?!\w)|所以|因此|一共|总共|共有|总计|故",
    re.IGNORECASE,
)
_WRITTEN_NUMBER = re.compile(
    r"(?<![\w.,/^+*-])(?<![/^+*=<>-] )(?:[-−]?[$€£₹¥] ?|[-−])?\d[\d.,]*(?: \d{3}(?!\d))*(?<=\d)(?: ?%)?(?![\d/^+*=])"
)
_ENUMERATION = re.compile(
    r"(?<!\w)(?:or|either|maybe|perhaps|guess|o|ou|peut-être|quizás|tal vez|या|शायद)(?!\w)|还是|或|可能|也许",
    re.IGNORECASE,
)
SENTENCE_LENGTH = 400
"""The number of characters of the last sentence, at most."""


def _conclusion(response: str) -> str | None:
    """The one number of a last sentence that concludes."""
    line = response.rstrip()[-SENTENCE_LENGTH:].rpartition("\n")[2].strip()
    if line.endswith(("?", "？")):
        return None
    ends = [end.end() for end in _SENTENCE_END.finditer(line) if end.end() < len(line)]
    sentence = _undecorated(line[ends[-1] :] if ends else line)
    numbers = list(_WRITTEN_NUMBER.finditer(sentence))
    if len(numbers) != 1 or len(re.findall(r"\d+(?:[.,]\d+)*", sentence)) != len(
        re.findall(r"\d+(?:[.,]\d+)*", numbers[0][0])
    ):
        return None
    if not _CONCLUDES.search(sentence) or _ENUMERATION.search(sentence) or changed_by_words(plain(sentence), ""):
        return None
    number, behind = numbers[0][0], sentence[numbers[0].end() :]
    with_unit = quantity(number + " ".join(behind.split(" ")[:2]))
    if with_unit is not None and with_unit != quantity(number):
        return number + " ".join(behind.split(" ")[:2])
    return number if quantity(number) is not None else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = deque(pattern.finditer(text), maxlen=1)
    return last[0] if last else None


def _undecorated(text: str) -> str:
    """Without the marks of bold, italic and code."""
    return text.replace("**", "").strip().strip("*_`").strip()
