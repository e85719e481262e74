"""The natural language of a response: English, Chinese, Spanish, Hindi, French, or none of them.

The reward shall follow the language of the reasoning, as a reader meets it. So every word counts, also in containers
(``prose.py``), every pair of neighbouring words once, and a language must hold nearly two thirds of the letters
twice: of all, and where letters outside the solution's steps weigh little. Half and half is mixed. The script decides
first; within the Latin and the Devanagari script py3langid (naive Bayes over byte n-grams) chooses among CANDIDATES,
word by word, helped by function words, because a solution's sentences are short. It never has only our languages to
choose from, or German and Portuguese would become their nearest neighbour; but within a script it takes more than a
word or two to leave ours. ``tests/redteam`` has the texts that the numbers below were measured on, beside GSM8K and
MATH.

What this does not see: whether the reasoning that a reader meets is the one that found the answer. A whole solution in
the wanted language after another one in English that is much shorter, or told in signs and formulas alone, counts as
the former; so do sentences that reckon with numbers made up for the purpose. A text of one or two words that no
language claims is given to the likeliest of ours.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.extras import require
from madrl.grading.languages.prose import MAX_CHARS, Prose, numbers_in, prose
from madrl.rollout import Classification, Rollout
from madrl.tasks import LANGUAGES

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

CJK_WEIGHT = 3.5
"""Latin letters that one Chinese, Japanese or Korean character stands for: the same solutions took 3.5 times as many in
English as in Chinese."""

MAX_KANA = 0.08
"""A text with a larger share of kana among its Chinese characters is Japanese."""

CANTONESE = re.compile("[嘅喺咗唔佢啲嗰冇哋嚟咁嘢噉揾攞畀]|(?<![關聯])係(?!數)")
MAX_CANTONESE = 0.03
"""A text with a larger share of CANTONESE among its characters is written Cantonese, and off-support: it is a language
of its own, with another grammar and other words than written Chinese, which the prompts and data mean by Chinese."""

# py3langid's languages in Latin script that a model may write, or that resemble ours. The RARE ones have small training
# texts and few writers: without a handicap "el número pi" is Venetian and "I forgot" is Naija.
COMMON = "en es fr pt it de nl ca gl ro sv da no pl cs vi id tr tl fi hu"
RARE_LATIN = "an ext oc lij vec wa la eo ht gcf gcr pcm br eu mt sq lb yo cy ga"
DEVANAGARI = "hi mr ne"
RARE_DEVANAGARI = "sa gom"
RARE = frozenset((*RARE_LATIN.split(), *RARE_DEVANAGARI.split()))
RARITY = 8.0
"""Nats that a RARE language must be ahead."""

MARGIN = 7.0
"""Nats that a language which is not ours must be ahead of the likeliest of ours, unless the text has more function
words of it than of any of ours: two nouns decide nothing."""

ENGLISH_FIRST = 2.0
"""Nats that any other language must be ahead of English: what could be either, as "Total: 5", is English, or a policy
would earn a wanted category by saying little."""

CANDIDATES = {
    "Latin": (*COMMON.split(), *RARE_LATIN.split(), "ast", "hmn", "hi-Latn", "zh-Latn"),
    "Devanagari": (*DEVANAGARI.split(), *RARE_DEVANAGARI.split(), "bho"),
}
NEAREST = {"ast": "es", "bho": "hi", "hmn": "en", "hi-Latn": "en", "zh-Latn": "en"}
"""Language that py3langid does not know -> the one that it is taken for. It has that one's score, and wins by function
words."""

PER_WORD = 3.0
"""Nats for a function word of a language."""

FUNCTION_WORDS = {
    "en": "the of and is are was were in to that we so then since thus therefore each which this these has have "
    "with for by from his her she he they it its answer how many find first now gives get let at on be as "
    "if there cost what who you my your us would will can not but or all both where when",
    "es": "el los las del y es son en un una por lo tanto entonces luego cada este esta tiene tienen con su sus "
    "al como se la de que más hay paso respuesta primero ahora obtenemos número sea si le les ella él mi "
    "tu está cuando porque sobre pero muy desde hasta nos o no para eso donde",
    "fr": "le les des du et est sont dans un une par donc alors chaque cette ce il elle elles ils avec pour son "
    "sa ses aux on nous se la de que plus réponse d'abord maintenant obtient obtenons nombre soit si qui "
    "ne pas sur reste en au à a fait car mais ou où c'est qu'il y",
    "pt": "o os as do da dos das e é são que em um uma por portanto então cada este esta isso tem têm com para "
    "seu sua ao no na nos nas como se de mais há resposta primeiro agora obtemos número não mas ou pelo "
    "pela",
    "it": "il lo gli i le di del della dei delle e è sono che un una per quindi allora ogni questo questa ha "
    "hanno con suo sua al si la più risposta numero ora non da dal ma nel nella ci se in",
    "ca": "el els les del dels i és són que en un una per doncs cada aquest aquesta té tenen amb seu seva al "
    "als com es de la més resposta nombre ara obtenim sigui si no però",
    "gl": "o os as do da dos das e é son que en un unha por polo tanto entón cada este esta ten teñen con para "
    "seu súa ao no na nos nas como se de máis hai resposta agora obtemos non pero",
    "de": "der die das und ist sind in zu dass wir also dann da jeder dieser hat haben mit für von aus sein ihr "
    "sie er es antwort insgesamt zahl nun ein eine einen den dem nicht auf im",
    "nl": "de het een en is zijn van in dat we dus dan elke deze heeft hebben met voor door uit haar hij ze "
    "antwoord totaal getal nu op te niet aan er",
    "ast": "ye ñun nun unu pa los les del la y toa toos tou otru otros tien tienen entós rempuesta ensin nin "
    "dalgún cualaquier drechu esti como que en con cada",
    "hi": "है हैं था थे थी का की के को में से ने और इसलिए अतः यह वह कि गया गई गए होता होती होते होगा होगी हुआ "
    "हुई हुए करें करने करते लिए पर यदि तो नहीं हम हमें यानी उसके उसने इस उस बहुत क्या आप सकता जो",
    "mr": "आहे आहेत आणि म्हणून होते होता होती किती हे ही हा तो ती ते असेल झाले झाली झाला नाही त्यामुळे म्हणजे "
    "आता मग आपण आपल्याला एकूण बाई चा ची चे च्या ला",
    "ne": "छ छन् हो हुन् र हुन्छ हुन्छन् त्यसैले थियो थिए भने पनि यो त्यो गरेको भएको उनले उनी गर्दा छैन जम्मा ले लाई मा बाट को का की वटा",
    "bho": "बा बाटे बाड़े आउर आउ ओकर ओकरा खातिर होखे होई कइल हवे हइ सकेला सकऽ केहू एह ऊ आ मे के से तऽ",
    "hmn": "cov lub yog tus nws yuav ntawm muaj thiab rau los peb hauv tau lawv ib tsis nyob raug qhov ua li tag "
    "nrho uas teb saum kuj",
    "hi-Latn": "hai hain ka ki ke ko mein aur isliye matlab kya nahi nahin toh uttar kul yaani milta milti milte "
    "hota hoti karne karein par se paas lijiye diye gaye jaise bahut aap woh kar raha rahe rahi",
    "zh-Latn": "shi de suoyi yinci ge women ta tamen deng dengyu jia jian cheng daan da'an zong yigong meiyou zai le "
    "qian shouxian yi you san liang shu wo ni zhe na ranhou yinwei",
}
"""Language -> words that it uses in almost every sentence, and the commonest of a solution's own."""

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u30ff\u31f0-\u31ff"
_SCRIPTS = {
    "Latin": (re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ']+"), 1.0),
    "Chinese": (re.compile(f"[{_HAN}{_KANA}]+"), CJK_WEIGHT),
    "Korean": (re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+"), CJK_WEIGHT),
    "Devanagari": (re.compile("[\u0900-\u097f]+"), 1.0),
}
"""Script -> the words in it, and what one of its letters weighs. A word in two scripts is in neither."""

_UNIT = re.compile(f"[{_HAN}{_KANA}]|[^\\s{_HAN}{_KANA}]+")
_KANA_UNIT = re.compile(f"[{_KANA}]")


class _Word(NamedTuple):
    text: str
    script: str
    weight: float
    """Its letters, in Latin ones; less in the announcement of the answer."""
    weight_in_steps: float
    """The same; less where it stands in no step."""


def classify_language(rollout: Rollout) -> Classification:
    """The language that the response is written in; None, with the reason, when that is another language, a mixture, or
    when there are no words. IN_CONTAINERS and STEPS_DIFFER are unusual.

    Looks at no more than the response's first ``prose.MAX_CHARS`` characters. Of the problem, which training rows bring
    as ``extra_info["problem"]``, it takes the numbers: a sentence that says no other gives no step. Equal responses to
    one problem are answered from a bounded cache.
    """
    problem = rollout.extra_info.get("problem", "")
    given = frozenset(numbers_in(problem[:MAX_CHARS])) if isinstance(problem, str) else frozenset()
    return _classify(rollout.response[:MAX_CHARS], given)


@lru_cache(maxsize=1024)
def _classify(response: str, given: frozenset[str]) -> Classification:
    found = prose(response)
    unusual = IN_CONTAINERS if found.contained > MAX_CONTAINED else ""
    words = _words(found, given)
    weights: dict[str, float] = {}
    for word in words:
        weights[word.script] = weights.get(word.script, 0.0) + word.weight
    if not words:
        return Classification(None, "no words")
    script = max(weights, key=weights.__getitem__)
    own = [word for word in words if word.script == script]
    if script in CANDIDATES:
        vectors = np.stack([_scores(word.text, script) for word in own])
        language = _likeliest(own, vectors, script)
    else:
        vectors = None
        language = _by_characters(own, script)
    if language not in LANGUAGES:
        return Classification(None, language, unusual)
    of_all, of_steps = _foreign(words, vectors, script, language)
    if max(of_all, of_steps) <= MAX_FOREIGN:
        return Classification(language, "", unusual)
    return Classification(None, "mixed", unusual or (STEPS_DIFFER if of_all <= MAX_FOREIGN else ""))


def _words(found: Prose, given: frozenset[str]) -> list[_Word]:
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
    return "other", float(letters)


def _likeliest(words: Sequence[_Word], vectors: NDArray[np.float64], script: str) -> str:
    """One of LANGUAGES, or why it is none of them."""
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        first.setdefault(word.text, i)
    counts = Counter(word.text for word in words)
    totals = np.log2([1 + counts[text] for text in first]) @ vectors[list(first.values())]
    names = CANDIDATES[script]
    marks = Counter(language for text in first for language in _function_words().get(text, ()))
    marks_of_ours = max(marks[language] for language in LANGUAGES)
    totals = totals - _handicaps(script)
    for language, count in marks.items():
        if count > marks_of_ours and language in names:
            totals[names.index(language)] += MARGIN
    language = names[int(totals.argmax())]
    return language if language in LANGUAGES else f"other language: {language}"


@lru_cache
def _handicaps(script: str) -> NDArray[np.float64]:
    """The nats that each candidate must be ahead, in a text that has no more of its function words than of ours."""
    return np.array(
        [
            -ENGLISH_FIRST * (name == "en") if name in LANGUAGES else MARGIN + RARITY * (name in RARE)
            for name in CANDIDATES[script]
        ]
    )


def _by_characters(words: Sequence[_Word], script: str) -> str:
    """One of LANGUAGES, or why it is none of them, for scripts that say it."""
    if script != "Chinese":
        return "other language: ko" if script == "Korean" else "other script"
    text = "".join(word.text for word in words)
    if len(_KANA_UNIT.findall(text)) > MAX_KANA * len(text):
        return "other language: ja"
    if len(CANTONESE.findall(text)) > MAX_CANTONESE * len(text):
        return "other language: yue"
    return "zh"


def _foreign(
    words: Sequence[_Word], vectors: NDArray[np.float64] | None, script: str, language: str
) -> NDArray[np.float64]:
    """The share of the letters that another language holds: of all, and where those in no step weigh ASIDE."""
    weights = np.array([(word.weight, word.weight_in_steps) for word in words]).T
    is_own = np.array([word.script == script for word in words])
    foreign = weights[:, ~is_own].sum(axis=1)
    if vectors is not None:
        ours = [name for name in CANDIDATES[script] if name in LANGUAGES]
        alone = vectors[:, [CANDIDATES[script].index(name) for name in ours]]
        around = alone.copy()
        around[1:] += alone[:-1]
        around[:-1] += alone[1:]
        ahead = around - around[:, [ours.index(language)]] > CLEARLY
        foreign += (weights[:, is_own] @ ahead).max(axis=1)
    shares: NDArray[np.float64] = foreign / np.maximum(weights.sum(axis=1), 1.0)
    return shares


@lru_cache(maxsize=1 << 16)
def _scores(word: str, script: str) -> NDArray[np.float64]:
    """Log-probabilities of a word for each candidate, up to a constant, with PER_WORD where it is a function word."""
    detector = _detector()
    prior = dict(zip(detector.nb_classes, detector.nb_pc.tolist(), strict=True))
    known = dict(detector.rank(f" {word} "))
    functions = _function_words().get(word, ())
    if len(set(known.values())) == 1:  # nothing in it is known
        known = prior
    return np.array(
        [
            known[nearest] - prior[nearest] + PER_WORD * (language in functions)
            for language in CANDIDATES[script]
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


@lru_cache(maxsize=1)
def _detector() -> Any:
    """py3langid's identifier for the languages above. Loading takes half a second and is left to the first call."""
    require("language")
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    detector = LanguageIdentifier.from_model_file(MODEL_FILE)
    detector.set_languages(f"{COMMON} {RARE_LATIN} {DEVANAGARI} {RARE_DEVANAGARI}".split())
    return detector
