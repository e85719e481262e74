"""The languages that the classifier knows, by script, and words that give them away.

py3langid tells 140 apart. Those in SCRIPTS may be declared: it leaves out Wu, which in Chinese characters looks like
Chinese, and its class for texts in no language.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from madrl.errors import MadrlError
from madrl.tasks import LANGUAGES

# py3langid's languages in Latin script that a model may write, or that resemble ours. The RARE ones have small training
# texts and few writers: without a handicap "el número pi" is Venetian and "I forgot" is Naija.
COMMON = "en es fr pt it de nl ca gl ro sv da no pl cs vi id tr tl fi hu"
RARE_LATIN = "an ext oc lij vec wa la eo ht gcf gcr pcm br eu mt sq lb yo cy ga"
DEVANAGARI = "hi mr ne"
RARE_DEVANAGARI = "sa gom"
RARE = frozenset((*RARE_LATIN.split(), *RARE_DEVANAGARI.split()))

CANDIDATES = {
    "Latin": (*COMMON.split(), *RARE_LATIN.split(), "ast", "hmn", "hi-Latn", "zh-Latn"),
    "Devanagari": (*DEVANAGARI.split(), *RARE_DEVANAGARI.split(), "bho"),
}
NEAREST = {"ast": "es", "bho": "hi", "hmn": "en", "hi-Latn": "en", "zh-Latn": "en"}
"""Language that py3langid does not know -> the one that it is taken for. It has that one's score, and wins by function
words."""

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

SCRIPTS = {
    "Latin": "ace af an az bcl br bs ca crh cs cy da de en eo es et eu ext fi fo fr fuv fy ga gcf gcr gd gl gug guw ha "
    "hr ht hu id ig is it jv kab kik ku la lb lg lij ln lt ltg lv mg ms mt nl nn no nso oc om pcm pl pt qu ro rw se sk "
    "sl sn so sq sr st sv sw tk tl tr uz vec vi vo wa xh yo zu",
    "Chinese": "zh ja yue",
    "Korean": "ko",
    "Devanagari": "hi mr ne sa gom",
    "Cyrillic": "ru uk be bg sr mk kk ky mn tg tt ba uz",
    "Arabic": "ar fa ur ps ug arz ary sdh uzs",
    "Hebrew": "he hbo",
    "Greek": "el grc",
    "Bengali": "bn as",
    "Armenian": "hy", "Ethiopic": "am", "Georgian": "ka", "Gujarati": "gu", "Gurmukhi": "pa", "Kannada": "kn",
    "Khmer": "km", "Lao": "lo", "Malayalam": "ml", "Myanmar": "my", "Oriya": "or", "Sinhala": "si", "Tamil": "ta",
    "Telugu": "te", "Thai": "th", "Tibetan": "dz",
}  # fmt: skip
"""Script, as Unicode's names of its letters begin, but for "Chinese" (with kana) and "Korean" -> py3langid's languages
in it."""

BY_CHARACTERS = ("Chinese", "Korean")
"""The scripts whose characters say the language."""

WIDESPREAD = frozenset(
    f"{COMMON} {DEVANAGARI} ru uk be bg sr mk kk ar fa ur ps he el bn hr bs sk sl lt lv et is af ms sw sq".split()
)
"""The languages that many write, whether they are declared or not."""


@dataclass(frozen=True, eq=False)
class Known:
    """The languages that a response may be in, and those that it must be told from."""

    declared: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]]
    """Script of a declared language, but for BY_CHARACTERS -> the languages that a text in it may be in, declared ones
    first."""
    rivals: Mapping[str, tuple[str, ...]]
    """Script -> those of its candidates that a text may be mixed of."""
    rare: frozenset[str]
    """Those that a text is rarely in, by which a few of its words look like one of theirs."""
    with_function_words: frozenset[str]
    """The scripts in which FUNCTION_WORDS count: where every declared language has some."""


PAPER = Known(
    LANGUAGES,
    CANDIDATES,
    {script: tuple(name for name in names if name in LANGUAGES) for script, names in CANDIDATES.items()},
    RARE,
    frozenset(CANDIDATES),
)
"""The paper's five."""


@lru_cache
def known_for(declared: tuple[str, ...]) -> Known:
    """What to know when ``declared`` are the categories: PAPER when all of them are the paper's. Raises MadrlError for
    what is none of py3langid's languages, with the nearest."""
    codes = {code for script in SCRIPTS.values() for code in script.split()}
    for code in declared:
        if code not in codes:
            nearest = ", ".join(get_close_matches(code.lower(), sorted(codes), n=5, cutoff=0.3)) or "none is like it"
            raise MadrlError(
                f"category {code!r} is no known language (nearest: {nearest}): write ISO 639 codes, as de or yue"
            )
    if set(declared) <= set(LANGUAGES):
        return PAPER
    candidates = {}
    helped = set()
    for script, of_script in SCRIPTS.items():
        own = [code for code in declared if code in of_script.split()]
        if not own or script in BY_CHARACTERS:
            continue
        others = [code for code in of_script.split() if code not in own]
        if script in CANDIDATES and FUNCTION_WORDS.keys() >= set(own):
            helped.add(script)
            others += [code for code in CANDIDATES[script] if code in NEAREST]
        candidates[script] = (*own, *others)
    every = {code for of_script in candidates.values() for code in of_script}
    known = WIDESPREAD.union(declared)
    rivals = {script: tuple(code for code in codes if code in known) for script, codes in candidates.items()}
    return Known(declared, candidates, rivals, frozenset(every - known - NEAREST.keys()), frozenset(helped))
