r"""One way of writing for what people and models write in many: digits of any script, full-width characters, Unicode
maths signs, LaTeX's spacing and size commands. Nothing here knows what an expression means.

In plain notation digits are ASCII, text of any kind (``\text{cm}``, Chinese and Hindi words) stands in double quotes,
and dollar signs are gone, whether they meant money or maths.
"""

import math
import re
import unicodedata

from madrl.grading.normal_form import Characters

_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "⁻": "^-", "×": r"\times ", "⋅": r"\cdot ", "·": r"\cdot ",
    "÷": "/", "⁄": "/", "∕": "/", "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "±": r"\pm ",
    "°": r"^\circ ", "º": r"^\circ ", "√": r"\sqrt ", "∶": ":", "，": ",", "、": ",", "٫": ".", "٬": ",", "。": ".",
    "।": ".", "’": "'", "‘": "'", "“": '"', "”": '"', "「": "", "」": "",
    "【": "", "】": "", "`": "", '"': "", "￥": "¥", "￡": "£",
    "α": r"\alpha ", "β": r"\beta ", "θ": r"\theta ", "λ": r"\lambda ", "π": r"\pi ", "φ": r"\phi ", "ω": r"\omega ",
}  # fmt: skip


def _plain_character(character: str, kind: str) -> str | None:
    if character in _SIGNS:
        return _SIGNS[character]
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if "\uff01" <= character <= "\uff5e":
        return _PLAIN[ord(character) - 0xFEE0]
    if kind == "Cf":
        return None
    if kind[0] == "Z" or character.isspace():
        return " "
    if kind == "No" and unicodedata.decomposition(character).startswith("<super>"):
        return f"^{unicodedata.digit(character)}"
    if kind == "No" and unicodedata.decomposition(character).startswith("<fraction>"):
        above, _, below = unicodedata.normalize("NFKC", character).partition("⁄")
        return rf"\frac{{{above}}}{{{below}}}"
    return character


_PLAIN = Characters(_plain_character)

_COMMANDS = {
    **dict.fromkeys(
        (r"\!", r"\left", r"\right", r"\displaystyle", r"\textstyle", r"\limits", r"\$", "$", r"\(", r"\)"), ""
    ),
    **dict.fromkeys((r"\big", r"\Big", r"\bigg", r"\Bigg", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr", r"\[", r"\]"), ""),
    **dict.fromkeys((r"\,", r"\;", r"\:", r"\>", "\\ ", r"\quad", r"\qquad", r"\thinspace", "~"), " "),
    **dict.fromkeys((r"\dfrac", r"\tfrac", r"\cfrac"), r"\frac"),
    **dict.fromkeys((r"\lbrace", r"\{"), r"\{"),
    **dict.fromkeys((r"\rbrace", r"\}"), r"\}"),
    **dict.fromkeys((r"\leq", r"\leqslant", r"\le"), r"\le "),
    **dict.fromkeys((r"\geq", r"\geqslant", r"\ge"), r"\ge "),
    **dict.fromkeys((r"\lt", r"\gt"), "<"),
    **dict.fromkeys((r"\neq", r"\ne"), r"\ne "),
    **dict.fromkeys((r"\varnothing", r"\emptyset"), r"\emptyset "),
    **dict.fromkeys((r"\pounds", r"\euro", r"\yen", r"\textdollar"), ""),
    **dict.fromkeys((r"\sen",), r"\sin "),
    **dict.fromkeys((r"\tg", r"\tang"), r"\tan "),
    **dict.fromkeys((r"\ctg", r"\cotg"), r"\cot "),
    r"\cosec": r"\csc ",
    r"\arctg": r"\arctan ",
    r"\arcsen": r"\arcsin ",
    r"\mod": r"\bmod ",
    r"\bar": r"\overline",
    r"\gt": ">",
    r"\infin": r"\infty ",
    r"\%": "%",
    r"\#": "#",
    r"\&": "&",
    r"\_": "_",
    r"\degree": r"^\circ ",
    r"\div": "/",
    r"\colon": ":",
}
_THOUSANDS = re.compile(r" ?, ?\\! ?(?=\d{3})")
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)|[~$]", re.DOTALL)
_TEXT_COMMAND = r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|mbox|hbox|mathrm|mathsf|operatorname)"
_LETTER_COMMAND = r"\\(?:mathbf|mathit|boldsymbol|bold)"
_WORDS = (r"\text", r"\mbox", r"\hbox")
_TEXT = re.compile(rf"(?:{_TEXT_COMMAND}|{_LETTER_COMMAND})\s*\{{([^{{}}\"]*)\}}")
_GREEK = (
    r"\\(?:alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|(?:var)?phi|chi|psi|"
    r"omega)"
)
_LETTER = re.compile(
    rf"{_TEXT_COMMAND}\s*\{{(\s*)([eijknxyz]|{_GREEK}|pi)(\s*)\}}"
    rf"|{_LETTER_COMMAND}\s*\{{\s*([a-zA-Z]|{_GREEK})\s*\}}"
)
r"""A letter of a formula in a typeface of its own: ``\mathrm{i}``, ``\mathbf{v}``. An upright ``m`` is a unit."""

_OPERATOR = re.compile(
    r"\\(?:operatorname|mathrm|text(?:rm|up|normal)?)\s*\{\s*(sen|sin|cos|tg|tan|ctg|cotg|cot|cosec|csc|sec|ln|log|arcsen|arctg"
    r"|arcsin|arccos|arctan|mod)\s*\}"
)
"""A function's name, in English or Spanish and French, that is set as text."""

_REPEATING = re.compile(r"(?<![\d.,])(\d{1,20})[.,](\d{0,20}) ?\\overline ?\{ ?(\d{1,20}) ?\}(?![\d_^.,])")
_ORDINAL = re.compile(
    r'(?<=\d) ?\^ ?(?:\{ ?(?:st|nd|rd|th) ?\}|\{ ?" ?(?:st|nd|rd|th|er|re|ère|ème|eme|o|os|वाँ|वां|वीं) ?" ?\}'
    r'|" ?(?:st|nd|rd|th|er|re|ère|ème|eme|o|os|वाँ|वां|वीं) ?")'
)
_PAID = re.compile(r"(?<=\d) ?/[-=](?= ?$| [^\d])")
"""What follows a price in India: ``₹12/-``."""

_FOREIGN = r"[^\x00-\u02ff\u0370-\u03ff\u2000-\u2bff]"
_FOREIGN_WORDS = re.compile(rf"(?={_FOREIGN})[^\W\d_](?:{_FOREIGN}|[ .](?=[^\x00-\u02ff]))*")
r"""Outside quotes: a run in a script that no formula is written in. Marks are no ``\w``, hence the ranges."""

_QUOTED = re.compile(r'("[^"]*")')
_ARGUMENT = r"\s*(?:\{\s*([^{}]*?)\s*\}|([^\s{}\\]|\\pi))"
_FRACTION = re.compile(rf"\\frac{_ARGUMENT}{_ARGUMENT}")
_ROOT = re.compile(r"\\sqrt\s*(?:(\d+(?:\.\d+)?|[a-zA-Z])|\(\s*([^()]*)\s*\))")
_TIDY = (
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\^\s*\{\s*\\circ\s*\}"), r"^\\circ "),
    (re.compile(r"\\mathbb\s*+(?:\{\s*+)?([A-Z])\s*\}?"), r"\\mathbb{\1}"),
    (re.compile(r"\{([^{}\\]*)\\choose(?![a-zA-Z])([^{}]*)\}"), r"\\binom{\1}{\2}"),
    (re.compile(r"\\log ?_ ?(\d) (?=\d)"), r"\\log_{\1}"),
    (re.compile(r"\*\*+"), ""),
    (re.compile(r"\s+"), " "),
)


def plain(text: str) -> str:
    r"""``text`` in plain notation: ``"\\dfrac12 \\text{ किलो}"`` is ``'\\frac{1}{2}" किलो"'``."""
    # \(, \[ and \left[ differ in what follows, so commands go one by one, from the left.
    latex = _THOUSANDS.sub("", text.translate(_PLAIN))
    latex = _OPERATOR.sub(r"\\\1 ", latex)
    latex = _COMMAND.sub(lambda command: _COMMANDS.get(command[0], command[0]), latex)
    latex = _LETTER.sub(_in_plain_type, latex)
    latex = _TEXT.sub(r'"\1"', latex)
    parts = _QUOTED.split(latex)
    parts[::2] = [_FOREIGN_WORDS.sub(lambda words: f'"{words[0]}"', part) for part in parts[::2]]
    latex = "".join(parts)
    for pattern, replacement in _TIDY:
        latex = pattern.sub(replacement, latex)
    latex = _FRACTION.sub(lambda f: rf"\frac{{{f[1] or f[2] or ''}}}{{{f[3] or f[4] or ''}}}", latex)
    latex = _ROOT.sub(_braced_root, latex)
    latex = _PAID.sub("", _ORDINAL.sub("", _REPEATING.sub(_ratio_of_repeating, latex)))
    return latex.lstrip(" ,;:").rstrip(" .,;:")


def _in_plain_type(letter: re.Match[str]) -> str:
    r"""``i`` for ``\mathrm{i}``, apart from a command before it, and a command apart from a letter behind it.
    ``\text{y}`` and ``\text{e}`` between two values are left: Spanish for "and"."""
    sign = letter[2] or letter[4]
    before = letter.string[max(letter.start() - 1, 0) : letter.start()]
    behind = letter.string[letter.end() : letter.end() + 1]
    if sign in ("y", "e") and letter[0].startswith(_WORDS) and before and behind:
        apart = (letter[1] or before.isspace()) and (letter[3] or behind.isspace())
        if apart or (before in ")]}0123456789" and behind in "([{\\0123456789"):
            return letter[0]
    sign = r"\pi" if sign == "pi" else sign
    return f"{' ' if before.isalpha() else ''}{sign}{' ' if len(sign) > 1 else ''}"


def _ratio_of_repeating(number: re.Match[str]) -> str:
    r"""``0.1\overline{6}`` is (16 - 1) / 90."""
    whole, once, again = number.groups()
    above = int(whole + once + again) - int(whole + once)
    below = int("9" * len(again) + "0" * len(once))
    shared = math.gcd(above, below)
    return rf"\frac{{{above // shared}}}{{{below // shared}}}"


def _braced_root(root: re.Match[str]) -> str:
    r"""``\sqrt12`` is the root of 1, twice over, in TeX; people who write it mean the root of 12, as in ``√12``."""
    return rf"\sqrt{{{root[1] or root[2] or ''}}}"
