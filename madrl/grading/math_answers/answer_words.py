"""MATH: answers that are words. The same word in English, Chinese, Spanish, Hindi and French counts as one where words
form a small closed class: yes and no, true and false, even and odd, weekdays, months, directions, none. Other words
(names, colours, "parabola") must be the reference's own, so a language pays there for translating."""

import re
import unicodedata

from madrl.grading.normal_form import normalized

_SAME = """
    yes, 是, 是的, 对, sí, si, हाँ, हां, oui
    no, 否, 不是, 不, नहीं, non
    true, 真, 正确, verdadero, verdadera, cierto, सत्य, सही, vrai, vraie
    false, 假, 错误, falso, falsa, असत्य, गलत, faux, fausse
    even, 偶, 偶数, 偶函数, par, सम, pair, paire, even function, función par, fonction paire, even number,
        número par, nombre pair, सम संख्या
    odd, 奇, 奇数, 奇函数, impar, विषम, impair, impaire, odd function, función impar, fonction impaire, odd number,
        número impar, nombre impair, विषम संख्या
    neither, 都不是, 非奇非偶, ninguno, ninguna, ni par ni impar, कोई नहीं, ni l un ni l autre, aucun, aucune
    monday, 星期一, 周一, 礼拜一, lunes, सोमवार, lundi
    tuesday, 星期二, 周二, 礼拜二, martes, मंगलवार, mardi
    wednesday, 星期三, 周三, 礼拜三, miércoles, बुधवार, mercredi
    thursday, 星期四, 周四, 礼拜四, jueves, गुरुवार, बृहस्पतिवार, jeudi
    friday, 星期五, 周五, 礼拜五, viernes, शुक्रवार, vendredi
    saturday, 星期六, 周六, 礼拜六, sábado, शनिवार, samedi
    sunday, 星期日, 星期天, 周日, 礼拜天, domingo, रविवार, इतवार, dimanche
    january, 一月, 1月, enero, जनवरी, janvier
    february, 二月, 2月, febrero, फरवरी, फ़रवरी, février
    march, 三月, 3月, marzo, मार्च, mars
    april, 四月, 4月, abril, अप्रैल, avril
    may, 五月, 5月, mayo, मई, mai
    june, 六月, 6月, junio, जून, juin
    july, 七月, 7月, julio, जुलाई, juillet
    august, 八月, 8月, agosto, अगस्त, août
    september, 九月, 9月, septiembre, सितंबर, सितम्बर, septembre
    october, 十月, 10月, octubre, अक्टूबर, अक्तूबर, octobre
    november, 十一月, 11月, noviembre, नवंबर, नवम्बर, novembre
    december, 十二月, 12月, diciembre, दिसंबर, दिसम्बर, décembre
    north, 北, 北方, norte, उत्तर, nord
    south, 南, 南方, sur, दक्षिण, sud
    east, 东, 东方, este, पूर्व, पूरब, est
    west, 西, 西方, oeste, पश्चिम, ouest
    none, no solution, no solutions, 无解, 没有解, sin solución, no hay solución, ninguna solución, कोई हल नहीं, हल नहीं,
        pas de solution, aucune solution
"""


def _folded(text: str) -> str:
    """Words with single spaces between them, without case, accents, width or punctuation; Hindi's signs stay."""
    decomposed = normalized("NFKD", text).casefold()
    kept = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    return " ".join(_NO_WORD.sub(" ", kept).split())


_NO_WORD = re.compile(r"[^\w\u0900-\u097f+-]|_")
_CLASS_OF = {
    _folded(word): group[0].strip()
    for line in re.sub(r",\s*\n", ",", _SAME).strip().splitlines()
    for group in [line.split(",")]
    for word in group
}


def same_words(reference: str, answer: str) -> bool:
    """Whether two answers made of words say the same: equal without case, accents and punctuation, or one word of a
    closed class in two languages."""
    reference, answer = _folded(reference), _folded(answer)
    return bool(reference) and _CLASS_OF.get(reference, reference) == _CLASS_OF.get(answer, answer)


_ANYWHERE = r"""
    \b(?:not|isn'?t|never|except|anything\ but|wrong|false|incorrect|impossible|neither|nunca|excepto|falsa
       |falso|incorrecto|jamais
      |sauf|faux|fausse|pas|percent\ of|por\ ciento\ de|pour\ cent\ de|(?:and|y|et)\ (?:a\ |one\ |un\ )?(?:half
       |quarter|third|medio|media|demie?|quart))\b
  | \bno\ (?:es|son|it|\d)\b | (?<!\w)(?:नहीं|मत|गलत|ग़लत)(?!\w) | 不是|并非|错误|不对|除了|进制
"""
"""What denies an answer, or adds to it, wherever it stands."""

_BEFORE = r"""
    \b(?:no|half(?:\ of)?|(?:a|one|two)?\ ?(?:third|quarter)s?\ of|twice|thrice|double|triple|quadruple|minus
       |negative|(?:more|less|fewer|greater)\ than
      |at\ (?:least|most)|over|under|above|below|up\ to|(?:square|cube)\ root\ of|square\ of|cube\ of
       |reciprocal\ of|inverse\ of|opposite\ of
      |mitad\ de|tercio\ de|cuarto\ de|(?:doble|triple|double)\ de|menos|negativo|m[áa]s\ (?:de|que)
       |menos\ (?:de|que)|al\ menos|como\ m[áa]ximo
      |ra[íi]z(?:\ cuadrada)?\ de|opuesto\ de|moiti[ée]\ de|tiers\ de|quart\ de|moins|n[ée]gatif|plus\ (?:de
       |que)|moins\ (?:de|que)
      |au\ (?:moins|plus)|racine\ (?:carr[ée]e\ )?de|oppos[ée]\ de)\s*[-\d\\$]
  | (?<!\w)(?:ऋण|ऋणात्मक|कम\ से\ कम|आधा|आधे|दोगुना|दुगुना)\s*[-\d\\] | (?:负|減|减|至少|至多|超过|大于|小于
       |不超过|两倍|一半)\s*[-\d\\]
"""
"""What makes another number of the one behind it."""

_BEHIND = r"""
    \d[}\s]*(?:squared|cubed|factorial|(?:in\ |to\ )?base|gross|score|en\ base|al\ cuadrado|al\ cubo
       |au\ carr[ée]|au\ cube|factorielle
      |times\ \d|veces\ \d|fois\ \d|or\ (?:more|less|fewer)|ou\ (?:plus|moins)|o\ (?:m[áa]s|menos)|au\ (?:moins
       |plus))\b
  | \d[}\s]*(?:का|की|के)\ (?:आधा|आधी|दोगुना|दुगुना|तिहाई|चौथाई|वर्गमूल|वर्ग|घन)(?!\w) | \d[}\s]*(?:से\ (?:अधिक
       |कम|ज़्यादा|ज्यादा)|गुना|आधार)(?!\w)
  | \d[}\s]*(?:的(?:一半|两倍|平方|立方|倒数|[一二三四五六七八九十百]+(?:倍|分之)|平方根)|倍|以上|以下|多|余)
"""
"""What makes another number of the one before it."""

_CHANGING = re.compile(rf"{_ANYWHERE} | {_BEFORE} | {_BEHIND}", re.VERBOSE)


def changed_by_words(answer: str, reference: str) -> bool:
    """Whether words that the reference lacks make another number of the one in ``answer``, both in plain notation: "not
    3", "half of 3", "3 and a half", "3 squared", "at least 3", in five languages. "3 pairs" is 3 of a unit."""
    if not any(character.isdigit() for character in answer):
        return False
    wanted = _as_said(reference)
    return any(found[0].strip("0123456789}-\\$ ") not in wanted for found in _CHANGING.finditer(_as_said(answer)))


def _as_said(text: str) -> str:
    return " ".join(text.lower().replace('"', " ").split())
