"""Classifiers: from one response to its category, or to off-support (None) with a reason."""

import inspect
from collections.abc import Callable
from typing import Any

from madrl.errors import MadrlError
from madrl.grading.choice import classify_choice
from madrl.grading.languages.language import classify_language
from madrl.grading.plugins import Plugin, load_plugin, name_of
from madrl.grading.programs.program import classify_programming_language
from madrl.rollout import Rollout

Classifier = Callable[[Rollout], Any]
"""A built-in classifier returns a Classification; ``madrl.grading.grader`` checks what others return."""

CLASSIFIERS: dict[str, Classifier] = {
    "choice": classify_choice,
    "language": classify_language,
    "programming_language": classify_programming_language,
}

EXTRAS = {"language": "language", "programming_language": "programs"}
"""Key of CLASSIFIERS -> the extra of the package that it needs."""


def load_classifier(spec: Plugin) -> Classifier:
    """The classifier that ``spec`` names: a key of CLASSIFIERS, ``pkg.module:name``, or a function.

    Raises MadrlError when there is none, when it lacks its extra, when it cannot be called, or when it is async.
    """
    classifier = load_plugin(spec, CLASSIFIERS, "classifier", EXTRAS)
    if inspect.iscoroutinefunction(classifier):
        raise MadrlError(f"classifier {name_of(spec)!r} is async: write it as 'def', a classifier waits for nothing")
    return classifier
