r"""GSM8K and MATH as the paper scores them: the answer and the reference are the same string once both are normalised.

The paper says "exact match after answer extraction" and gives neither. The answer is the one that the verifier ``math``
finds (``answer_text.answer_in``). The normal form is the one that MATH's authors publish with the benchmark (Hendrycks
et al. 2021, ``is_equiv``), in our words, with two steps of GSM8K's in addition, 2 and 12. In this order:

    1   line breaks, ``\!`` and outer white space go; ``\\`` becomes ``\``; ``\tfrac`` and ``\dfrac`` are ``\frac``
    2   a full stop at the end goes
    3   ``\left`` and ``\right``, degrees (``^\circ``), ``$``, ``\$``, ``%`` and ``\%`` go
    4   units go: what follows the only ``\text{`` that has a space behind its brace
    5   a number that starts with its point gets a zero: ``.5`` is ``0.5``
    6   a name of at most two characters in front of the only ``=`` goes: ``x = 5`` is ``5``
    7   all spaces go
    8   ``\sqrt3`` is ``\sqrt{3}``
    9   ``\frac12``, ``\frac1{2}`` are ``\frac{1}{2}``
    10  ``0.5`` is ``\frac{1}{2}``
    11  ``a/b`` of two whole numbers is ``\frac{a}{b}``
    12  a number in digits loses the commas between its thousands

Nothing else is equal: ``18.00`` is not ``18``, ``\frac{2}{4}`` not ``\frac{1}{2}``, and digits of other scripts and
words are wrong, all of which the verifier ``math`` accepts.
"""

import re

from madrl.grading.math_answers.math_answer import comparable_answer
from madrl.rollout import Rollout, Verification

_REMOVED = re.compile(r"\\(?:left|right)(?![a-zA-Z])|\^(?:\\circ(?![a-zA-Z])|\{\\circ\})|\\?[$%]")
_UNITS = re.compile(r"\\text\{ ")
_BARE_POINT = re.compile(r"(^|[ {])\.(?=\d)")
_BARE_ROOT = re.compile(r"\\sqrt([^\\{\[])")
_BARE_FRACTION = re.compile(r"\\frac([^\\{])(?:([^\\{])|(?=\{))")
_RATIO = re.compile(r"(-?[0-9]+)/(-?[0-9]+)")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


async def verify_exact_match(rollout: Rollout) -> Verification:
    """Correct when the answer's normal form is the reference's.

    Incorrect with the reason ``wrong``, ``no_answer`` or ``too_long``; ungraded with ``bad_reference`` when nothing is
    left of the reference.
    """
    reference = normal_form(rollout.ground_truth)
    answer = comparable_answer(rollout.response, has_reference=bool(reference))
    if isinstance(answer, Verification):
        return answer
    return Verification(1.0, answer) if normal_form(answer) == reference else Verification(0.0, answer, "wrong")


def normal_form(answer: str) -> str:
    """The string that stands for an answer or a reference, by the module's twelve steps. Takes linear time."""
    text = answer.replace("\n", "").replace("\\!", "").replace("\\\\", "\\").strip()
    text = text.replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac")
    text = _REMOVED.sub("", text.removesuffix("."))
    units = _UNITS.split(text)
    text = units[0] if len(units) == 2 else text
    text = _BARE_POINT.sub(r"\g<1>0.", text)
    name, equals, value = text.partition("=")
    text = value if equals and "=" not in value and len(name.strip()) <= 2 else text
    text = text.replace(" ", "")
    text = _BARE_ROOT.sub(r"\\sqrt{\1}", text)
    text = _BARE_FRACTION.sub(_with_braces, text)
    if text == "0.5":
        return "\\frac{1}{2}"
    ratio = _RATIO.fullmatch(text)
    if ratio:
        return f"\\frac{{{ratio[1]}}}{{{ratio[2]}}}"
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def _with_braces(fraction: re.Match[str]) -> str:
    denominator = f"{{{fraction[2]}}}" if fraction[2] else ""
    return f"\\frac{{{fraction[1]}}}{denominator}"
