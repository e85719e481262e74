"""Classifiers: from one response to its category, or to off-support (None) with a reason."""

import inspect
from collections.abc import Callable
from typing import Any

from madrl.errors import MadrlError
from madrl.grading.choice import classify_choice
from madrl.grading.languages.language import classify_language
from madrl.grading.plugins import load_plugin
from madrl.grading.programs.programming_language import classify_programming_language
from madrl.rollout import Rollout

Classifier = Callable[[Rollout], Any]
"""Ours return a Classification; ``madrl.grading.grader`` says what others may return, and checks it."""

CLASSIFIERS: dict[str, Classifier] = {
    "choice": classify_choice,
    "language": classify_language,
    "programming_language": classify_programming_language,
}


def load_classifier(spec: str) -> Classifier:
    """The classifier that ``spec`` names: a key of CLASSIFIERS, or ``pkg.module:name``.

    Raises MadrlError when there is none, when what it names cannot be called, or when it is async.
    """
    classifier = load_plugin(spec, CLASSIFIERS, "classifier")
    if not callable(classifier):
        raise MadrlError(f"classifier {spec!r} is a {type(classifier).__name__}: name a function of one Rollout")
    if inspect.iscoroutinefunction(classifier):
        raise MadrlError(f"classifier {spec!r} is async: write it as 'def', a classifier waits for nothing")
    return classifier
