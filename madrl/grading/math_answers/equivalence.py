r"""MATH: whether an answer is the reference, decided by how both are written: word for word, number for number, list
for list, and formula for formula as far as `algebra` decides. What that leaves open goes in `symbolic`'s notation to a
worker process.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from madrl.grading.math_answers.algebra import formula, nearly_equal, same_formula
from madrl.grading.math_answers.answer_words import changed_by_words, same_words
from madrl.grading.math_answers.inequalities import union
from madrl.grading.math_answers.names import is_equation, is_list
from madrl.grading.math_answers.notation import plain
from madrl.grading.math_answers.quantities import Quantity, plain_quantity


class Expression(NamedTuple):
    """A reference or an answer, taken apart as far as its writing goes."""

    text: str
    """The answer in plain notation, without units, degree signs and spaces that mean nothing."""
    quantity: Quantity | None
    words: str | None
    """When it is made of words only."""
    has_text: bool
    """Some of it is marked as text, or written in a script that no formula is written in."""
    written: str
    """All of it, in plain notation."""

    @property
    def name(self) -> str:
        """What it says it is, before an equals sign: ``x`` of ``x = 5``."""
        return self.written.rpartition("=")[0].strip()

    @property
    def latex(self) -> str:
        """The LaTeX formula that `symbolic` is given."""
        if self.quantity:
            return self.quantity.latex
        return _QUOTED.sub(r"\\text{\1}", self.text).replace("%", r"\%")


class _List(NamedTuple):
    brackets: str
    """Opening and closing one, ``{}`` for a set; empty for items that just follow each other."""
    items: tuple[str, ...]
    decimal_comma: bool


def decide(reference: str, answer: str) -> bool | None:
    """Whether ``answer`` is ``reference``, or None when their writing does not tell."""
    theirs, ours = _reference(reference), expression(answer)
    # Units, and words of magnitude with them, are gone from the texts: numbers come first.
    for compare in (
        _approximated, _changed, _half_an_equation, _same_quantity, _same_clock, _same_text, _same_words, _same_digits,
        _same_list, _same_union, _same_algebra
    ):  # fmt: skip
        is_equal = compare(theirs, ours)
        if is_equal is not None:
            return is_equal
    return False if _is_no_formula(theirs, ours) else None


def in_latex(reference: str, answer: str) -> tuple[str, str]:
    """The LaTeX formulas of both that `symbolic` is given."""
    theirs, ours = _reference(reference), expression(answer)
    # Of an answer to an equation, its own left side counts.
    return theirs.latex, (ours._replace(quantity=None) if is_equation(theirs.text) else ours).latex


_KNOWN_COMMANDS = r"""
    frac sqrt pi infty cup cap setminus in le ge ne pm mp cdot times sin cos tan cot sec csc arcsin arccos arctan
    sinh cosh tanh log ln exp lfloor rfloor lceil rceil binom sum prod int lim begin end mathbb angle circ
    overline vec hat alpha beta gamma delta theta lambda mu phi omega rho sigma tau psi emptyset bmod max min gcd
    lcm det text { }
"""
"""The commands that stand in formulas, without their backslash."""

_KNOWN = frozenset(_KNOWN_COMMANDS.split())
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)", re.DOTALL)
_MATRICES = re.compile(r"\\begin\{[bpv]matrix\}.*\\end\{[bpv]matrix\}", re.DOTALL)
_ODD_SIGNS = re.compile(
    r"[?#&~]|\\frac\{[^{}]*\}\{[^{}]*\} ?-?[0-9]+(?![0-9]* ?\^)(?<! -\d)|\d +\d|"
    r"(?<![a-zA-Z\\])(?:or|if|vs|and)(?![a-zA-Z])"
    r"|^[^|]*\|[^|]*$|\\text ?\{[^{}]*\\[a-zA-Z]"
)
"""What stands in no formula: a sign of no meaning, a number after a fraction or after another, a word that joins, a
single bar, a formula in a text."""


def _is_no_formula(theirs: Expression, ours: Expression) -> bool:
    r"""Whether an answer holds a sign that is in no formula (``\to``, ``\\``, a question mark), or numbers side by
    side. Of such a text math-verify would take the part that it can read, and two candidates would be one."""
    text = ours.text if r"\text" not in ours.text else ours.written
    text = _MATRICES.sub("", text) if "matrix}" in theirs.text or "matrix}" in text else text
    commands = {command[1] for command in _COMMAND.finditer(text)} - _KNOWN
    known = {command[1] for command in _COMMAND.finditer(theirs.text)}
    if commands - known - {"approx"}:
        return True
    return bool(_ODD_SIGNS.search(text)) and not _ODD_SIGNS.search(theirs.text)


def expression(text: str, is_reference: bool = False) -> Expression:
    """``text`` taken apart. Only an answer may be written with a decimal comma: references are English."""
    whole = plain(text)
    if not is_reference:
        whole = _THOUSANDS_OVER.sub(lambda ratio: ratio[0].replace(",", ""), whole)
    whole = _BACKWARDS.sub(r"\2=\1", _SUCH_THAT.sub(r"\1", whole))
    joined = _CONJUNCTION.sub(",", whole)
    joined = _MEMBER_OF.sub("", joined)
    bare = _QUOTED.sub(" ", joined)
    words = _unquoted(whole) if _WORDS.fullmatch(bare) or _ALL_QUOTED.fullmatch(whole) else None
    if words is None or any(character.isdigit() for character in words):
        joined = _UNIT.sub(" ", joined)
        joined = _QUOTED_FORMULA.sub(r"\1", joined)
    compact = _compact(joined)
    quantity = None if is_reference and is_equation(compact) else plain_quantity(whole, decimal_comma=not is_reference)
    return Expression(compact, quantity, words, '"' in whole, whole)


@lru_cache(maxsize=4096)
def _reference(text: str) -> Expression:
    return expression(text, is_reference=True)


_QUOTED = re.compile(r'"([^"]*)"')
_CONJUNCTION = re.compile(
    r'\s*,?\s*(?:"\s*,?\s*(?:and|or|y|e|o|u|et|ou|和|或|或者|及|与|और|या|तथा|एवं)\s*"'
    r"|(?<=[\d)\]}]) (?:(?:and|or|et|ou) |[youe] (?=[-\d(\\\[])))\s*,?\s*"
)
_SUCH_THAT = re.compile(
    r"\\\{ ?[a-zA-Z] ?(?:\\in ?\\mathbb\{R\} ?)?(?::|\\mid(?![a-zA-Z])|\\vert(?![a-zA-Z])|\|)"
    r" ?([^:|{}]*(?:<|>|\\le |\\ge )[^:|{}]*)\\\}"
)
r"""``\{x : x < 2\}``."""

_BACKWARDS = re.compile(r"([^=<>a-zA-Z]{1,60}) ?= ?(\\?[a-zA-Z]{1,20}(?:_\w)?)$", re.ASCII)
"""``5 = x``. It is searched from the left, and so begins at the start of a text without another equals sign."""

_THOUSANDS_OVER = re.compile(r"^-?[1-9]\d{0,2}(?:,\d{3})+(?= ?/ ?\d)")
_MEMBER_OF = re.compile(r"^[a-zA-Z]\s*\\in\b\s*(?=[(\[\]\\])")
_UNIT = re.compile(r'"[^"\d]*"(?:\s*\^\s*\{?\s*[23]\s*\}?)?')
_QUOTED_FORMULA = re.compile(r'"(?=[^"]*")\s*([^"]*\d[^"]*?)\s*"')
_WORDS = re.compile(r"[^\d\\=+*/^_<>{}|\[\]-]*")
_ALL_QUOTED = re.compile(r'\(?\s*"[^"]*"\s*\)?')
_SPACES = re.compile(r"(\\[a-zA-Z]+|(?<=[0-9])) +(?=[a-zA-Z0-9])| +")


def _unquoted(text: str) -> str:
    return " ".join(text.replace('"', " ").split())


def _compact(text: str) -> str:
    r"""Without degree signs and spaces, except one that ends a command, ``\pi r``, or a number, ``4 2``. A function of
    an angle in degrees is one of so many times pi/180."""
    text = _DEGREES.sub(r"\1\\frac{\2\\pi}{180}", text).replace(r"^\circ", "")
    return _SPACES.sub(lambda space: f"{space[1]} " if space[1] is not None else "", text).strip(".,;:")


_DEGREES = re.compile(
    r"(\\(?:sin|cos|tan|cot|sec|csc) ?(?:\^ ?(?:\{ ?-?\d+ ?\}|\d) ?)?[({]? ?-?)(\d+(?:\.\d+)?) ?\^ ?\\circ(?![a-zA-Z])"
)


def _approximated(theirs: Expression, ours: Expression) -> bool | None:
    r"""``\sqrt{10} \approx 3.16`` is either side, since they are one number rounded; ``82 \approx 3`` is neither."""
    sides = [side for side in _ABOUT.split(ours.written) if side.strip()]
    if len(sides) < 2 or r"\approx" in theirs.written:
        return None
    if len(sides) > 2:
        return False
    numbers = [formula(expression(side).text) for side in sides]
    if numbers[0] is None or (numbers[0].tree[0] == "letter" and sides[0].strip() != r"\pi"):
        return None
    if numbers[1] is None or not nearly_equal(numbers[0], numbers[1]):
        return False
    return any(decide(theirs.written, side) is True for side in sides)


_ABOUT = re.compile(r"\\approx(?![a-zA-Z])")


def _changed(theirs: Expression, ours: Expression) -> bool | None:
    """False for an answer whose words, base, degrees or left side make another value of the number that is in it."""
    if changed_by_words(ours.written, theirs.written):
        return False
    if "_" not in theirs.written and _DIGITS_IN_BASE.match(ours.text):
        return False
    if r"\bmod" not in theirs.written and _NO_MODULUS.search(ours.text):  # sympy would read the number before it
        return False
    # "Compute the sine of 30 degrees" is not answered by saying it again, and the tangent of 1 is not that of 1 degree.
    if _DEGREES.search(ours.written.rpartition("=")[2]) and not _DEGREES.search(theirs.written):
        return False
    if ours.name and (theirs.quantity or not theirs.name) and not _is_name(ours):
        return False
    return None


_NO_MODULUS = re.compile(r"\\bmod(?! ?\d+(?![\d.]))")
_DIGITS_IN_BASE = re.compile(r"-?\d[0-9A-Z.]*_")
_APPLIED = re.compile(r"\\?[a-zA-Z]+'*(?:_\w)?\(.*\)")


def _is_name(ours: Expression) -> bool:
    r"""Whether what stands before the last equals sign may name what stands behind it. ``x``, ``f(2)``, ``AB``, ``x+y``
    and ``\sin x`` may, since they may be what the problem asks for; ``4x`` says something of x, and ``n > 5`` something
    of n; ``2+2`` must be equal to it."""
    name, _, value = ours.text.rpartition("=")
    for part in name.split("="):
        outside = _INSIDE.sub("", _INSIDE.sub("", _FOLLOWS.split(part)[-1]))
        if _RELATION.search(outside) and formula(value) is not None and not is_list(name):
            return False
        read = formula(_modulo(part.replace("%", "/100")))
        if read is None or _APPLIED.fullmatch(part):
            continue
        if not read.letters and same_formula(_modulo(part.replace("%", "/100")), value) is False:
            return False
        if len(read.letters) == 1 and read.tree[0] not in ("letter", "f"):
            return False
    return True


_RELATION = re.compile(r"[<>]|\\(?:le|ge|ne|in)(?![a-zA-Z])")
_INSIDE = re.compile(r"\([^()]*\)|\{[^{}]*\}|\|[^|]*\|")
_FOLLOWS = re.compile(r"\\(?:Rightarrow|implies)(?![a-zA-Z])")
_MODULO = re.compile(r"^\(?(-?\d{1,30}) ?\\bmod ?(\d{1,30})\)?$")


def _modulo(text: str) -> str:
    found = _MODULO.match(text)
    return str(int(found[1]) % int(found[2])) if found and int(found[2]) else text


def _half_an_equation(theirs: Expression, ours: Expression) -> bool | None:
    """False for an answer without an equals sign where the reference is an equation."""
    return False if is_equation(theirs.text) and not ours.name else None


def _same_quantity(theirs: Expression, ours: Expression) -> bool | None:
    if theirs.quantity is None or ours.quantity is None:
        return None
    return False if _are_named_apart(theirs, ours) else ours.quantity.equals(theirs.quantity)


def _are_named_apart(theirs: Expression, ours: Expression) -> bool:
    names = {theirs.name, ours.name}
    return len(names) == 2 and not any("=" in name or not name for name in names)


def _same_text(theirs: Expression, ours: Expression) -> bool | None:
    return True if ours.text and theirs.text == ours.text else None


_CHOICE = re.compile(r"\(?\s*([A-Z])\s*[).:](?!\w).*|\(?\s*([A-Z])\s*\)?", re.DOTALL)
_SMALL_CHOICE = re.compile(r"\(?\s*[a-z]\s*[).]?")
_LETTERS = re.compile(r"\(?\s*[A-Z](?:\s*[, ]\s*[A-Z])+\s*\)?")


def _same_words(theirs: Expression, ours: Expression) -> bool | None:
    if theirs.words is None:
        return False if theirs.quantity and ours.words is not None and not _is_algebra(ours) else None
    choice = _CHOICE.fullmatch(theirs.words)
    if choice:
        chosen = _CHOICE.fullmatch(ours.written.replace('"', ""))
        if (
            chosen is None
            and (theirs.has_text or "(" in theirs.written)
            and _SMALL_CHOICE.fullmatch(_unquoted(ours.written))
        ):
            chosen = _CHOICE.fullmatch(_unquoted(ours.written).upper())
        return (choice[1] or choice[2]) == (chosen[1] or chosen[2]) if chosen else None
    if ours.words is None:
        return None
    letter = _unquoted(theirs.written)
    if len(letter) == 1 and letter == _unquoted(ours.written):
        return True
    if _LETTERS.fullmatch(theirs.words) and _LETTERS.fullmatch(ours.words):
        return sorted(re.findall("[A-Z]", theirs.words)) == sorted(re.findall("[A-Z]", ours.words))
    if len(theirs.words) > 1 and same_words(theirs.words, ours.words):
        return True
    return False if theirs.has_text else None


def _is_algebra(ours: Expression) -> bool:
    """A letter may stand for a number, e for one; a word does not."""
    return not ours.has_text and max(map(len, ours.words.split()), default=0) < 3 if ours.words else False


_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?::|h|时|点|點|बजकर)(?P<minute>\d\d(?::\d\d)?)(?:min|分|मिनट|h|hrs)?(?P<half>[ap]m)?"
)
_NO_CLOCK = re.compile(r'[". ]')


def _same_clock(theirs: Expression, ours: Expression) -> bool | None:
    """A time of day, with or without a.m. and p.m."""
    wanted, given = (_CLOCK.fullmatch(_NO_CLOCK.sub("", side.written).lower()) for side in (theirs, ours))
    if wanted is None or given is None:
        return None
    halves = {wanted["half"], given["half"]}
    same_time = (wanted["hour"], wanted["minute"]) == (given["hour"], given["minute"])
    return same_time and (len(halves) == 1 or None in halves)


_IN_BASE = re.compile(r"([0-9A-Za-z]+)_\{?(\d+)\}?")


def _same_digits(theirs: Expression, ours: Expression) -> bool | None:
    r"""Digits in a base, ``1011_2``: an answer may leave out the base, which the problem names, but not change it."""
    based = _IN_BASE.fullmatch(theirs.text)
    if based is None:
        return None
    answered = _IN_BASE.fullmatch(ours.text)
    return answered.groups() == based.groups() if answered else ours.text == based[1]


def _same_list(theirs: Expression, ours: Expression) -> bool | None:
    wanted, given = _listed(theirs.text, False), _listed(ours.text, True)
    if wanted is None or given is None:
        return None
    if wanted.brackets != given.brackets and {wanted.brackets, given.brackets} != {"", "{}"}:
        return None
    ordered = wanted.brackets not in ("", "{}")
    pairs = [[plain_quantity(item, side.decimal_comma) for item in side.items] for side in (wanted, given)]
    if any(quantity is None for side in pairs for quantity in side):
        return True if wanted.items == given.items else None
    values = [[quantity.value for quantity in side if quantity] for side in pairs]
    if _are_named_apart(theirs, ours):
        return False
    names = [[item.rpartition("=")[0] for item in side.items] for side in (wanted, given)]
    if set(names[0]) == set(names[1]) and "" not in names[0] and len(set(names[0])) == len(names[0]) == len(names[1]):
        return dict(zip(names[0], values[0], strict=True)) == dict(zip(names[1], values[1], strict=True))
    if ordered:
        return values[0] == values[1]
    return True if Counter(values[0]) == Counter(values[1]) else (None if set(values[0]) == set(values[1]) else False)


def _same_union(theirs: Expression, ours: Expression) -> bool | None:
    """Inequalities for a union of intervals."""
    described = union(ours.written) if r"\cup" in theirs.text else None
    return _same_parts(theirs.text, described) if described else None


def _same_algebra(theirs: Expression, ours: Expression) -> bool | None:
    """Formulas, and lists, tuples, intervals and unions of intervals of them, by `algebra`."""
    if theirs.has_text:
        # A word of the reference's, and a formula.
        return False if theirs.words and not ours.has_text and formula(ours.text) and not _is_algebra(ours) else None
    if r"\circ" in theirs.written or r"\circ" in ours.written:
        return None
    wanted, given = theirs.text, ours.text
    if ours.name:
        name, _, given = ours.text.rpartition("=")
        if is_list(name) or r"\approx" in ours.written:
            return None
        if theirs.name and (wanted.count("=") > 1 or wanted.rpartition("=")[0] != name):
            return None
    if theirs.name:
        name, _, wanted = wanted.rpartition("=")
        if is_list(name):
            return None
    return _same_parts(wanted, given)


def _same_parts(wanted: str, given: str) -> bool | None:
    """``same_formula`` of two formulas; of two lists, whether all their items are the same."""
    given = _modulo(given)
    parts = [side.split(r"\cup") for side in (wanted, given)]
    if len(parts[0]) != len(parts[1]):
        return False if formula(wanted) or formula(given) else None
    if len(parts[0]) > 1:
        same = [[_same_parts(a, b) for b in parts[1]] for a in parts[0]]
        return True if all(map(any, same)) and all(map(any, zip(*same, strict=True))) else None
    matrices = [_MATRIX.fullmatch(side) for side in (wanted, given)]
    if any(matrices):
        return _same_matrix(wanted, given, matrices)
    theirs, ours = _listed(wanted, False), _listed(given, True)
    if theirs is None and ours is None:
        return same_formula(wanted, given)
    if theirs is None or ours is None:
        # One number, and several.
        one, several = (wanted, ours) if theirs is None else (given, theirs)
        is_several = several is not None and len(several.items) > 1 and "," not in one and ";" not in one
        return False if is_several and formula(one) is not None else None
    if theirs.brackets != ours.brackets and {theirs.brackets, ours.brackets} != {"", "{}"}:
        return None
    if len(theirs.items) != len(ours.items):
        return None
    same = [[_same_item(a, b) for b in ours.items] for a in theirs.items]
    if theirs.brackets not in ("", "{}"):
        diagonal = [row[i] for i, row in enumerate(same)]
        return True if all(diagonal) else False if False in diagonal else None
    if all(row.count(True) == 1 for row in same) and all(column.count(True) == 1 for column in zip(*same, strict=True)):
        return True
    return False if any(all(one is False for one in row) for row in same) else None


_MATRIX = re.compile(r"\\begin\{[bp]matrix\}(.*)\\end\{[bp]matrix\}", re.DOTALL)


def _same_matrix(wanted: str, given: str, matrices: list[re.Match[str] | None]) -> bool | None:
    theirs, ours = matrices
    if theirs is None or ours is None:
        return False if formula(wanted) or formula(given) else None
    rows = [[row.split("&") for row in side[1].rstrip("\\ ").split(r"\\")] for side in (theirs, ours)]
    if [len(row) for row in rows[0]] != [len(row) for row in rows[1]]:
        return None
    same = [_same_item(a, b) for one, other in zip(*rows, strict=True) for a, b in zip(one, other, strict=True)]
    return True if all(same) else False if False in same else None


def _same_item(wanted: str, given: str) -> bool | None:
    wanted, given = wanted.strip("+ "), given.strip("+ ")
    infinite = [side.replace(" ", "") for side in (wanted, given)]
    if any(r"\infty" in side for side in infinite):
        return infinite[0] == infinite[1]
    theirs, ours = plain_quantity(wanted, False), plain_quantity(given)
    if theirs is not None and ours is not None:
        return ours.equals(theirs)
    return same_formula(wanted, given)


_BRACKETS = {"(": "(", "[": "[", "]": "(", r"\{": "{"}
_CLOSING = {")": ")", "]": "]", "[": ")", r"\}": "}"}
"""Half-open intervals in French: ``]0 ; 1[``."""

_BRACKETED = re.compile(r"(\\\{|[\[(\]])(.*?)(\\\}|[\])\[])", re.DOTALL)
_NESTING = re.compile(r"\\.|[(\[{}\])]|[,;]", re.DOTALL)
_DEPTH = {"(": 1, "[": 1, "{": 1, r"\{": 1, ")": -1, "]": -1, "}": -1, r"\}": -1}


def _listed(text: str, is_answer: bool) -> _List | None:
    """The items of a list, a tuple, an interval or a set; None when ``text`` is none. Items that are separated by
    semicolons may have decimal commas."""
    brackets, inner = "", text
    whole = _BRACKETED.fullmatch(text)
    if whole and _is_one_bracket(text, whole[1], whole[3]):
        brackets, inner = _BRACKETS[whole[1]] + _CLOSING[whole[3]], whole[2]
    depth = 0
    separators: dict[str, list[int]] = {",": [], ";": []}
    for sign in _NESTING.finditer(inner):
        depth += _DEPTH.get(sign[0], 0)
        if depth == 0 and sign[0] in separators:
            separators[sign[0]].append(sign.start())
    semicolons = separators[";"]
    cuts = semicolons or separators[","]
    starts, ends = [0, *(cut + 1 for cut in cuts)], [*cuts, len(inner)]
    items = [inner[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    if brackets in ("", "{}"):
        items = [one for item in items for one in _both_signs(item)]
    if (cuts and not all(items)) or (len(items) == 1 and brackets != "{}"):
        return None
    return _List(brackets, tuple(items), is_answer and bool(semicolons))


def _both_signs(item: str) -> list[str]:
    r"""``1+\sqrt{2}`` and ``1-\sqrt{2}`` for ``1\pm\sqrt{2}``."""
    return [item.replace(r"\pm", sign) for sign in "+-"] if item.count(r"\pm") == 1 and r"\mp" not in item else [item]


def _is_one_bracket(text: str, opening: str, closing: str) -> bool:
    """Whether the bracket at the start closes at the end, not before: ``(1,2)`` does, ``(1,2),(3,4)`` does not."""
    inner = text[len(opening) : -len(closing)]
    depth = 0
    for sign in _NESTING.finditer(inner):
        depth += _DEPTH.get(sign[0], 0)
        if depth < 0:
            return False
    return depth == 0
