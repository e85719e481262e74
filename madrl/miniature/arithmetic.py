"""GSM8K's and MATH's miniature: addition and subtraction in one or two steps, worked in five languages.

``gsm8k`` asks in words, ``math`` in formulas. Operands are small, since a tiny model learns sums by heart; what it is
trained on and what it is evaluated on share no problem.
"""

import random
import zlib
from typing import NamedTuple

from madrl.tasks import LANGUAGES

LARGEST = 20
"""Operands are 2 to LARGEST."""

NAMES = ("Tom", "Anna", "Ben", "Lucy", "Sam", "Maya", "Omar", "Nina")

THINGS = {
    "apples": ("apples", "个苹果", "manzanas", "सेब", "pommes"),
    "books": ("books", "本书", "libros", "किताबें", "livres"),
    "coins": ("coins", "枚硬币", "monedas", "सिक्के", "pièces"),
    "pens": ("pens", "支笔", "plumas", "कलम", "stylos"),
    "cards": ("cards", "张卡片", "cartas", "कार्ड", "cartes"),
    "balls": ("balls", "个球", "pelotas", "गेंदें", "balles"),
}
"""In English, and in LANGUAGES."""

VERBS = {
    "+": ("gets {b} more", "buys {b} more", "finds {b} more"),
    "-": ("loses {b}", "gives away {b}", "sells {b}"),
}

QUESTIONS = ("How many {thing} does {name} have now?", "How many {thing} does {name} have in the end?")

FORMULAS = ("Compute ${formula}$.", "Evaluate ${formula}$.", "What is ${formula}$?", "Find the value of ${formula}$.")

# One step and two steps, {s} and {t} their equations; several wordings, each long enough to tell its language by.
_ONE_STEP = {
    "en": ("We have to compute {s}.", "The calculation that we need is {s}."),
    "zh": ("我们需要计算 {s}。", "这里要做的计算是 {s}。"),
    "es": ("Tenemos que calcular {s}.", "La cuenta que necesitamos es {s}."),
    "hi": ("हमें यह गणना करनी है: {s}।", "यहाँ हम जोड़ या घटाव करते हैं: {s}।"),
    "fr": ("Nous devons calculer {s}.", "Le calcul dont nous avons besoin est {s}."),
}
_TWO_STEPS = {
    "en": ("First we compute {s}. After that we compute {t}.", "In the beginning we get {s}, and then we get {t}."),
    "zh": ("首先我们计算 {s}。然后我们再计算 {t}。", "第一步得到 {s},第二步得到 {t}。"),
    "es": ("Primero calculamos {s}. Después calculamos {t}.", "Al principio tenemos {s}, y luego tenemos {t}."),
    "hi": ("पहले हम गणना करते हैं {s}। उसके बाद हम करते हैं {t}।", "शुरू में हमें मिलता है {s}, और फिर मिलता है {t}।"),
    "fr": (
        "D'abord nous calculons {s}. Ensuite nous calculons {t}.",
        "Au début nous avons {s}, et puis nous avons {t}.",
    ),
}
_ANSWER = {
    "en": ("So the answer is {box}.", "Therefore there are {box} {thing} in the end."),
    "zh": ("所以答案是 {box}。", "因此最后有 {box} {thing}。"),
    "es": ("Por lo tanto, la respuesta es {box}.", "Así que al final hay {box} {thing}."),
    "hi": ("इसलिए उत्तर {box} है।", "अतः अंत में {box} {thing} हैं।"),
    "fr": ("La réponse est donc {box}.", "Il y a donc {box} {thing} à la fin."),
}


class ArithmeticProblem(NamedTuple):
    """One problem: ``first op second``, and in a problem of two steps ``op2 third``."""

    style: str
    """``gsm8k`` or ``math``."""
    text: str
    thing: str
    """A key of THINGS; the empty string under ``math``."""
    terms: tuple[int, ...]
    operations: tuple[str, ...]
    """``+`` or ``-`` between the terms."""

    @property
    def values(self) -> list[int]:
        """The first term and what each step leaves."""
        values = [self.terms[0]]
        for operation, term in zip(self.operations, self.terms[1:], strict=True):
            values.append(values[-1] + term if operation == "+" else values[-1] - term)
        return values

    @property
    def answer(self) -> int:
        """What the last step leaves; never negative."""
        return self.values[-1]


def split_of(made: ArithmeticProblem) -> str:
    """The one split that a calculation belongs to, in whatever words: an eighth each is held out."""
    bucket = zlib.crc32(f"{list(made.terms)} {list(made.operations)}".encode()) % 8
    return {0: "holdout", 1: "validation", 2: "selection"}.get(bucket, "train")


def problem(style: str, rng: random.Random) -> ArithmeticProblem:
    """A problem of one or two steps, half and half, whose values are never negative."""
    while True:
        steps = rng.choice((1, 2))
        terms = tuple(rng.randint(2, LARGEST) for _ in range(steps + 1))
        operations = tuple(rng.choice("+-") for _ in range(steps))
        thing = rng.choice(list(THINGS)) if style == "gsm8k" else ""
        made = ArithmeticProblem(style, "", thing, terms, operations)
        if min(made.values) >= 0:
            return made._replace(text=_in_words(made, rng) if style == "gsm8k" else _as_formula(made, rng))


def _in_words(made: ArithmeticProblem, rng: random.Random) -> str:
    name = rng.choice(NAMES)
    sentences = [f"{name} has {made.terms[0]} {made.thing}."]
    for i, (operation, term) in enumerate(zip(made.operations, made.terms[1:], strict=True)):
        verb = rng.choice(VERBS[operation]).format(b=term)
        sentences.append(f"{'Then ' if i else ''}{name} {verb} {made.thing}.")
    sentences.append(rng.choice(QUESTIONS).format(thing=made.thing, name=name))
    return " ".join(sentences)


def _as_formula(made: ArithmeticProblem, rng: random.Random) -> str:
    formula = str(made.terms[0])
    for operation, term in zip(made.operations, made.terms[1:], strict=True):
        formula += f" {operation} {term}"
    return rng.choice(FORMULAS).format(formula=formula)


def solution(made: ArithmeticProblem, language: str, rng: random.Random) -> str:
    """A worked solution in ``language`` that ends in the boxed answer, in one of several wordings."""
    values = made.values
    equations = [
        f"{before} {operation} {term} = {after}"
        for before, operation, term, after in zip(values, made.operations, made.terms[1:], values[1:], strict=False)
    ]
    if made.style == "math":
        equations = [f"${equation}$" for equation in equations]
    wordings = _ONE_STEP[language] if len(equations) == 1 else _TWO_STEPS[language]
    worked = rng.choice(wordings).format(s=equations[0], t=equations[-1])
    answers = _ANSWER[language] if made.thing else _ANSWER[language][:1]
    thing = THINGS[made.thing][LANGUAGES.index(language)] if made.thing else ""
    answer = rng.choice(answers).format(box=f"\\boxed{{{made.answer}}}", thing=thing)
    return f"{worked}{'' if language == 'zh' else ' '}{answer}"
