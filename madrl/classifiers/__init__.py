"""Classifiers: from one response to its category, or to off-support (None) with a reason."""

from collections.abc import Callable

from madrl.classifiers.choice import classify_choice
from madrl.classifiers.language import classify_language
from madrl.classifiers.programming_language import classify_programming_language
from madrl.errors import MadrlError
from madrl.plugins import load_plugin
from madrl.rollout import Classification, Rollout

Classifier = Callable[[Rollout], Classification]

CLASSIFIERS: dict[str, Classifier] = {
    "choice": classify_choice,
    "language": classify_language,
    "programming_language": classify_programming_language,
}


def load_classifier(spec: str) -> Classifier:
    """The classifier that ``spec`` names: a key of CLASSIFIERS, or ``pkg.module:name``.

    Raises MadrlError when there is none, or when what it names cannot be called.
    """
    classifier = load_plugin(spec, CLASSIFIERS, "classifier")
    if not callable(classifier):
        raise MadrlError(f"classifier {spec!r} is a {type(classifier).__name__}: name a function of one Rollout")
    return classifier
