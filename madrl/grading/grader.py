"""One response before a classifier and a verifier, whatever these do: the same step in training and on files.

Either may be the user's own, so what they return is checked here, in the one place that everybody calls. A mistake of
theirs is a PluginError, which fails the one response. What they raise is logged with its traceback once for each
distinct error, and after that only counted.
"""

import inspect
import json
import logging
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from madrl.errors import MadrlError
from madrl.frequency import category_indices
from madrl.grading.classifiers import Classifier
from madrl.grading.verifiers import COMPUTE_SCORE, Verifier
from madrl.rollout import Classification, Rollout, Verdict, Verification, is_correctness

logger = logging.getLogger(__name__)

OF_VERDICT = {Verdict.CORRECT: 1.0, Verdict.INCORRECT: 0.0, Verdict.UNGRADED: None}
"""What a verifier that returns a verdict alone means."""

CLASSIFIER_RETURNS = "return a declared category as a str, None for off-support, or a Classification of either"
VERIFIER_RETURNS = (
    "return True or False, a number in [0, 1], a Verdict other than partial, or a Verification of one of these or None "
    "(ungraded), with a str or None as answer and JSON types in extra"
)
COMPUTE_SCORE_RETURNS = "return True or False, a number in [0, 1], or a dict with one of these as 'score'"

SHOWN_CHARACTERS = 200
"""Of a value in an error message."""

_raised: Counter[tuple[str, str, str, int | None]] = Counter()
"""How often each distinct error was raised in this process: plug-in, type, file, line."""


class PluginError(RuntimeError):
    """A mistake of a classifier or a verifier, which no response can be blamed for: its name, the value, the remedy."""


def classify_response(
    classifier: Classifier, name: str, rollout: Rollout, declared: Sequence[str] | None = None
) -> Classification:
    """The classifier's word.

    Args:
        name: what the user calls the classifier.
        declared: the categories it may name; None where nobody has declared any.

    Raises PluginError when the classifier raises, returns anything but CLASSIFIER_RETURNS, or names a category that
    is not declared: a category must not be made up.
    """
    try:
        found: object = classifier(rollout)
    except Exception as error:
        message = f"classifier {name} raised {type(error).__name__}: {error}"
        _log_once(message, name, error)
        raise PluginError(message) from error
    if found is None or isinstance(found, str):
        found = Classification(found)
    if not (isinstance(found, Classification) and isinstance(found.category, str | None)):
        raise _bad_return("classifier", name, found, CLASSIFIER_RETURNS)
    if declared is not None:
        try:
            category_indices([found.category], declared)
        except MadrlError as error:
            raise PluginError(f"classifier {name}: {error}") from None
    return found


async def verify_response(verifier: Verifier, name: str, rollout: Rollout) -> Verification:
    """The verifier's word; ungraded when it raises, since that is nothing the response can be blamed for.

    Raises PluginError when it returns anything but VERIFIER_RETURNS.
    """
    try:
        found: object = await verifier(rollout)
    except Exception as error:
        what = f"raised {type(error).__name__}: {error}"
        _log_once(f"verifier {name} {what}", name, error)
        return Verification(None, reason=f"verifier {what}")
    verification = _verification(found)
    if verification is None:
        remedy = COMPUTE_SCORE_RETURNS if name == COMPUTE_SCORE else VERIFIER_RETURNS
        raise _bad_return("verifier", name, found, remedy)
    return verification


def _verification(found: Any) -> Verification | None:
    """What the verifier returned, in full and in plain types; None when it cannot be told what it means."""
    if found is None:  # wrong, or ungraded?
        return None
    verification: Verification = found if isinstance(found, Verification) else Verification(found)
    correctness, answer, reason, extra = verification
    if isinstance(correctness, Verdict) and correctness is not Verdict.PARTIAL:
        correctness = OF_VERDICT[correctness]
    elif isinstance(correctness, Real | np.bool_):
        correctness = float(correctness)
    texts = isinstance(answer, str | None) and isinstance(reason, str)
    if not (texts and is_correctness(correctness) and isinstance(extra, Mapping)):
        return None
    try:
        plain = json.loads(json.dumps(dict(extra), default=_plain))
    except (TypeError, ValueError):
        return None
    return Verification(correctness, answer, reason, plain)


def _plain(value: Any) -> Any:
    """NumPy's and torch's numbers and arrays in JSON types."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _bad_return(kind: str, name: str, found: Any, remedy: str) -> PluginError:
    if inspect.iscoroutine(found):
        found.close()
        remedy = f"write it as 'def', not 'async def', and {remedy}"
    shown = repr(found)
    shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}…"
    article = "an" if type(found).__name__[0].lower() in "aeiou" else "a"
    return PluginError(f"{kind} {name} returned {shown}, {article} {type(found).__name__}: {remedy}")


def _log_once(message: str, name: str, error: Exception) -> None:
    """Log an error with its traceback when its type comes from its line for the first time, then one line at 10, 100,
    1000 times."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    mistake = (name, type(error).__name__, innermost.filename, innermost.lineno)
    _raised[mistake] += 1
    count = _raised[mistake]
    if count == 1:
        logger.error(message, exc_info=error)
    elif str(count).strip("0") == "1":
        logger.error("%s (%d times so far)", message, count)
