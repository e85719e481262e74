"""How long a response is, in named buckets: the classifier ``length``.

    classifier: length
    classifier_args: {unit: words, buckets: {short: 20, medium: 100, long: null}}

A **word** is a run of letters, digits and apostrophes with their marks: "don't" and "हिन्दी" are one, "well-known" and
"3.14" two. In a script that puts no spaces between words (Chinese, Japanese kana, Thai, Lao, Khmer, Burmese) every
letter is a word, as word processors count Chinese.

A **sentence** has a word in it and ends at a full stop, a question or exclamation mark, an ellipsis, or at the end of a
line, which is what headings and list items end with. A mark such as ``.`` counts before a space alone, and not before a
small letter ("e.g. this") or behind the number that starts a line ("1. First"); ``。`` and ``।`` count anywhere.
"Dr. Smith" has one end too many.

A **token** is one of the tokenizer that ``tokenizer`` names: that of the trained model, if it shall be the length that
a run's limits count.

What this does not see: words without spaces between them are one, so a policy that is paid for few words may join them;
tokens have no such gap. Where truncation cuts a response off is not looked at.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from madrl.errors import MadrlError
from madrl.grading.named_categories import check_named
from madrl.grading.normal_form import Characters
from madrl.rollout import Classification, Rollout

Unit = Literal["words", "sentences", "tokens"]

SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)
"""Thai, Lao, Burmese, Khmer, kana and Chinese characters."""


def _of_word(character: str, kind: str) -> str | None:
    """Marks and invisible characters go; what is in a word becomes an x, and everything else a space."""
    if kind[0] == "M" or kind == "Cf":
        return None
    if kind[0] not in "LN":
        return "'" if character in "'’" else " "
    return " x " if SPACELESS.match(character) else "x"


_OF_WORD = Characters(_of_word)

_ENDS_ANYWHERE = re.compile("(?<=[。！？｡।॥။។])")
_ENDS_BEFORE_SPACE = frozenset(".!?…؟۔։")
_CLOSING = "\"'”’»)]}*_`~」』）"
_OPENING = "\"'“‘«([{*_`~¿¡"


def count_words(text: str) -> int:
    """The number of words."""
    return sum("x" in run for run in text.translate(_OF_WORD).split())


def count_sentences(text: str) -> int:
    """The number of sentences."""
    return sum(map(_sentences_of_line, _ENDS_ANYWHERE.sub("\n", text).splitlines()))


def _sentences_of_line(line: str) -> int:
    found, has_word = 0, False
    parts = line.split()
    for i, part in enumerate(parts):
        following = parts[i + 1].lstrip(_OPENING) if i + 1 < len(parts) else ""
        is_ordinal = i == 0 and part[:-1].isdigit() and part[-1] in ".)" and bool(following)
        has_word = has_word or (not is_ordinal and count_words(part) > 0)
        if has_word and part.rstrip(_CLOSING)[-1:] in _ENDS_BEFORE_SPACE and not following[:1].islower():
            found, has_word = found + 1, False
    return found + has_word


class LengthClassifier:
    """The bucket that a response's length falls into.

    Args:
        unit: what is counted: ``words``, ``sentences`` or ``tokens``.
        buckets: category -> the largest length in it, from the shortest bucket to the longest. The last one's may be
            None: no limit. A response that is longer than all of them is off-support, and so is one of length 0.
        tokenizer: the name of a Hugging Face tokenizer, or its folder, with ``unit=tokens`` and no other.
        categories: the declared categories, which ``buckets`` must name, each of them and no others.

    Raises MadrlError for arguments that make no sense.
    """

    def __init__(
        self,
        *,
        unit: Unit,
        buckets: Mapping[str, int | None],
        tokenizer: str | None = None,
        categories: Sequence[str] = (),
    ) -> None:
        if unit not in get_args(Unit):
            raise MadrlError(f"unit {unit!r}: use one of {', '.join(get_args(Unit))}")
        if (unit == "tokens") != (tokenizer is not None):
            raise MadrlError(f"tokenizer {tokenizer!r}: name one with unit=tokens, and none with another unit")
        check_named("buckets", _checked(buckets), categories)
        self._unit = unit
        self._buckets = dict(buckets)
        self._tokenizer = tokenizer
        self._count: Callable[[str], int] | None = {"words": count_words, "sentences": count_sentences}.get(unit)
        self._loading = threading.Lock()

    def check_ready(self) -> None:
        """Raises MadrlError when the tokenizer cannot be loaded."""
        self._counter()

    def __call__(self, rollout: Rollout) -> Classification:
        """The bucket; None, with the reason, where there is none."""
        length = self._counter()(rollout.response)
        if length == 0:
            return Classification(None, f"no {self._unit}")
        for category, longest in self._buckets.items():
            if longest is None or length <= longest:
                return Classification(category)
        return Classification(None, "longer than every bucket")

    def _counter(self) -> Callable[[str], int]:
        with self._loading:
            if self._count is None:
                self._count = _token_counter(str(self._tokenizer))
            return self._count


def _checked(buckets: Any) -> Mapping[str, int | None]:
    said = f"buckets {buckets!r}: write {{category: largest length}}, as {{short: 20, long: null}}"
    if not isinstance(buckets, Mapping):
        raise MadrlError(said)
    limits = list(buckets.values())
    bounded = limits[:-1] if limits and limits[-1] is None else limits
    if not all(isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 for limit in bounded):
        raise MadrlError(f"{said}; a length is a whole number above 0, and the last alone may be null")
    if any(later <= earlier for earlier, later in pairwise(bounded)):
        raise MadrlError(f"{said}; each must be above the one before")
    return buckets


def _token_counter(name: str) -> Callable[[str], int]:
    """How many tokens a text has, without those that mark a start or an end."""
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MadrlError('transformers is not installed: pip install "madrl[training]"') from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise MadrlError(
            f"tokenizer {name!r} cannot be loaded ({reason}): name one of the Hugging Face hub, or its folder"
        ) from error
    # A tokenizer refuses a second thread while it is at work.
    busy = threading.Lock()

    def count(text: str) -> int:
        with busy:
            return len(tokenizer.encode(_carried(text), add_special_tokens=False, verbose=False))

    return count


def _carried(text: str) -> str:
    """The text with a question mark for half a surrogate pair, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()
