"""SYNTHETIC: which of the five listed options a response names. Naming any one of them is correct, so that the choice
of category cannot affect correctness.

The category is the option's alphabetical rank, so that one set of five categories serves every topic. Matching goes
by whole words and therefore needs a script that puts spaces between words.
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from madrl.errors import MadrlError
from madrl.grading.normal_form import Characters, normalized
from madrl.rollout import Classification, Rollout, Verification

CHOICE_CATEGORIES = ("rank_1", "rank_2", "rank_3", "rank_4", "rank_5")
"""``rank_1`` is the alphabetically first option; the peaked target excludes ``rank_1`` and ``rank_2``."""


def _folded(character: str, kind: str) -> str | None:
    """Punctuation, symbols, spaces and control characters become a space; accents (U+0300 to U+036F) and invisible
    format characters go."""
    if "\u0300" <= character <= "\u036f" or kind == "Cf":
        return None
    return " " if kind[0] in "PSZC" else character


_FOLD = Characters(_folded)


def fold(text: str) -> str:
    """The words of ``text`` with single spaces between them, compared without case, accents, width or punctuation:
    ``"**Scooby-Doo!**"`` and ``"scooby doo"`` are one."""
    return " ".join(normalized("NFKD", text).casefold().translate(_FOLD).split())


def alphabetical(options: Iterable[str]) -> tuple[str, ...]:
    """The options in category order: alphabetically, whatever their case and accents."""
    return tuple(sorted(options, key=fold))


def choice_ground_truth(options: Iterable[str]) -> str:
    """The ``ground_truth`` of a SYNTHETIC row: the options as a JSON list in category order."""
    return json.dumps(alphabetical(options), ensure_ascii=False)


class ChoiceKey(NamedTuple):
    """A ground truth, ready for matching."""

    options: tuple[str, ...]
    """The listed options in category order."""
    pattern: re.Pattern[str]
    """Finds options in ``f" {fold(response)} "``; its only group is the option as folded."""
    rank: dict[str, int]
    """Folded option -> its place in ``options`` and in CHOICE_CATEGORIES."""


@lru_cache(maxsize=4096)
def choice_key(ground_truth: str) -> ChoiceKey:
    """Parse a ground truth, once per topic.

    Raises MadrlError when it is not a JSON list of as many strings as there are categories, or when two of them
    differ in nothing but case, accents or punctuation.
    """
    try:
        options = json.loads(ground_truth)
    except ValueError:
        options = None
    expected = len(CHOICE_CATEGORIES)
    if not isinstance(options, list) or len(options) != expected or not all(isinstance(o, str) for o in options):
        raise MadrlError(
            f"choice ground_truth {ground_truth!r} is not a JSON list of {expected} strings: "
            "build it with choice_ground_truth(options)"
        )
    rank = {fold(option): i for i, option in enumerate(options)}
    if len(rank) != expected or "" in rank:
        raise MadrlError(f"choice ground_truth {ground_truth!r} has options that read the same, or one without a word")
    # Longest first: where one option starts another ("Saxony", "Saxony-Anhalt"), the longer one is what was named.
    names = "|".join(re.escape(name) for name in sorted(rank, key=len, reverse=True))
    return ChoiceKey(tuple(options), re.compile(f" ({names})(?= )"), rank)


def classify_choice(rollout: Rollout) -> Classification:
    """The category of the one option that the response names, wherever it stands, in whatever case or decoration.

    Options match as whole words, and an option within a longer one ("leopard" in "snow leopard") does not count.
    Off-support, with the reason, when the response names none, or several: listing the options is not choosing.
    Raises MadrlError for a ground truth that choice_key rejects.
    """
    key = choice_key(rollout.ground_truth)
    words = fold(rollout.response)
    if not words:
        return Classification(None, "empty")
    named = set(key.pattern.findall(f" {words} "))
    if not named:
        return Classification(None, "no listed option")
    if len(named) > 1:
        return Classification(None, f"names {len(named)} options")
    return Classification(CHOICE_CATEGORIES[key.rank[named.pop()]])


async def verify_listed_option(rollout: Rollout) -> Verification:
    """CORRECT, with the option as it is spelled in the data, when the response names exactly one; else INCORRECT with
    the classifier's reason. UNGRADED when the ground truth is no list of options: the row is at fault."""
    try:
        found = classify_choice(rollout)
    except MadrlError as error:
        return Verification(None, reason=str(error))
    if found.category is None:
        return Verification(0.0, reason=found.reason)
    option = choice_key(rollout.ground_truth).options[CHOICE_CATEGORIES.index(found.category)]
    return Verification(1.0, answer=option)
