"""The natural language of a response: one of the declared ones, or none of them.

The categories are py3langid's languages (``known.SCRIPTS``), by their codes. When all that are declared are among the
paper's five (English, Chinese, Spanish, Hindi, French), these are told apart, by what was measured on them.

The reward shall follow the language of the reasoning, as a reader meets it. So every word counts, also in containers
(``prose.py``), every pair of neighbouring words once, and a language must hold nearly two thirds of the letters
twice: of all, and where letters outside the solution's steps weigh little. Half and half is mixed. The script decides
first; within one that several languages use py3langid (naive Bayes over byte n-grams) chooses among the candidates,
word by word, helped by function words, because a solution's sentences are short. It never has only our languages to
choose from, or German and Portuguese would become their nearest neighbour; but within a script it takes more than a
word or two to leave ours. ``tests/redteam`` has the texts that the numbers below were measured on, beside GSM8K and
MATH.

What this does not see: whether the reasoning that a reader meets is the one that found the answer. A whole solution in
the wanted language after another one in English that is much shorter, or told in signs and formulas alone, counts as
the former; so do sentences that reckon with numbers made up for the purpose. A text of one or two words that no
language claims is given to the likeliest of ours. Chinese beside Japanese is Japanese. For other languages than the
five the thresholds are the same and were not measured on solutions; short texts in languages that are close to each
other (Danish and Norwegian, Croatian and Bosnian, Indonesian and Malay) are often taken for one another.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.extras import require
from madrl.grading.languages.known import (
    BY_CHARACTERS,
    FUNCTION_WORDS,
    NEAREST,
    PAPER,
    SCRIPTS,
    Known,
    known_for,
)
from madrl.grading.languages.prose import CJK_WEIGHT, MAX_CHARS, Prose, numbers_in, prose
from madrl.rollout import Classification, Rollout

MAX_FOREIGN = 0.35
"""A response is mixed when another language holds a larger share of its letters: of all of them, or when those that
stand in no step weigh ASIDE. A step is a sentence that reckons, or says a number that is neither the problem's nor said
before. Of 9,300 solutions in one language, none had more than 0.27; of texts with as many sentences in English as in
another language, 2 % had less than 0.35."""

MAX_CONTAINED = 0.5
"""A response with a larger share of its prose in containers is called unusual, whatever its language."""

IN_CONTAINERS = "most of the prose is in containers"
STEPS_DIFFER = "the solution's steps are in another language than the rest"

ASIDE = 0.3
MAX_CLOSING = 40
"""The last sentence weighs ASIDE in both when it is no step and has at most so many characters: it announces the
answer, and models often do that in English."""

CLEARLY = 4.0
"""Nats by which a word and its two neighbours must be likelier in another language than in the response's."""

MAX_KANA = 0.08
"""A text with a larger share of kana among its Chinese characters is Japanese."""

CANTONESE = re.compile("[嘅喺咗唔佢啲嗰冇哋嚟咁嘢噉揾攞畀]|(?<![關聯])係(?!數)")
MAX_CANTONESE = 0.03
"""A text with a larger share of CANTONESE among its characters is written Cantonese, and off-support: it is a language
of its own, with another grammar and other words than written Chinese, which the prompts and data mean by Chinese."""

RARITY = 8.0
"""Nats that a rare language must be ahead."""

OTHER_SCRIPT = "other script"

MARGIN = 7.0
"""Nats that a language which is not ours must be ahead of the likeliest of ours, unless the text has more function
words of it than of any of ours: two nouns decide nothing."""

ENGLISH_FIRST = 2.0
"""Nats that any other language must be ahead of English where that is declared: what could be either, as "Total: 5", is
English, or a policy would earn a wanted category by saying little. Where it is not declared it has no handicap, which
a policy that writes English by itself would get over with a word, but no lead either: short answers in other languages
would be lost to it."""

PER_WORD = 3.0
"""Nats for a function word of a language."""

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u30ff\u31f0-\u31ff"
_SCRIPTS = {
    "Latin": (re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ']+"), 1.0),
    "Chinese": (re.compile(f"[{_HAN}{_KANA}]+"), CJK_WEIGHT),
    "Korean": (re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+"), CJK_WEIGHT),
    "Devanagari": (re.compile("[\u0900-\u097f]+"), 1.0),
}
"""Script -> the words in it, and what one of its letters weighs; others are told by the letters' names. A word in two
scripts is in neither."""

_UNIT = re.compile(f"[{_HAN}{_KANA}]|[^\\s{_HAN}{_KANA}]+")
_KANA_UNIT = re.compile(f"[{_KANA}]")


class _Word(NamedTuple):
    text: str
    script: str
    weight: float
    """Its letters, in Latin ones; less in the announcement of the answer."""
    weight_in_steps: float
    """The same; less where it stands in no step."""


class _Given(NamedTuple):
    """What the problem says already."""

    numbers: frozenset[str]
    names: frozenset[str]
    """Words that it writes with a capital and never without, in lower case, but for English function words."""


_NOTHING_GIVEN = _Given(frozenset(), frozenset())
_CAPITALISED = re.compile(r"(?<![A-Za-z])[A-Z][a-z]+")
_LOWER_CASE = re.compile(r"(?<![A-Za-z])[a-z]+")


class LanguageClassifier:
    """The declared language that a response is in.

    Args:
        categories: the declared languages, by their codes; the paper's five when there are none.

    Raises MadrlError for a code that is not known, with the nearest.
    """

    def __init__(self, *, categories: Sequence[str] = ()) -> None:
        self._known = known_for(tuple(categories))
        self._declared = frozenset(categories or self._known.declared)

    def __call__(self, rollout: Rollout) -> Classification:
        """``classify_language`` among the declared ones."""
        found = classify_language(rollout, self._known)
        if found.category is None or found.category in self._declared:
            return found
        return Classification(None, f"other language: {found.category}", found.unusual)


def classify_language(rollout: Rollout, known: Known = PAPER) -> Classification:
    """The language that the response is written in; None, with the reason, when that is another language, a mixture, or
    when there are no words. IN_CONTAINERS and STEPS_DIFFER are unusual.

    Looks at no more than the response's first ``prose.MAX_CHARS`` characters. Of the problem, which training rows bring
    as ``extra_info["problem"]``, it takes the numbers, as a sentence that says no other gives no step, and the names,
    which a text in another script may keep in Latin letters. Equal responses to one problem are answered from a bounded
    cache.
    """
    problem = rollout.extra_info.get("problem", "")
    given = _given(problem[:MAX_CHARS]) if isinstance(problem, str) else _NOTHING_GIVEN
    return _classify(rollout.response[:MAX_CHARS], given, known)


@lru_cache(maxsize=1024)
def _given(problem: str) -> _Given:
    others = {*_LOWER_CASE.findall(problem)}.union(FUNCTION_WORDS["en"].split())
    names = {word.lower() for word in _CAPITALISED.findall(problem)}
    return _Given(frozenset(numbers_in(problem)), frozenset(names - others))


@lru_cache(maxsize=1024)
def _classify(response: str, given: _Given, known: Known) -> Classification:
    found = prose(response)
    unusual = IN_CONTAINERS if found.contained > MAX_CONTAINED else ""
    words = _words(found, given.numbers, known)
    if not words:
        return Classification(None, "no words")
    not_names = [word for word in words if word.text.removesuffix("'s") not in given.names]
    script = _main_script(not_names or words)
    if script != "Latin":
        words = not_names or words
    own = [word for word in words if word.script == script]
    if script == OTHER_SCRIPT:
        return Classification(None, OTHER_SCRIPT, unusual)
    if script in known.candidates:
        vectors = np.stack([_scores(word.text, script, known) for word in own])
        language = _likeliest(own, vectors, script, known)
    else:
        vectors = None
        language = _by_characters(own, script)
    if language not in known.declared:
        return Classification(None, f"other language: {language}", unusual)
    of_all, of_steps = _foreign(words, vectors, script, language, known)
    if max(of_all, of_steps) <= MAX_FOREIGN:
        return Classification(language, "", unusual)
    return Classification(None, "mixed", unusual or (STEPS_DIFFER if of_all <= MAX_FOREIGN else ""))


def _main_script(words: Sequence[_Word]) -> str:
    """The script that most of the weight is in."""
    weights: dict[str, float] = {}
    for word in words:
        weights[word.script] = weights.get(word.script, 0.0) + word.weight
    return max(weights, key=weights.__getitem__)


def _words(found: Prose, given: frozenset[str], known: Known) -> list[_Word]:
    """The prose's words, in Chinese and Japanese its characters, and every pair of neighbours once: ten times
    "respuesta" weighs as much as two. Lines of single letters are formulas."""
    words = []
    seen: set[tuple[str, str]] = set()
    said = set(given)
    for sentence in found.sentences:
        is_step = sentence.reckons or not said.issuperset(sentence.numbers)
        is_closing = not is_step and sentence is found.sentences[-1] and len(sentence.words) <= MAX_CLOSING
        said.update(sentence.numbers)
        units = _UNIT.findall(sentence.words.lower())
        if all(len(unit) == 1 and unit.isascii() for unit in units):
            continue
        previous = ""
        for unit in units:
            if (previous, unit) not in seen:
                seen.add((previous, unit))
                script, weight = _script(unit)
                if script not in known.candidates and script not in BY_CHARACTERS:
                    script = OTHER_SCRIPT
                in_steps = weight if is_step else ASIDE * weight
                words.append(_Word(unit, script, in_steps if is_closing else weight, in_steps))
            previous = unit
    return words


@lru_cache(maxsize=1 << 16)
def _script(unit: str) -> tuple[str, float]:
    letters = len(unit) - unit.count("'")
    for script, (pattern, weight) in _SCRIPTS.items():
        if pattern.fullmatch(unit):
            return script, weight * letters
    names = {unicodedata.name(character, "").partition(" ")[0].title() for character in unit if character.isalpha()}
    script = names.pop() if len(names) == 1 else OTHER_SCRIPT
    return script if script in SCRIPTS and script not in _SCRIPTS else OTHER_SCRIPT, float(letters)


def _likeliest(words: Sequence[_Word], vectors: NDArray[np.float64], script: str, known: Known) -> str:
    """The candidate that the words are likeliest in."""
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        first.setdefault(word.text, i)
    counts = Counter(word.text for word in words)
    totals = np.log2([1 + counts[text] for text in first]) @ vectors[list(first.values())]
    names = known.candidates[script]
    totals = totals - _handicaps(script, known)
    if script in known.with_function_words:
        marks = Counter(language for text in first for language in _function_words().get(text, ()))
        marks_of_ours = max(marks[language] for language in known.declared)
        for language, count in marks.items():
            if count > marks_of_ours and language in names and language != "en":  # which has no handicap to make up for
                totals[names.index(language)] += MARGIN
    return names[int(totals.argmax())]


@lru_cache
def _handicaps(script: str, known: Known) -> NDArray[np.float64]:
    """The nats that each candidate must be ahead, in a text that has no more of its function words than of ours."""
    ours = {"en": 0.0, **dict.fromkeys(known.declared, 0.0)}
    if "en" in known.declared:
        ours["en"] = -ENGLISH_FIRST
    return np.array([ours.get(name, MARGIN + RARITY * (name in known.rare)) for name in known.candidates[script]])


def _by_characters(words: Sequence[_Word], script: str) -> str:
    """The language, for scripts that say it."""
    if script == "Korean":
        return "ko"
    text = "".join(word.text for word in words)
    if len(_KANA_UNIT.findall(text)) > MAX_KANA * len(text):
        return "ja"
    if len(CANTONESE.findall(text)) > MAX_CANTONESE * len(text):
        return "yue"
    return "zh"


def _foreign(
    words: Sequence[_Word], vectors: NDArray[np.float64] | None, script: str, language: str, known: Known
) -> NDArray[np.float64]:
    """The share of the letters that another language holds: of all, and where those in no step weigh ASIDE."""
    weights = np.array([(word.weight, word.weight_in_steps) for word in words]).T
    is_own = np.array([word.script == script for word in words])
    foreign = weights[:, ~is_own].sum(axis=1)
    if vectors is not None:
        rivals = known.rivals[script]
        alone = vectors[:, [known.candidates[script].index(name) for name in rivals]]
        around = alone.copy()
        around[1:] += alone[:-1]
        around[:-1] += alone[1:]
        ahead = around - around[:, [rivals.index(language)]] > CLEARLY
        foreign += (weights[:, is_own] @ ahead).max(axis=1)
    shares: NDArray[np.float64] = foreign / np.maximum(weights.sum(axis=1), 1.0)
    return shares


@lru_cache(maxsize=1 << 16)
def _scores(word: str, script: str, known: Known) -> NDArray[np.float64]:
    """Log-probabilities of a word for each candidate, up to a constant, with PER_WORD where it is a function word."""
    detector = _detector(known)
    classes = list(zip(detector.nb_classes, detector.nb_pc.tolist(), strict=True))
    prior = dict(reversed(classes))  # a language in two scripts has two classes, and is ranked as the first
    found = dict(detector.rank(f" {word} "))
    functions = _function_words().get(word, ()) if script in known.with_function_words else ()
    if len(set(found.values())) == 1:  # nothing in it is known
        found = prior
    return np.array(
        [
            found[nearest] - prior[nearest] + PER_WORD * (language in functions)
            for language in known.candidates[script]
            for nearest in (NEAREST.get(language, language),)
        ]
    )


@lru_cache(maxsize=1)
def _function_words() -> Mapping[str, tuple[str, ...]]:
    """Word -> the languages whose function word it is."""
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in FUNCTION_WORDS.items():
        for word in words.split():
            languages[word] = (*languages.get(word, ()), language)
    return languages


_loading = threading.Lock()


def _detector(known: Known) -> Any:
    """py3langid's identifier for the candidates."""
    with _loading:  # else each of the first responses, which come in threads of their own, would load one
        return _loaded_detector(known)


@lru_cache
def _loaded_detector(known: Known) -> Any:
    """The same, loaded by the first call, which takes half a second."""
    require("language")
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    detector = LanguageIdentifier.from_model_file(MODEL_FILE)
    detector.set_languages({name for names in known.candidates.values() for name in names} - NEAREST.keys())
    return detector
