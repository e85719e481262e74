r"""MATH: numbers as people write them in English, Chinese, Spanish, Hindi and French, as exact fractions: digits of any
script, separators, signs, ``a/b`` and ``\frac``, mixed numbers, powers of ten, percent, words of magnitude, with or
without a currency or unit, which count for nothing. Whatever has to be calculated or could be algebra is no quantity.

A comma before exactly three digits separates thousands, any other single comma is a decimal comma, and a single point
is always a decimal point: ``1,234`` is 1234, ``3,50`` and ``3.50`` are 7/2, ``1.234`` is never 1234. ``1.234,5`` and
``1.234.567`` can only be meant one way. `other_reading` is for a response in Spanish or French, where ``1.234`` may be
1234, and ``1,234`` less than two.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from madrl.grading.math_answers.notation import plain

MAX_EXPONENT = 400
"""The largest power of ten, all words of magnitude together, of which an exact fraction is made."""

MAX_LENGTH = 1000
"""The number of characters of a text that may be a quantity. Python makes no number of more than 4300 digits."""


class Quantity(NamedTuple):
    """A number that stands alone, but for a unit."""

    value: Fraction
    is_percent: bool = False
    """``value`` is then the number before the sign: 50 for 50 %."""
    decimals: int | None = None
    """Digits after the decimal sign, None when it is written without one."""

    @property
    def latex(self) -> str:
        """The number in LaTeX, the percent sign left out: a decimal where it was written as one."""
        if self.decimals:
            sign, digits = "-" if self.value < 0 else "", str(int(abs(self.value) * 10**self.decimals))
            digits = digits.rjust(self.decimals + 1, "0")
            return f"{sign}{digits[: -self.decimals]}.{digits[-self.decimals :]}"
        if self.value.denominator == 1:
            return str(self.value)
        return rf"\frac{{{self.value.numerator}}}{{{self.value.denominator}}}"

    def equals(self, reference: "Quantity") -> bool:
        """Whether this is ``reference``, exactly. 50 % is both 50 and 1/2, since references drop the sign or divide.

        Of a reference without a finite decimal form, such as 1/3, six or more rounded decimals will do.
        """
        if self.value == reference.value:
            return True
        if self.is_percent != reference.is_percent:
            percent, other = (self, reference) if self.is_percent else (reference, self)
            if percent.value / 100 == other.value:
                return True
        if self.decimals is None or self.decimals < ROUNDED_DECIMALS or _is_finite_decimal(reference.value):
            return False
        return abs(self.value - reference.value) * 2 <= Fraction(1, 10**self.decimals)


ROUNDED_DECIMALS = 6

_INTEGER = r"\d++"
# Atomic groups around repeated groups: before Python 3.11.5 ``(?:...)++`` fails to match what it should (gh-106052).
_NUMBER = r"""
    (?: [1-9]\d{0,2} (?>(?:,\d{3})+) (?:\.\d++)?       # 1,234,567.8
      | [1-9]\d? (?:,\d{2})+ ,\d{3} (?:\.\d++)?       # 12,34,567.8, Indian
      | [1-9]\d{0,2} (?>(?:[ ']\d{3})+) (?:[.,]\d++)?  # 1 234 567,8
      | [1-9]\d{0,2} (?>(?:\.\d{3})+) ,\d++            # 1.234.567,8
      | [1-9]\d{0,2} (?>(?:\.\d{3}){2,})               # 1.234.567
      | \d++ ,\d++                                     # 3,50
      | \d++ (?:\.\d*+)? | \.\d++
    ) (?![\d.,]*\d)"""
_CURRENCY = r"(?:[₹€£¥₩₽₨৳]|(?:US|USD|EUR|GBP|INR|CNY|RMB|Rs)(?![A-Za-z])\.?|\"\s*(?:रु|रू|रुपये|Rs|USD|US)\.?\s*\"\.?)"
_QUANTITY = re.compile(
    rf"""
    (?: [^\d\\{{}}=:<>,;+*/^%()\[\]-]{{0,60}} (?:=|:|\\approx(?![a-zA-Z])) | \\approx(?![a-zA-Z]) )? \s*  # x =, Total:
    (?P<sign>[-+]?) \s* {_CURRENCY}? \s* (?P<inner_sign>[-+]?) \s*
    (?:
        (?:(?P<whole>{_INTEGER}) \s*)? \\frac \s* \{{ (?P<above>[-+]?\s*{_NUMBER}) \}} \{{ (?P<below>{_NUMBER}) \}}
      | (?:(?P<whole2>{_INTEGER}) \s+)? (?P<above2>{_INTEGER}) \s*/\s* (?P<below2>{_INTEGER})
      | (?P<number>{_NUMBER})
        (?: [eE](?P<exponent>[-+]?\d{{1,6}})
          | \s* (?:\\times|\\cdot|\*) \s* 10 \s* \^ \s* \{{? \s* (?P<power>[-+]?\d{{1,6}}) \s* \}}? )?
    )
    (?![\d]) (?P<rest>.*)
    """,
    re.VERBOSE | re.DOTALL,
)

_PERCENT = re.compile(
    r'\s*"?\s*(?:%|per ?cent\b|percentage points?\b|por ciento\b|pour cent\b|प्रतिशत|फ़?ीसदी|फीसदी|फ़ीसदी)(?!\w)',
    re.IGNORECASE,
)
_MAGNITUDES = {
    "thousand": 10**3, "mil": 10**3, "mille": 10**3, "हज़ार": 10**3, "हजार": 10**3,
    "hundred": 100, "hundreds": 100, "सौ": 100, "centaines": 100, "cientos": 100,
    "dozen": 12, "dozens": 12, "docena": 12, "docenas": 12, "douzaine": 12, "douzaines": 12, "दर्जन": 12,
    "lakh": 10**5, "lakhs": 10**5, "लाख": 10**5, "crore": 10**7, "crores": 10**7, "करोड़": 10**7, "करोड": 10**7,
    "million": 10**6, "millions": 10**6, "millón": 10**6, "millones": 10**6,
    "billion": 10**9, "billions": 10**9, "milliard": 10**9, "milliards": 10**9, "trillion": 10**12,
}  # fmt: skip
_MAGNITUDE = re.compile(r'\s*"?\s*(' + "|".join(sorted(_MAGNITUDES, key=len, reverse=True)) + r")(?![\w\u0900-\u097f])")
_CHINESE_MAGNITUDES = {
    "百万": 10**6,
    "千万": 10**7,
    "百": 100,
    "打": 12,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}
_CHINESE_MAGNITUDE = re.compile(r'\s*"?\s*(千万|百万|[万萬亿億打]|千(?![克米瓦卡焦帕赫伏])|百(?!分))')

_SHORT_UNIT = (
    "cm|mm|kmh|km|dm|nm|kg|mg|ml|mL|cl|dl|lbs|lb|oz|ft|in|yd|mins|min|mi|sq|cu|mph|kph|hrs|hr|sec|am|pm|ms|kW|MW|GB|MB|TB|Hz|kJ"
    "|cents|units|of|de|du|la|le|el|en|un|rs|Rs|USD|EUR|INR"
)
_LETTER_UNITS = "mghsLltdKCFNJWVA"
_NO_UNIT = "sin|cos|tan|cot|sec|csc|log|exp|lim|max|min|mod|gcd|lcm|det|sqrt|frac|times|cdot|and|but|not"
_LATIN = r"[A-Za-zÀ-ÖØ-öø-ÿœŒ]"
_UNITS = re.compile(
    rf"""
    (?: (?:{_SHORT_UNIT})(?!{_LATIN}) )?                      # 42cm
    (?>(?: \s*(?:\^\s*\\circ|[₹€£¥₩₽₨৳¢])
      | \s*"(?!\s*(?:or|and|y|o|e|et|ou|或|和|या|और)\s*")[^"\d]*"                                             # 42"个"
      | \s+(?!(?:{_NO_UNIT})\b)(?:{_LATIN}{{3,}}|(?:{_SHORT_UNIT})(?!{_LATIN}))       # 42 apples
      | \s+[{_LETTER_UNITS}](?!{_LATIN})
      | (?<=/)\s*{_LATIN}{{1,8}}
      | \s*[.'/()-](?=\s|{_LATIN}|"|$|[.)])
      | (?<=[a-zA-Z"])\s*\^\s*\{{?\s*[23](?:\s*\}})?
    )*)                         # a unit that two lines take is taken by the first: 2^n ways to read n of them else
    [\s.]*
    """,
    re.VERBOSE,
)


def quantity(text: str, decimal_comma: bool = True) -> Quantity | None:
    """The quantity that ``text`` is, as a whole; None when it is something else.

    References are written the English way: without ``decimal_comma`` ``4,6`` is two numbers and no quantity.
    """
    return plain_quantity(plain(text), decimal_comma)


def other_reading(text: str) -> str | None:
    """``text`` with its one point or comma before three digits read the other way, ``1,596`` for ``1.596``;
    None when it is no quantity or leaves no choice."""
    written = plain(text)
    found = list(_EITHER.finditer(written))
    if len(found) != 1 or plain_quantity(written) is None:
        return None
    at = found[0].start(1)
    return f"{written[:at]}{'.' if written[at] == ',' else ','}{written[at + 1 :]}"


_EITHER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}([.,])\d{3}(?![.,]?\d)")


def plain_quantity(text: str, decimal_comma: bool = True) -> Quantity | None:
    """``quantity`` of a text in plain notation (`notation.plain`)."""
    if len(text) > MAX_LENGTH:
        return None
    found = _QUANTITY.fullmatch(_QUOTED_DIGITS.sub(r"\1", text))
    if found is None:
        return None
    if not decimal_comma and found["number"] and _DECIMAL_COMMA.fullmatch(found["number"]):
        return None
    decimals = None
    if found["above"]:
        value = _ratio(_value(found["above"]), _value(found["below"]), found["whole"])
    elif found["above2"]:
        value = _ratio(_value(found["above2"]), _value(found["below2"]), found["whole2"])
    else:
        exponent = int(found["exponent"] or found["power"] or 0)
        if abs(exponent) > MAX_EXPONENT:
            return None
        value = _value(found["number"]) * Fraction(10) ** exponent
        _, point, after = _pointed(found["number"]).partition(".")
        decimals = len(after) if point and not exponent else None
    if value is None:
        return None
    rest = found["rest"]
    percent = _PERCENT.match(rest)
    if percent:
        rest = rest[percent.end() :]
        rest = f'"{rest}' if percent[0].count('"') == 1 else rest
    scale = 1
    while magnitude := _MAGNITUDE.match(rest) or _CHINESE_MAGNITUDE.match(rest):
        scale *= _MAGNITUDES.get(magnitude[1]) or _CHINESE_MAGNITUDES[magnitude[1]]
        if scale > 10**MAX_EXPONENT:
            return None
        opened = magnitude[0].count('"') == 1
        rest = f'"{rest[magnitude.end() :]}' if opened else rest[magnitude.end() :]
    value *= scale
    if not _UNITS.fullmatch(rest):
        return None
    minus = (found["sign"] == "-") != (found["inner_sign"] == "-")
    return Quantity(-value if minus else value, bool(percent), decimals)


_QUOTED_DIGITS = re.compile(r'"\s*([^"\d]{0,4}\d[\d.,/ ]*(?:[^\W\d_][^"\d]*)?)"')
_DECIMAL_COMMA = re.compile(r"(?![1-9]\d{0,2},\d{3}$)\d+,\d+")


def _pointed(number: str) -> str:
    """``number``, which matches _NUMBER, with a decimal point and no other separator."""
    commas, points = number.count(","), number.count(".")
    if points > 1 or (points == 1 and "," in number[number.index(".") :]):
        number = number.replace(".", "").replace(",", ".")
    elif commas == 1 and not re.fullmatch(r"[1-9]\d{0,2},\d{3}(?:\.\d+)?", number):
        number = number.replace(",", ".")
    return number.replace(",", "").replace(" ", "").replace("'", "")


def _value(number: str) -> Fraction:
    compact = number.replace(" ", "") if number[0] in "+-" else number
    sign, digits = (compact[0], compact[1:]) if compact[0] in "+-" else ("", compact)
    return Fraction(sign + _pointed(digits).rstrip("."))


def _ratio(above: Fraction, below: Fraction, whole: str | None) -> Fraction | None:
    """``whole`` and ``above / below``; None where that is no number."""
    if below == 0 or (whole and above < 0):
        return None
    return int(whole or 0) + above / below


def _is_finite_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
