"""Classifiers: from a response to its category, or to off-support (None) with a reason."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from madrl.grading.choice import classify_choice
from madrl.grading.field import FieldClassifier
from madrl.grading.judges.llm import LlmClassifier
from madrl.grading.judges.text_classification import TextClassification
from madrl.grading.languages.language import LanguageClassifier
from madrl.grading.length import LengthClassifier
from madrl.grading.plugins import Plugin, load_plugin, name_of, with_arguments
from madrl.grading.programs.program import ProgrammingLanguageClassifier
from madrl.grading.regex import RegexClassifier

Classifier = Callable[..., Any]
"""A built-in classifier returns a Classification; ``madrl.grading.grader`` checks what others return. It may be async,
and take one Rollout or a list of them (``madrl.grading.batches``). A class is made with its arguments first."""

CLASSIFIERS: dict[str, Classifier] = {
    "choice": classify_choice,
    "field": FieldClassifier,
    "language": LanguageClassifier,
    "length": LengthClassifier,
    "programming_language": ProgrammingLanguageClassifier,
    "regex": RegexClassifier,
    "llm": LlmClassifier,
    "text_classification": TextClassification,
}

EXTRAS = {"language": "language", "programming_language": "programs", "llm": "judges"}
"""Key of CLASSIFIERS -> the extra of the package that it needs."""


def load_classifier(
    spec: Plugin, arguments: Mapping[str, Any] = MappingProxyType({}), categories: Sequence[str] = ()
) -> Classifier:
    """The classifier that ``spec`` names, with its arguments: a key of CLASSIFIERS, ``pkg.module:name``, or a function.

    Args:
        categories: the declared categories, for a classifier that asks for them.

    Raises MadrlError when there is none, when it lacks its extra, when it cannot be called, and as ``with_arguments``.
    """
    found = load_plugin(spec, CLASSIFIERS, "classifier", EXTRAS)
    return with_arguments(found, arguments, "classifier", name_of(spec), categories)
