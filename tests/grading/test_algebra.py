"""Formulas compared at a random point: never equal where they differ, never different where they are equal."""

import cmath
import random

import pytest
import sympy  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from madrl.grading.math_answers import algebra
from madrl.grading.math_answers.algebra import formula, same_formula

X, Y = sympy.symbols("x y")

EXPRESSIONS = st.recursive(
    st.integers(-9, 9).map(sympy.Integer)
    | st.sampled_from([X, Y, sympy.pi, sympy.sqrt(2), sympy.sqrt(3), sympy.Rational(1, 2), sympy.sqrt(X), sympy.I]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(-2, 3)).map(lambda pair: pair[0] ** pair[1] if pair[0] != 0 else pair[0]),
        inner.map(sympy.sin),
    ),
    max_leaves=6,
)
"""Formulas as sympy holds them."""

REWRITES = {
    "as it is": lambda found: found,
    "expanded": sympy.expand,
    "factored": sympy.factor,
    "together": sympy.together,
    "plus one": lambda found: found + 1,
    "negated": lambda found: -found,
    "times a thousand and one thousandths": lambda found: found * sympy.Rational(1001, 1000),
}


def values(expression: sympy.Expr, rng: random.Random) -> list[complex]:
    points = [(rng.uniform(0.3, 2), rng.uniform(0.3, 2)) for _ in range(3)]
    return [complex(expression.subs({X: x, Y: y}).evalf(30)) for x, y in points]


@settings(max_examples=150, deadline=None)
@given(one=EXPRESSIONS, other=EXPRESSIONS, rewrite=st.sampled_from([*REWRITES, "another"]))
def test_a_verdict_is_what_numbers_say(one: sympy.Expr, other: sympy.Expr, rewrite: str) -> None:
    second = other if rewrite == "another" else REWRITES[rewrite](one)
    if one.has(sympy.zoo, sympy.nan, sympy.oo) or second.has(sympy.zoo, sympy.nan, sympy.oo):
        return
    found = same_formula(sympy.latex(one), sympy.latex(second))
    theirs, ours = (values(each, random.Random(7)) for each in (one, second))
    if not all(map(cmath.isfinite, theirs + ours)):
        return
    equal = all(abs(a - b) <= 1e-12 * max(1.0, abs(a), abs(b)) for a, b in zip(theirs, ours, strict=True))
    assert found in (None, equal)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\frac{1}{2}", "0.5"),
        (r"x^2 + 2x + 1", "(x+1)^2"),
        (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"),
        (r"\sqrt{12}", r"2\sqrt{3}"),
        (r"\frac{\sqrt{3} + 1}{\sqrt{3} - 1}", r"2 + \sqrt{3}"),
        (r"2\frac{1}{2}", r"\frac{5}{2}"),
        (r"(1 + i)^2", "2i"),
        (r"8^{\frac{2}{3}}", "4"),
        (r"\sqrt[3]{27}", "3"),
        (r"4!", "24"),
        (r"|{-3}|", "3"),
        (r"3\pi r^2", r"3 r^2 \pi"),
        (r"\sin(2x)", r"\sin(x + x)"),
        (r"x_1 + x_2", "x_2 + x_1"),
    ],
)
def test_two_writings_of_one_formula_are_equal(one: str, other: str) -> None:
    assert same_formula(one, other) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", "4"),
        ("x + 1", "x - 1"),
        (r"\sqrt{2}", "1.414"),
        (r"\pi", r"\frac{22}{7}"),
        (r"\sqrt{x^2}", "-x"),
        (r"\frac{1}{x}", "x"),
        (r"2^{10}", "1025"),
        (r"2\frac{1}{2}", "1"),
        (r"x_1", "x_2"),
        (r"\sin x", r"\cos x"),
        (r"\ln 2", r"\ln 3"),
        ("i", "1"),
        ("2i", "-2i"),
        (r"10^{30}", r"10^{30} + 1"),
    ],
)
def test_two_formulas_are_not_equal(one: str, other: str) -> None:
    assert same_formula(one, other) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\sin^2 x + \cos^2 x", "1"),
        (r"\sqrt{x^2}", "x"),
        (r"(-8)^{\frac{1}{3}}", "-2"),
        (r"e^{i\pi}", "-1"),
        (r"\ln e", "1"),
        (r"\frac{1}{3}", "0.333333333"),
        (r"f(2x)", "2f(x)"),
        (r"\frac{1}{0}", "5"),
        (r"0^0", "1"),
        (r"1/2x", r"\frac{1}{2x}"),
        ("x < 2", "2 > x"),
        (r"\log_2 8", "3"),
    ],
)
def test_what_a_point_does_not_decide_is_left_open(one: str, other: str) -> None:
    assert same_formula(one, other) is None


@pytest.mark.parametrize(
    "text",
    [
        "(" * 140 + "1" + ")" * 140,
        r"\frac{1}{" * 40 + "x" + "}" * 40,
        "9^{9^{9^{9}}}",
        "((((x^{99})^{99})^{99})^{99})",
        "200!" + "*200!" * 50,
        "1000000!",
        "+".join(rf"\sqrt{{{p}}}" for p in (2, 3, 5, 7, 11, 13, 17, 19, 23)),
        "(" + "+".join(rf"\sqrt{{{p}}}" for p in (2, 3, 5)) + ")^{999}",
        r"\sqrt{999983}" + r"\sqrt{999979}" * 20,
        r"\frac{1}{x^{30}+y^{30}}+" * 14 + "1",
        "x" * 301,
    ],
    ids=lambda text: text[:30],
)
def test_no_formula_takes_long(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in bits that products were made of: a million take a hundredth of a second."""
    bits = 0
    product = algebra._product

    def counted(one: algebra.Value, other: algebra.Value) -> algebra.Value:
        nonlocal bits
        factors = [*one.values(), *other.values()]
        size = sum(factor.numerator.bit_length() + factor.denominator.bit_length() for factor in factors)
        bits += len(one) * len(other) * size
        return product(one, other)

    monkeypatch.setattr(algebra, "_product", counted)
    formula.cache_clear()
    same_formula(text, text + "+1")
    assert bits < 20_000_000
