r"""MATH: whether two formulas are equal, in exact arithmetic and in microseconds; None where that does not decide.

A formula in plain notation is read into a tree and evaluated at one point: each letter, and pi, is a random number
of 61
bits that nobody can foresee, integers have their square roots exactly (a value is a sum of rational multiples of roots
of square-free integers), and what is left (the sine of x, a root of x, a logarithm) is one more random number for each
function and each value of its argument.

Which way this is sound: two rational functions of degree d that agree at such a point are equal, but for one chance in
2^61 / d (Schwartz and Zippel), and no rounding happens, so *equal* is no guess. Those that disagree differ, when
nothing
was left over. When something was, the functions may hide an identity (the squares of sine and cosine): then floating
point at positive points decides, and only that they are clearly different; what is close there is left open, and no
approximate agreement ever makes an answer right.

Not covered, and left to `symbolic`: relations, sums over an index, limits, units, other than one meaning of a line.
"""

import cmath
import math
import random
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

MAX_LENGTH = 300
"""The number of characters of a formula that is read."""

MAX_DEPTH = 40
"""Of brackets, fractions and exponents in each other."""

MAX_BITS = 4_000
"""The size of a number that is calculated with."""

MAX_FACTORIAL = 200
"""A larger number's factorial is not calculated."""

MAX_ROOTS = 8
"""The number of roots of which one value may be made."""

MAX_ROOTED = 10**6
"""A number beyond it has no exact root here: no letter's value is below, so that the root of the square of x is
not x."""

_UNPREDICTABLE = random.SystemRandom()

Value = dict[int, Fraction]
"""Square-free integer, negative for imaginary -> the factor of its square root. No factor is zero."""

Tree = tuple[Any, ...]


def _unpredictable() -> Fraction:
    return Fraction(_UNPREDICTABLE.randrange(2**60, 2**61))


class UnreadableError(Exception):
    """This is no formula of the kind that is read here, or it is too large."""


class Formula(NamedTuple):
    """A formula that was read."""

    tree: Tree
    letters: frozenset[str]
    has_decimals: bool


_TOKEN = re.compile(
    r"\s*(?:(?P<number>[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|(?P<command>\\(?:[a-zA-Z]+|[{}]))"
    r"|(?P<sign>[-+*/^_(){}\[\]|!])|(?P<letter>[a-zA-Z]))"
)
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "cot": lambda z: 1 / cmath.tan(z),
    "sec": lambda z: 1 / cmath.cos(z),
    "csc": lambda z: 1 / cmath.sin(z),
    "arcsin": cmath.asin,
    "arccos": cmath.acos,
    "arctan": cmath.atan,
    "ln": cmath.log,
    "abs": abs,
}
_GREEK = {
    f"\\{name}" for name in ("alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "phi", "omega", "rho", "sigma")
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=8192)
def formula(text: str) -> Formula | None:
    """``text``, in plain notation, as a formula; None when it is not of the kind that is read here."""
    try:
        return _Parser(text).formula()
    except UnreadableError:
        return None


def same_formula(reference: str, answer: str) -> bool | None:
    """Whether two formulas in plain notation are equal; None when this module cannot tell."""
    theirs, ours = formula(reference), formula(answer)
    if theirs is None or ours is None:
        return None
    if ours.letters - theirs.letters and re.search(r"(?<![a-zA-Z\\])[a-zA-Z]{2}", answer):
        return None  # perhaps a unit
    names = sorted(theirs.letters | ours.letters)
    point = _Point({name: {1: _unpredictable()} for name in names})
    try:
        equal = point.value(theirs.tree) == point.value(ours.tree)
    except (UnreadableError, ZeroDivisionError):
        return None
    if equal:
        return True
    is_open = bool(point.leftovers) or theirs.has_decimals or ours.has_decimals  # a decimal may be rounded
    return None if is_open and not _clearly_differ(theirs.tree, ours.tree, names) else False


def nearly_equal(one: Formula, other: Formula) -> bool:
    """Whether two formulas without letters but pi and e differ by at most one percent."""
    if (one.letters | other.letters) - {r"\pi", "e"}:
        return False
    try:
        a, b = (_float(each.tree, {r"\pi": math.pi, "e": math.e}) for each in (one, other))
    except (ArithmeticError, ValueError, TypeError):
        return False
    return abs(a - b) <= 0.01 * max(abs(a), abs(b))


class _Parser:
    r"""Reads a formula: sums of products, with ``\frac``, ``\sqrt``, powers and functions. A writing that people take
    in two ways (``1/2x``, ``4 2``) is not read."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise UnreadableError
        self.tokens: list[tuple[str, str]] = []
        end = 0
        text = text.rstrip()
        while end < len(text):
            token = _TOKEN.match(text, end)
            if token is None or token.lastgroup is None:
                raise UnreadableError
            self.tokens.append((token.lastgroup, token[token.lastgroup]))
            end = token.end()
        self.at, self.depth = 0, 0
        self.letters: set[str] = set()
        self.has_decimals = False

    def formula(self) -> Formula:
        tree = self.sum()
        if self.at != len(self.tokens):
            raise UnreadableError
        return Formula(tree, frozenset(self.letters), self.has_decimals)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self, sign: str) -> bool:
        found = self.peek()[1] == sign
        self.at += found
        return found

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise UnreadableError

    def sum(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        minus = self.take("-")
        if not minus:
            self.take("+")
        total = self.product()
        total = ("-", total) if minus else total
        while self.peek()[1] in ("+", "-"):
            minus = self.take("-")
            if not minus:
                self.need("+")
            term = self.product()
            total = ("+", total, ("-", term) if minus else term)
        self.depth -= 1
        return total

    def product(self) -> Tree:
        total = self.power()
        divided = False
        last_kind = self.tokens[self.at - 1][0]
        while True:
            kind, text = self.peek()
            if text in ("*", r"\cdot", r"\times"):
                self.at += 1
                total, divided = ("*", total, self.power()), False
            elif text == "/":
                if divided:
                    raise UnreadableError
                self.at += 1
                total, divided = ("/", total, self.power()), True
            elif kind in ("number", "letter", "command") or text in ("(", "["):
                if text == r"\}" or divided or kind == "number":
                    raise UnreadableError
                mixed = text == r"\frac" and last_kind == "number" and total[0] == "number"
                factor = self.power()
                is_plain = mixed and factor[0] == "/" and factor[1][0] == factor[2][0] == "number"
                total = ("+" if is_plain else "*", total, factor)
                if is_plain and self.peek()[0] != "end" and self.peek()[1] not in ("+", "-", "}", ")"):
                    raise UnreadableError
            else:
                return total
            last_kind = self.tokens[self.at - 1][0]

    def power(self) -> Tree:
        base = self.primary()
        while self.take("!"):
            base = ("!", base)
        if self.take("^"):
            base = ("^", base, self.argument())
            if self.peek()[1] == "!":
                raise UnreadableError
        return base

    def argument(self) -> Tree:
        """What an exponent or a command's argument is: a group, or one sign."""
        if self.take("{"):
            inner = self.sum()
            self.need("}")
            return inner
        kind, text = self.peek()
        if text == r"\frac" or kind in ("number", "letter") or text in (r"\pi", r"\theta"):
            return self.primary()
        raise UnreadableError

    def primary(self) -> Tree:
        kind, text = self.peek()
        self.at += 1
        if kind == "number":
            self.has_decimals |= "." in text
            if self.peek()[1] == "_":
                raise UnreadableError
            return ("number", Fraction(text.replace(",", "")))
        if kind == "letter" or text in _GREEK or text == r"\pi":
            if text in ("f", "g", "h") and self.peek()[1] == "(":
                raise UnreadableError  # a function, of which nothing is known
            return self.letter(text)
        if text in ("(", "[", "{"):
            inner = self.sum()
            self.need(_CLOSING[text])
            return inner
        if text == "|":
            inner = self.sum()
            self.need("|")
            return ("f", "abs", inner)
        if text == r"\frac":
            above = self.argument()
            return ("/", above, self.argument())
        if text == r"\sqrt":
            index: Tree = ("number", Fraction(2))
            if self.take("["):
                index = self.sum()
                self.need("]")
            return ("^", self.argument(), ("/", ("number", Fraction(1)), index))
        if text[:1] == "\\" and text[1:] in _FUNCTIONS:
            return self.function(text[1:])
        raise UnreadableError

    def letter(self, text: str) -> Tree:
        if self.take("_"):
            if self.take("{"):
                kind, index = self.peek()
                self.at += 1
                self.need("}")
            else:
                kind, index = self.peek()
                self.at += 1
            if kind not in ("number", "letter"):
                raise UnreadableError
            text = f"{text}_{index}"
        if text == "i":
            return ("i",)
        self.letters.add(text)
        return ("letter", text)

    def function(self, name: str) -> Tree:
        exponent = self.argument() if self.take("^") else None
        if exponent is not None and exponent[0] != "number":
            raise UnreadableError
        if self.peek()[1] in ("(", "{"):
            argument = self.primary()
            if self.peek()[1] == "^":
                raise UnreadableError
        else:
            argument = self.power()
            while self.peek()[0] == "letter" or self.peek()[1] in _GREEK or self.peek()[1] == r"\pi":
                argument = ("*", argument, self.power())
            if self.peek()[1] == "/":
                raise UnreadableError
        found: Tree = ("f", name, argument)
        return ("^", found, exponent) if exponent is not None else found


class _Point:
    """The value of each letter, and of every function there that has no exact value."""

    def __init__(self, letters: dict[str, Value]) -> None:
        self.letters = letters
        self.leftovers: dict[Any, Value] = {}

    def value(self, tree: Tree) -> Value:
        """Raises UnreadableError when the value is too large, ZeroDivisionError when there is none."""
        kind = tree[0]
        if kind == "number":
            return {1: tree[1]} if tree[1] else {}
        if kind == "letter":
            return self.letters[tree[1]]
        if kind == "i":
            return {-1: Fraction(1)}
        if kind == "f":
            inside = self.value(tree[2])
            if tree[1] == "abs" and not inside.keys() - {1} and abs(inside.get(1, Fraction(0))) < MAX_ROOTED:
                return {root: abs(factor) for root, factor in inside.items()}
            return self.leftover(tree[1], inside)
        one = self.value(tree[1])
        if kind == "-":
            return {root: -factor for root, factor in one.items()}
        if kind == "!":
            whole = _integer(one)
            if not 0 <= whole <= MAX_FACTORIAL:
                raise UnreadableError
            return {1: Fraction(math.factorial(whole))}
        other = self.value(tree[2])
        if kind == "+":
            return _sum(one, other)
        if kind == "*":
            return _product(one, other)
        if kind == "/":
            return _product(one, _inverse(other))
        return self.power(one, other)

    def power(self, base: Value, exponent: Value) -> Value:
        if exponent.keys() - {1} or not base:
            if base or not exponent or exponent.keys() - {1} or exponent[1] < 0:
                return self.leftover("power", base, exponent)
            return {}
        by = exponent.get(1, Fraction(0))
        if by.denominator == 1 and abs(by) < MAX_BITS:
            return _integer_power(base, int(by))
        if by.denominator == 2 and not base.keys() - {1} and abs(by) < 10:
            rooted = _square_root(base[1])
            if rooted is not None:
                return _integer_power(rooted, by.numerator)
        if by.denominator < 10 and abs(by) < 10 and not base.keys() - {1} and base[1] > 0:
            rooted = _exact_root(base[1], by.denominator)
            if rooted is not None:
                return _integer_power(rooted, by.numerator)
        return self.leftover("power", base, exponent)

    def leftover(self, name: str, *arguments: Value) -> Value:
        key = (name, *(frozenset(argument.items()) for argument in arguments))
        if key not in self.leftovers:
            self.leftovers[key] = {1: _unpredictable()}
        return self.leftovers[key]


def _bounded(value: Value) -> Value:
    if len(value) > MAX_ROOTS:
        raise UnreadableError
    for factor in value.values():
        if factor.numerator.bit_length() + factor.denominator.bit_length() > MAX_BITS:
            raise UnreadableError
    return value


def _sum(one: Value, other: Value) -> Value:
    total = {root: one.get(root, Fraction(0)) + other.get(root, Fraction(0)) for root in one.keys() | other.keys()}
    return _bounded({root: factor for root, factor in total.items() if factor})


def _product(one: Value, other: Value) -> Value:
    total: Value = {}
    for a, x in one.items():
        for b, y in other.items():
            shared = math.gcd(a, b)
            root = abs(a * b) // shared**2
            factor = x * y * shared
            if a < 0 and b < 0:
                factor = -factor
            elif a < 0 or b < 0:
                root = -root
            total[root] = total.get(root, Fraction(0)) + factor
    return _bounded({root: factor for root, factor in total.items() if factor})


def _inverse(value: Value) -> Value:
    """Times its conjugates, over their product, which is rational. Raises ZeroDivisionError for zero."""
    if not value.keys() - {1}:
        return {1: 1 / value.get(1, Fraction(0))}
    root = next(root for root in value if root != 1)
    prime = -1 if root < 0 else next(p for p in range(2, root + 1) if root % p == 0)
    conjugate = {r: -x if (r < 0 if prime == -1 else r % prime == 0) else x for r, x in value.items()}
    return _product(conjugate, _inverse(_product(value, conjugate)))


def _integer_power(base: Value, by: int) -> Value:
    if by < 0:
        return _integer_power(_inverse(base), -by)
    bits = sum(factor.numerator.bit_length() + factor.denominator.bit_length() for factor in base.values())
    if bits * by > MAX_BITS and set(base.values()) != {1}:
        raise UnreadableError
    total: Value = {1: Fraction(1)}
    while by:
        if by & 1:
            total = _product(total, base)
        by >>= 1
        if by:
            base = _product(base, base)
    return total


def _square_root(number: Fraction) -> Value | None:
    """None where the integers in it are too large to factor."""
    whole = number.numerator * number.denominator
    if abs(whole) > MAX_ROOTED:
        return None
    outside, inside, prime = 1, abs(whole), 2
    while prime * prime <= inside:
        while inside % prime**2 == 0:
            inside //= prime**2
            outside *= prime
        prime += 1
    return {inside if whole > 0 else -inside: Fraction(outside, number.denominator)}


def _exact_root(number: Fraction, index: int) -> Value | None:
    if max(number.numerator, number.denominator) > MAX_ROOTED:
        return None
    above, below = (round(part ** (1 / index)) for part in (number.numerator, number.denominator))
    return {1: Fraction(above, below)} if Fraction(above, below) ** index == number else None


def _integer(value: Value) -> int:
    number = value.get(1, Fraction(0))
    if value.keys() - {1} or number.denominator != 1:
        raise UnreadableError
    return int(number)


CLEARLY = 1e-6
"""The relative difference in floating point from which two values are different."""


def _clearly_differ(one: Tree, other: Tree, names: list[str]) -> bool:
    """Whether the two differ at each of two positive points."""
    rng = random.Random(0)
    for _ in range(2):
        letters: dict[str, complex] = {name: rng.uniform(0.3, 1.7) for name in names}
        letters |= {r"\pi": math.pi, "e": math.e}
        try:
            a, b = _float(one, letters), _float(other, letters)
            if not abs(a - b) > CLEARLY * max(abs(a), abs(b), 1.0):
                return False
        except (ArithmeticError, ValueError, TypeError):
            return False
    return True


def _float(tree: Tree, letters: dict[str, complex]) -> complex:
    kind = tree[0]
    if kind == "number":
        return complex(tree[1])
    if kind == "letter":
        return letters[tree[1]]
    if kind == "i":
        return 1j
    if kind == "f":
        return _FUNCTIONS[tree[1]](_float(tree[2], letters))
    one = _float(tree[1], letters)
    if kind == "-":
        return -one
    if kind == "!":
        if not 0 <= one.real <= MAX_FACTORIAL:
            raise ValueError
        return complex(math.factorial(int(one.real)))
    other = _float(tree[2], letters)
    if kind == "+":
        return one + other
    if kind == "*":
        return one * other
    if kind == "/":
        return one / other
    if one.imag == 0 and one.real < 0 and other.real % 1:
        raise ValueError  # the cube root of -8 is -2 to most people, and not the complex one
    return one**other
