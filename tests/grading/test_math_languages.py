r"""Equal answers, written in each language's own ways: which language a response is in must not decide its verdict.

Spanish and French decimals with exactly three digits (``2,125``) are left out: the English reading, 2125, counts.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pytest

from madrl.grading.math_answers.math_answer import verify_math
from madrl.rollout import Rollout, Verdict

DEVANAGARI = str.maketrans("0123456789", "०१२३४५६७८९")
FULL_WIDTH = str.maketrans("0123456789.,%", "０１２３４５６７８９．，％")


def _grouped(number: str, separator: str, first: int = 3, others: int = 3) -> str:
    """The integer part in groups, from the right: the last of ``first`` digits, before it of ``others``."""
    whole, point, decimals = number.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    groups = [digits[-first:]]
    digits = digits[:-first]
    while digits:
        groups.append(digits[-others:])
        digits = digits[:-others]
    return sign + separator.join(reversed(groups)) + point + decimals


def _indian(number: str) -> str:
    return _grouped(number, ",", 3, 2)


def _continental(number: str, separator: str) -> str:
    return _grouped(number, separator).replace(".", ",")


def _spanish(number: str) -> str:
    """1.234,5, and 1 234 where a point alone would be a decimal one."""
    if "." not in number:
        return _grouped(number, " ")
    whole, _, decimals = number.partition(".")
    return f"{_grouped(whole, '.')},{decimals}"


class Ways(NamedTuple):
    numbers: tuple[Callable[[str], str], ...]
    sentences: tuple[str, ...]
    """Of a number, with a unit or not."""
    conjunction: str
    separator: str
    """Of the items of a list."""
    yes_even: tuple[str, str, str]
    """"even", "Monday" and "yes"."""
    unit: str


LANGUAGES = {
    "en": Ways(
        (str, lambda n: _grouped(n, ","), lambda n: _grouped(n, "{,}"), lambda n: _grouped(n, "\\,")),
        ("The answer is {}.", "\\boxed{{{} \\text{{ apples}}}}", "\\boxed{{{} apples}}", "So it is $\\boxed{{\\${}}}$.",
         "#### {}", "The final answer is **{}** dollars."),
        "and", ", ", ("even", "Monday", "yes"), "feet",
    ),
    "zh": Ways(
        (str, lambda n: _grouped(n, ","), lambda n: n.translate(FULL_WIDTH),
         lambda n: _grouped(n, ",").translate(FULL_WIDTH)),
        ("答案是{}。", "\\boxed{{{}\\text{{个苹果}}}}", "\\boxed{{{}个苹果}}", "所以 $\\boxed{{￥{}}}$。",
         "#### {}", "最终答案：**{}**元"),
        "和", "，", ("偶数", "星期一", "是"), "英尺",
    ),
    "es": Ways(
        (str, lambda n: n.replace(".", ","), _spanish, lambda n: _continental(n, "\\,")),
        ("La respuesta es {}.", "\\boxed{{{} \\text{{ manzanas}}}}", "\\boxed{{{} manzanas}}", "Son $\\boxed{{{} €}}$.",
         "#### {}", "La respuesta final es **{}** euros."),
        "y", "; ", ("par", "lunes", "sí"), "pies",
    ),
    "hi": Ways(
        (str, _indian, lambda n: n.translate(DEVANAGARI), lambda n: _indian(n).translate(DEVANAGARI)),
        ("उत्तर {} है।", "\\boxed{{{} \\text{{ सेब}}}}", "\\boxed{{{} रुपये}}", "अतः $\\boxed{{₹{}}}$ है।",
         "#### {}", "अंतिम उत्तर **{}** रुपये है।"),
        "और", ", ", ("सम", "सोमवार", "हाँ"), "फीट",
    ),
    "fr": Ways(
        (str, lambda n: n.replace(".", ","), lambda n: _continental(n, "\u202f"), lambda n: _continental(n, "~")),
        ("La réponse est {}.", "\\boxed{{{} \\text{{ pommes}}}}", "\\boxed{{{} pommes}}", "Donc $\\boxed{{{} €}}$.",
         "#### {}", "La réponse finale est **{}** euros."),
        "et", " ; ", ("pair", "lundi", "oui"), "pieds",
    ),
}  # fmt: skip


def _numbers(rng: random.Random, n: int) -> list[str]:
    """As GSM8K and MATH have them: mostly small integers, some large, some decimals."""
    made = []
    for _ in range(n):
        size = rng.choice((1, 2, 2, 3, 4, 5, 7))
        number = str(rng.randrange(10 ** (size - 1), 10**size))
        decimals = rng.choice(("", "", "", ".5", ".25", ".75", ".4"))
        made.append(rng.choice(("", "", "", "-")) + number + decimals)
    return made


def _wrong(number: str) -> list[str]:
    """Off by one, ten times, a tenth, of the other sign."""
    value = Fraction(number)
    decimals = len(number.partition(".")[2])
    tenth = f"{float(value / 10):.{decimals + 1}f}"
    negative = number[1:] if number.startswith("-") else f"-{number}"
    one_more = f"{float(value + 1):.{decimals}f}"
    tenfold = f"{float(value * 10):.{max(0, decimals - 1)}f}"
    # Three decimals could be read as thousands: another question.
    return [n for n in (one_more, tenfold, tenth, negative) if len(n.partition(".")[2]) != 3]


def _written(language: str, number: str, i: int) -> str:
    ways = LANGUAGES[language]
    return ways.sentences[i % len(ways.sentences)].format(ways.numbers[i % len(ways.numbers)](number))


async def _correct(pairs: list[tuple[str, str]]) -> list[bool]:
    """Of references and responses."""
    done = await asyncio.gather(*(verify_math(Rollout(response, reference)) for reference, response in pairs))
    assert all(verification.verdict is not Verdict.UNGRADED for verification in done)
    return [verification.verdict is Verdict.CORRECT for verification in done]


async def test_recall_on_numbers_is_the_same_in_every_language_and_nothing_wrong_is_accepted() -> None:
    recall: dict[str, float] = {}
    for language in LANGUAGES:
        rng = random.Random(0)
        pairs, wrong = [], []
        for i, number in enumerate(_numbers(rng, 600)):
            pairs.append((number, _written(language, number, rng.randrange(24))))
            wrong += [(number, _written(language, other, i + k)) for k, other in enumerate(_wrong(number))]
        recall[language] = sum(await _correct(pairs)) / len(pairs)
        accepted = [pair for pair, correct in zip(wrong, await _correct(wrong), strict=True) if correct]
        assert accepted == []
    assert max(recall.values()) - min(recall.values()) < 0.005, recall
    assert min(recall.values()) > 0.995, recall


@pytest.mark.parametrize("language", LANGUAGES)
async def test_formulas_lists_and_words_are_accepted_in_every_language(language: str) -> None:
    ways = LANGUAGES[language]
    digits = ways.numbers[2] if language in ("zh", "hi") else str
    pairs = defaultdict(list)
    for a, b in ((2, 3), (5, 7), (11, 12)):
        x, y = digits(str(a)), digits(str(b))
        pairs[f"{a}\\sqrt{{{b}}}"] = [
            f"\\boxed{{{x}\\sqrt{{{y}}}\\text{{ {ways.unit}}}}}",
            f"\\boxed{{{x}\\sqrt{y} \\text{{ {ways.unit}}}^2}}",
        ]
        pairs[f"{a},{b}"] = [f"\\boxed{{{x}{ways.separator}{y}}}", f"\\boxed{{{x} \\text{{ {ways.conjunction} }} {y}}}"]
        pairs[f"({a},{b})"] = [f"\\boxed{{({x}{ways.separator}{y})}}"]
        pairs[f"\\frac{{{a}}}{{{b}}}"] = [
            f"\\boxed{{\\frac{{{x}}}{{{y}}}}}",
            f"\\boxed{{{x}/{y}}}",
            f"\\boxed{{\\dfrac{{{x}}}{{{y}}} \\text{{ {ways.unit}}}}}",
        ]
        pairs[f"{a}\\%"] = [f"\\boxed{{{x}\\%}}", f"\\boxed{{{x} %}}"]
    for reference, word in zip(("\\text{even}", "\\text{Monday}", "\\text{yes}"), ways.yes_even, strict=True):
        pairs[reference] = [f"\\boxed{{\\text{{{word}}}}}", f"\\boxed{{{word}}}"]
    cases = [(reference, response) for reference, responses in pairs.items() for response in responses]
    rejected = [pair for pair, correct in zip(cases, await _correct(cases), strict=True) if not correct]
    assert rejected == []
