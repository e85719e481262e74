r"""A category for each regular expression: the classifier ``regex``.

    classifier: regex
    classifier_args:
      patterns: {refuses: '(?i)\b(I cannot|I can''t|I won''t)\b', complies: '(?i)\b(sure|of course|here is)\b'}
      match: first

The expressions are RE2's, as pyarrow has it: it takes time linear in the response's length for every expression and
every text, so that no response can stall a worker, and there is no time limit that a policy could learn to run into.
What needs backtracking is therefore refused: lookahead, lookbehind and backreferences. ``\w``, ``\d`` and ``\b`` know
ASCII only; ``\pL`` is any letter, ``\p{Devanagari}`` one script's. ``(?i)`` ignores case, ``(?m)`` lets ``^`` and ``$``
match at line ends, ``(?s)`` lets ``.`` match them.

What this does not see: what the words mean. A response that says the words of one category and does the contrary is in
that category, and a policy will find this out.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from madrl.errors import MadrlError
from madrl.grading.named_categories import check_named
from madrl.rollout import Classification, Rollout

Match = Literal["unique", "first"]


class RegexClassifier:
    """The category whose expression is found in the response; off-support when none is.

    Args:
        patterns: category -> its expression, which is searched for anywhere in the response.
        match: what decides when several categories' expressions are found. ``unique``: nothing does, and the response
            is off-support, since naming every category is not choosing one. ``first``: the match that begins first;
            when two begin at the same place, the category that stands first in ``patterns``.
        categories: the declared categories, which ``patterns`` must name, each of them and no others.

    Raises MadrlError for an expression that RE2 does not take, another ``match``, and other categories than the
    declared ones.
    """

    def __init__(self, *, patterns: Mapping[str, str], match: Match = "unique", categories: Sequence[str] = ()) -> None:
        if not isinstance(patterns, Mapping):
            raise MadrlError(f"patterns {patterns!r}: write {{category: expression}}")
        if match not in get_args(Match):
            raise MadrlError(f"match {match!r}: use one of {', '.join(get_args(Match))}")
        check_named("patterns", patterns, categories)
        self._patterns = dict(patterns)
        self._first = match == "first"
        for category, pattern in self._patterns.items():
            self._check(category, pattern)

    def __call__(self, rollouts: Sequence[Rollout]) -> list[Classification]:
        """The category of each response, with the reason where there is none. Several share what it costs to compile
        the expressions."""
        # Half a surrogate pair has no UTF-8.
        texts = [rollout.response.encode("utf-8", "replace").decode() for rollout in rollouts]
        found = {category: _starts(texts, pattern) for category, pattern in self._patterns.items()}
        return [
            self._decide({category: starts[i] for category, starts in found.items() if starts[i] >= 0})
            for i in range(len(texts))
        ]

    def _decide(self, starts: Mapping[str, int]) -> Classification:
        if not starts:
            return Classification(None, "no pattern matches")
        if len(starts) > 1 and not self._first:
            return Classification(None, f"matches {len(starts)} categories")
        return Classification(min(starts, key=starts.__getitem__))

    @staticmethod
    def _check(category: str, pattern: str) -> None:
        import pyarrow
        from pyarrow import compute

        if not isinstance(pattern, str):
            raise MadrlError(f"pattern {pattern!r} of {category!r} is no text")
        try:
            # As it is: the search puts it in parentheses, in which "a)(b" would be two groups.
            compute.match_substring_regex(pyarrow.array([""], pyarrow.string()), pattern)
        except pyarrow.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
            raise MadrlError(
                f"pattern {pattern!r} of {category!r} ({reason}): write it for RE2, which has no lookahead, "
                "lookbehind or backreference, or write a classifier of your own"
            ) from None


def _starts(texts: Sequence[str], pattern: str) -> list[int]:
    """The byte at which the first match begins in each text, -1 for none."""
    # pyarrow takes a tenth of a second to import, and most who import the classifiers have another one.
    import pyarrow
    from pyarrow import compute

    starts: list[int] = compute.find_substring_regex(pyarrow.array(texts, pyarrow.string()), pattern).to_pylist()
    return starts
