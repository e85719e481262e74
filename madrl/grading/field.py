r"""What a response says in a field of its own: the classifier ``field``.

    classifier: field
    classifier_args: {json: answer.stance}          # {"answer": {"stance": "agree"}}, also in a fenced block
    classifier_args: {marker: "Stance:"}            # Stance: agree

The field's whole value must be a category, or one of its ``aliases``. Case, width, bold and code marks, quotes and what
punctuates the end make no difference; words around the category do ("agree, but only in part" is off-support). Ask for
the field on a line of its own in the prompt.

A response may have the field several times. The last one decides, as the last answer does in a solution, and where an
earlier one names another category the response is unusual: a run counts those.

What this does not see: whether the rest of the response agrees with the field.
"""

import json as json_format
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from madrl.errors import MadrlError, check_texts
from madrl.grading.normal_form import Characters, normalized
from madrl.rollout import Classification, Rollout

CONTRADICTS = "contradicts an earlier field"
EDGES = " \"'“”‘’«»()[]_.,;:!?。、।॥…"
"""What is taken off a value's ends."""


def _seen(character: str, kind: str) -> str | None:
    return None if kind == "Cf" or character in "*`" else character


_SEEN = Characters(_seen)


def folded(text: str) -> str:
    """``text`` as it is compared: without case, width, invisible characters, bold and code marks."""
    return normalized("NFKC", text).casefold().translate(_SEEN)


class FieldClassifier:
    """The category that a field of the response names; off-support without the field, or when it names none.

    Args:
        json: the field's key in a JSON object, or the keys on the way to it with a point between them.
        marker: the text in front of the value, in any case. The value is what follows on its line, or, where nothing
            does, on the next line that has anything. Either this or ``json``.
        aliases: value -> the category that it stands for, beside the categories' own names.
        categories: the declared categories.

    Raises MadrlError for anything but one of ``json`` and ``marker``, for categories and aliases that read the same,
    for an alias of no category, and when no categories are declared.
    """

    def __init__(
        self,
        *,
        json: str | None = None,
        marker: str | None = None,
        aliases: Mapping[str, str] | None = None,
        categories: Sequence[str] = (),
    ) -> None:
        if (json is None) == (marker is None):
            raise MadrlError(f"json {json!r} and marker {marker!r}: name one of them")
        self._keys = () if json is None else tuple(json.split("."))
        if json is not None and not all(self._keys):
            raise MadrlError(f"json {json!r}: write the keys with a point between them, as answer.stance")
        before = folded(marker or "").strip()
        if marker is not None and not before:
            raise MadrlError(f"marker {marker!r} has nothing to search for: write it as 'Stance:'")
        self._marker = re.compile(rf"(?<!\w){re.escape(before)}" if before[:1].isalnum() else re.escape(before))
        self._categories = _names(categories, aliases or {})

    def __call__(self, rollout: Rollout) -> Classification:
        """The category; None, with the reason, where there is none."""
        try:
            values = self._in_json(rollout.response) if self._keys else self._behind_markers(rollout.response)
        except RecursionError:
            return Classification(None, "JSON nested too deeply")
        if not values:
            return Classification(None, "no field")
        named = [self._categories.get(value) for value in values]
        unusual = CONTRADICTS if len({*named} - {None}) > 1 else ""
        if named[-1] is None:
            return Classification(None, "no category in the field" if values[-1] else "nothing in the field", unusual)
        return Classification(named[-1], "", unusual)

    def _in_json(self, response: str) -> list[str]:
        """The value in each JSON object that has it, in their order, as compared; empty for a value that is an
        object or a list."""
        values = []
        for found in json_objects(response):
            value: Any = found
            for key in self._keys:
                if not isinstance(value, dict) or key not in value:
                    break
                value = value[key]
            else:
                values.append(_compared(_as_text(value)))
        return values

    def _behind_markers(self, response: str) -> list[str]:
        """What stands behind each marker, in their order, as compared."""
        pieces = self._marker.split(folded(response))[1:]
        return [_compared(piece.strip().partition("\n")[0]) for piece in pieces]


_DECODER = json_format.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)
"""Takes line breaks in strings, as models write them, and numbers as they are written."""

_START = re.compile(r"\{(?=\s*+[\"}])")
MAX_OBJECTS = 1000


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text from left to right, without those inside of others.

    A brace that starts none is passed over with everything behind it that still read as JSON. No more than the last
    MAX_OBJECTS braces that could start one are tried, which keeps the time linear in the text's length, since an error
    counts the lines before it. Raises RecursionError for an object that is nested hundreds of levels deep.
    """
    end = 0
    for start in deque((brace.start() for brace in _START.finditer(text)), maxlen=MAX_OBJECTS):
        if start < end:
            continue
        try:
            found, end = _DECODER.raw_decode(text, start)
            yield found
        except json_format.JSONDecodeError as error:
            end = error.pos


def _as_text(value: object) -> str:
    """A JSON value in JSON's own words; empty for an object or a list."""
    if isinstance(value, str):
        return value
    return json_format.dumps(value) if isinstance(value, bool | None) else ""


def _compared(value: str) -> str:
    return " ".join(folded(value).split()).strip(EDGES)


def _names(categories: Sequence[str], aliases: Mapping[str, str]) -> dict[str, str]:
    """Compared value -> the category that it names."""
    if not categories:
        raise MadrlError("the values name the declared categories, and none are declared: declare them")
    if not isinstance(aliases, Mapping):
        raise MadrlError(f"aliases {aliases!r}: write {{value: category}}")
    check_texts("alias", aliases)
    names: dict[str, str] = {}
    for value, category in [*zip(categories, categories, strict=True), *aliases.items()]:
        if category not in categories:
            raise MadrlError(f"alias {value!r} is of {category!r}, which is no category: {', '.join(categories)}")
        read = _compared(value)
        if not read or names.setdefault(read, category) != category:
            other = names.get(read)
            same = f"reads the same as one of {other!r}" if read else "has nothing that is compared"
            raise MadrlError(f"value {value!r} of {category!r} {same}: rename it")
    return names
