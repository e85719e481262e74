"""The natural language of a response: English, Chinese, Spanish, Hindi, French, or none of them.

Only prose counts (``prose.py``), and each run of words only once. The script decides first; within the Latin and the
Devanagari script py3langid (naive Bayes over byte n-grams) chooses among CANDIDATES, helped by function words, because
a solution's sentences are short. It never has only our languages to choose from, or German and Portuguese would become
their nearest neighbour. Numbers below were measured on math solutions written for the purpose, on GSM8K and MATH, on
news sentences in 60 languages and on the Declaration of Human Rights in 500.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from madrl.extras import require
from madrl.grading.languages.prose import MAX_CHARS, prose
from madrl.rollout import Classification, Rollout
from madrl.tasks import LANGUAGES

MIN_SCRIPT_SHARE = 0.6
"""A response is in the script that holds this share of its letters, and else mixed. Of short Hindi and Chinese
solutions with an English last line, 0.6 keeps 97 %, 0.65 93 %, 0.7 87 % (Hindi alone: 96 %, 92 %, 84 %). Of texts in
two scripts, as many sentences of each, they call mixed 78 %, 93 % and 99 %: most of the others do hold more of one."""

MAX_FOREIGN_SHARE = 0.35
"""A response in one script is mixed when more of its letters stand in windows that are clearly in another language.
Half English, half Spanish or French by sentences: 0.35 calls 95 % mixed, 0.4 84 %. Short Spanish and French solutions
with an English last line: 0.35 keeps 96 %, 0.3 91 %. Of 4,000 clean responses one became mixed."""

MIN_WINDOW = 20
MAX_WINDOWS = 16
"""A window is whole sentences of at least so many letters, or of the response's 16th part. Of texts that change
language at every sentence, 83 % are mixed; with windows of at least 40 letters 63 %."""

CLEARLY = 6.0
"""Nats by which a window's best language must be ahead of the response's: 3 calls more clean texts mixed, 12 does not
find fewer mixed ones, so the middle."""

LETTERS_READ = 300
"""The detector reads this much of a response, taken evenly from its windows, and as much again of windows in doubt. Its
time would grow with the length, its accuracy no more."""

CJK_WEIGHT = 3.5
"""Latin letters that one Chinese, Japanese or Korean character stands for: the same solutions took 3.5 times as many in
English as in Chinese."""

MAX_KANA = 0.08
"""A text with a larger share of kana among its Chinese characters is Japanese."""

# py3langid's languages in Latin script that a model may write, or that resemble ours. The RARE ones have small training
# texts and few writers: without a handicap "el número pi" is Venetian and "I forgot" is Naija.
COMMON = "en es fr pt it de nl ca gl ro sv da no pl cs vi id tr tl fi hu"
RARE = "an ext oc lij vec wa la eo ht gcf gcr pcm br eu mt sq lb yo"
DEVANAGARI = "hi mr ne"
RARE_DEVANAGARI = "sa gom"
RARITY = 8.0
"""Nats that a RARE language must be ahead."""

CANDIDATES = {
    "Latin": (
        *((language, language, 0.0) for language in COMMON.split()),
        *((language, language, RARITY) for language in RARE.split()),
        ("ast", "es", 0.0),
        ("hi-Latn", "en", 0.0),
        ("zh-Latn", "en", 0.0),
    ),
    "Devanagari": (
        *((language, language, 0.0) for language in DEVANAGARI.split()),
        *((language, language, RARITY) for language in RARE_DEVANAGARI.split()),
        ("bho", "hi", 0.0),
    ),
}
"""Script -> (language, the language whose score it has in py3langid, its handicap). Asturian, Bhojpuri and romanised
Hindi and Chinese are unknown there: they share the score of what they are taken for, and win by function words."""

PER_WORD = 3.0
"""Nats for each different function word of a language in a text."""

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
    "mr": "आहे आहेत आणि म्हणून होते होता होती किती हे ही हा तो ती ते असेल झाले झाली झाला व नाही त्यामुळे म्हणजे "
    "आता मग मी आपण आपल्याला एकूण बाई चा ची चे च्या ला",
    "ne": "छ छन् हो हुन् र हुन्छ हुन्छन् त्यसैले थियो थिए भने पनि यो त्यो गरेको भएको उनले उनी गर्दा छैन जम्मा ले लाई मा बाट को का की वटा",
    "bho": "बा बाटे बाड़े आउर आउ ओकर ओकरा खातिर होखे होई कइल हवे हइ सकेला सकऽ केहू एह ऊ आ मे के से तऽ",
    "hi-Latn": "hai hain ka ki ke ko mein aur isliye matlab kya nahi nahin toh uttar kul yaani milta milti milte "
    "hota hoti karne karein par se paas lijiye diye gaye jaise bahut aap woh kar raha rahe rahi",
    "zh-Latn": "shi de suoyi yinci ge women ta tamen deng dengyu jia jian cheng daan da'an zong yigong meiyou zai le "
    "qian shouxian yi you san liang shu wo ni zhe na ranhou yinwei",
}
"""Language -> words that it uses in almost every sentence, and the commonest of a solution's own."""

_LATIN = re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ɏ\u0300-\u036fḀ-ỿ']+")
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u30ff\u31f0-\u31ff"
_OTHER_SCRIPTS = (
    re.compile(f"[{_HAN}]+"),
    re.compile(f"[{_KANA}]+"),
    re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+"),  # Hangul
    re.compile("[\u0900-\u097f]+"),  # Devanagari
)
_UNIT = re.compile(f"[{_HAN}{_KANA}]|[^\\s{_HAN}{_KANA}]+")


def classify_language(rollout: Rollout) -> Classification:
    """The language that the response's prose is written in; None, with the reason, when that is another language, a
    mixture, or when there are no words.

    Looks at the response alone, and at no more than its first ``prose.MAX_CHARS`` characters. Equal responses are
    answered from a bounded cache.
    """
    return _classify(rollout.response[:MAX_CHARS])


@lru_cache(maxsize=1024)
def _classify(response: str) -> Classification:
    text = _once(prose(response))
    latin = "\n".join(" ".join(_LATIN.findall(line)) for line in text.split("\n"))
    n_letters, n_latin = _letters(text), _letters(latin)
    if not n_letters:
        return Classification(None, "no words")
    if n_latin == n_letters:
        return _classify_prose(latin.lower(), "Latin")
    han, kana, hangul, devanagari = (sum(map(len, script.findall(text))) for script in _OTHER_SCRIPTS)
    weights = {
        "Latin": n_latin,
        "Devanagari": devanagari,
        "Chinese": CJK_WEIGHT * (han + kana),
        "Korean": CJK_WEIGHT * hangul,
        "other": n_letters - n_latin - devanagari - han - kana - hangul,
    }
    script = max(weights, key=weights.__getitem__)
    if weights[script] < MIN_SCRIPT_SHARE * sum(weights.values()):
        return Classification(None, "mixed")
    if script == "Latin":
        return _classify_prose(latin.lower(), script)
    if script == "Devanagari":
        return _classify_prose(text, script)
    if script == "Chinese":
        japanese = kana > MAX_KANA * (han + kana)
        return Classification(None, "other language: ja") if japanese else Classification("zh")
    return Classification(None, "other language: ko" if script == "Korean" else "other script")


def _classify_prose(text: str, script: str) -> Classification:
    """The language of a text in one script, by the whole of it; mixed, when too many of its windows say otherwise."""
    windows = _windows(text)
    if not windows:
        return Classification(None, "no words")
    extracts = [window[: LETTERS_READ // len(windows)] for window in windows]
    scores = _scores("\n".join(extracts), script)
    language = max(scores, key=scores.__getitem__)
    if language not in LANGUAGES:
        return Classification(None, f"other language: {language}")
    too_many = MAX_FOREIGN_SHARE * sum(map(len, windows))
    unsettled = [i for i, window in enumerate(windows) if not _settled(window, language)]
    if sum(len(windows[i]) for i in unsettled) > too_many:
        foreign = [i for i in unsettled if _foreign(extracts[i], language, script)]
        if sum(len(windows[i]) for i in foreign) > too_many:
            return Classification(None, "mixed")
    return Classification(language)


def _settled(window: str, language: str) -> bool:
    """Whether more of its function words are the language's than any other's: cheaper to find out than its scores."""
    found = _function_words_in(window)
    own = found.pop(language, 0)
    return own > max(found.values(), default=0)


def _foreign(extract: str, language: str, script: str) -> bool:
    scores = _scores(extract, script)
    return max(scores.values()) - scores[language] >= CLEARLY


def _once(text: str) -> str:
    """``text`` with every pair of neighbouring words (in Chinese and Japanese, characters) kept once: ten times
    "respuesta" weighs as much as two."""
    seen: set[tuple[str, str]] = set()
    lines = []
    previous = ""
    for line in text.split("\n"):
        kept = []
        for unit in _UNIT.findall(line):
            if (previous, unit) not in seen:
                seen.add((previous, unit))
                kept.append(unit)
            previous = unit
        if kept:
            lines.append(" ".join(kept))
    return "\n".join(lines)


def _letters(text: str) -> int:
    return len(text) - text.count(" ") - text.count("\n") - text.count("'")


def _windows(text: str) -> list[str]:
    """The lines that hold more than variables, in runs of MIN_WINDOW letters or more, at most MAX_WINDOWS of them."""
    lines = [line for line in text.split("\n") if any(len(word) > 1 for word in line.split())]
    size = max(MIN_WINDOW, sum(map(len, lines)) / MAX_WINDOWS)
    windows = []
    run: list[str] = []
    letters = 0
    for line in lines:
        run.append(line)
        letters += len(line)
        if letters >= size:
            windows.append("\n".join(run))
            run, letters = [], 0
    return [*windows, "\n".join(run)] if run else windows


def _scores(text: str, script: str) -> dict[str, float]:
    """Candidate -> log-probability of the text up to a constant, rarity and function words included."""
    known = dict(_detector().rank(text))
    scores = {language: known[nearest] - handicap for language, nearest, handicap in CANDIDATES[script]}
    for language, count in _function_words_in(text).items():
        if language in scores:
            scores[language] += PER_WORD * count
    return scores


def _function_words_in(text: str) -> Counter[str]:
    """Language -> how many different function words of it are in the text."""
    languages_of = _function_words()
    return Counter(language for word in set(text.split()) for language in languages_of.get(word, ()))


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
    detector.set_languages(f"{COMMON} {RARE} {DEVANAGARI} {RARE_DEVANAGARI}".split())
    return detector
