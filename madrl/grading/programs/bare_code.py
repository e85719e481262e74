"""Code without its comments and strings, in which another language's code counts for nothing.

One pass of one regular expression for a language, which is right for all but rarities (a template in a template). A
string or a comment that nothing closes goes to the end of its line or of the code, so that every text takes linear
time and code cut short is read like any other.
"""

import re
from functools import cache

_COMMENT = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_STRING = r'"(?:[^"\\\n]|\\.)*+"?'
_CHARACTER = r"'(?:\\[^\n]{1,10}?|[^'\\\n])'"

_HIDDEN = {
    "python": r"""\#[^\n]*|\"""(?s:[^\\]|\\.)*?(?:\"""|\Z)|'''(?s:[^\\]|\\.)*?(?:'''|\Z)"""
    rf"|{_STRING}|'(?:[^'\\\n]|\\.)*+'?",
    "cpp": rf'{_COMMENT}|R"([^()\\\s]{{0,16}})\((?s:.*?)(?:\)\1"|\Z)|{_STRING}|{_CHARACTER}',
    "java": rf'{_COMMENT}|"""(?s:[^\\]|\\.)*?(?:"""|\Z)|{_STRING}|{_CHARACTER}',
    "go": rf"{_COMMENT}|{_STRING}|{_CHARACTER}|`[^`]*`?",
    "javascript": rf"{_COMMENT}|{_STRING}|'(?:[^'\\\n]|\\.)*+'?|`(?s:[^`\\]|\\.)*+`?"
    # A regular expression stands where no number or name is before the slash.
    r"|(?:(?<=[(,=:!&|?\[;{}])|(?<=[(,=:!&|?\[] ))/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*+\]?)++/?",
}
"""Language -> what its comments and strings look like."""


def bare(code: str, language: str) -> str:
    """``code`` as ``language`` reads it after a newline, with a space for each comment and ``""`` for each string."""
    return "\n" + _hidden(language).sub(_what_stays, code)


@cache
def _hidden(language: str) -> re.Pattern[str]:
    return re.compile(_HIDDEN[language])


def _what_stays(match: re.Match[str]) -> str:
    return " " if match[0].startswith(("//", "/*", "#")) else '""'
