"""The Grader: one response before a classifier and a verifier, the same step in training, sampling and on files.

Either may be the user's own, so what it returns is checked here, in the one place that everybody calls. A mistake of
one is a PluginError, which fails the one response. An exception of one leaves the response ungraded: without a
correctness, or without a category, which is not off-support. It is logged with its traceback once for each distinct
error, and after that only counted.
"""

import asyncio
import json
import logging
import reprlib
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from madrl.attributes import Attribute
from madrl.errors import MadrlError
from madrl.files import sha256_of
from madrl.frequency import category_indices
from madrl.grading.batches import per_response
from madrl.grading.classifiers import Classifier, load_classifier
from madrl.grading.compute_score import ComputeScore
from madrl.grading.plugins import Plugin, PluginError, name_of, own_module
from madrl.grading.threads import ends_the_caller, is_async
from madrl.grading.verifiers import COMPUTE_SCORE, Verifier, check_ready, load_verifier
from madrl.prompt_targets import row_categories
from madrl.rollout import Classification, Grade, Rollout, Verdict, Verification, is_correctness
from madrl.source import digest, plugin_modules

logger = logging.getLogger(__name__)

MAX_UNGRADED = 0.5
"""Share of a batch. Above it something is down, and it is better to stop than to write verdicts that nobody gave."""

OF_VERDICT = {Verdict.CORRECT: 1.0, Verdict.INCORRECT: 0.0, Verdict.UNGRADED: None}
"""Verdict -> the correctness that a verifier means which returns the verdict alone."""

CLASSIFIER_RETURNS = "return a declared category as a str, None for off-support, or a Classification of either"
VERIFIER_RETURNS = (
    "return True or False, a number in [0, 1], a Verdict other than partial, or a Verification of one of these or None "
    "(ungraded), with a str or None as answer and JSON types in extra"
)
COMPUTE_SCORE_RETURNS = "return True or False, a number in [0, 1], or a dict with one of these as 'score'"

SHOWN_CHARACTERS = 200
"""The length at which a value is cut off in an error message."""

_raised: Counter[tuple[str, str, str, int | None]] = Counter()
"""How often each distinct error was raised in this process: plug-in, type, file, line."""


class GraderSpec(NamedTuple):
    """Which functions grade, and into which categories."""

    classifier: Plugin | None
    """A key of CLASSIFIERS, ``pkg.module:name``, or a function; None leaves responses without a category."""
    verifier: Plugin | None
    """A key of VERIFIERS, ``pkg.module:name``, or a function; None leaves responses ungraded."""
    categories: tuple[str, ...]
    """The categories that the classifier may name; empty where nobody has declared any."""
    custom_reward_function: Mapping[str, Any] | None = None
    """veRL's node of that name, of a run whose verifier is COMPUTE_SCORE."""
    classifier_args: Mapping[str, Any] = {}
    """The classifier's keyword arguments, in JSON types."""
    verifier_args: Mapping[str, Any] = {}
    """The verifier's."""
    attributes: Mapping[str, Attribute] = {}
    """The further attributes that a response is classified by; what is wanted of them is not looked at."""


class Grader:
    """The classifier and the verifier of ``spec``, loaded.

    Args:
        compute_score: veRL's ``reward.custom_reward_function``, loaded, for the verifier COMPUTE_SCORE.

    Raises MadrlError for a classifier or a verifier that cannot be loaded, and for arguments that it does not take.
    """

    def __init__(self, spec: GraderSpec, compute_score: ComputeScore | None = None) -> None:
        self.spec = spec
        self.in_progress = 0
        """Responses that have come and have no grade yet."""
        self._raised: Counter[str] = Counter()
        self._classifier: Classifier | None = None
        self._verifier: Verifier | None = None
        if spec.classifier is not None:
            self._classifier = load_classifier(spec.classifier, spec.classifier_args, spec.categories)
            self._category_of = per_response(self._classifier, f"classifier {self._name('classifier')}")
        if spec.verifier is not None:
            self._verifier = load_verifier(spec.verifier, compute_score, spec.verifier_args, spec.categories)
            self._correctness_of = per_response(self._verifier, f"verifier {self._name('verifier')}")
        self._further: dict[str, Grader] = {}
        for name, of in spec.attributes.items():
            of_it = GraderSpec(of.classifier, None, of.categories, classifier_args=of.classifier_args)
            try:
                self._further[name] = Grader(of_it)
            except MadrlError as error:
                raise MadrlError(f"attribute {name}: {error}") from error

    @property
    def classifier_waits(self) -> bool:
        """Whether the classifier is async: what it takes is then not the time of this process."""
        return self._classifier is not None and is_async(self._classifier)

    async def grade(self, rollout: Rollout) -> Grade:
        """The category and the correctness of one response, and its category of each further attribute.

        Its correctness is ungraded when the verifier raises, its category when the classifier does, since that is
        nothing the response can be blamed for. Raises PluginError when the classifier names a category that is not
        declared (a category must not be made up), or when either returns what it must not, and MadrlError for anything
        but a Rollout.
        """
        if not isinstance(rollout, Rollout):
            raise MadrlError(f"{reprlib.repr(rollout)} is no rollout: write madrl.Rollout(response, ground_truth)")
        self.in_progress += 1
        queued = self.in_progress
        try:
            classifying = (grader._classify(rollout) for grader in (self, *self._further.values()))
            found = await asyncio.gather(self._verify(rollout), *classifying, return_exceptions=True)
        finally:
            self.in_progress -= 1
        verification, classification, *others = map(_returned, found)
        further: dict[str, Classification] = dict(zip(self._further, others, strict=True))
        lost = [] if classification.classified else [classification.reason]
        lost += [f"attribute {name}: {one.reason}" for name, one in further.items() if not one.classified]
        lost += [verification.reason] if lost and verification.correctness is None and verification.reason else []
        reason = "; ".join(lost) if lost else verification.reason or classification.reason
        unusual = ", ".join(filter(None, (one.unusual for one in (verification, classification, *others))))
        grade = Grade(
            classification.category, verification.correctness, verification.answer, reason, verification.extra, queued,
            unusual, classification.classified, further,
        )  # fmt: skip
        return self._of_the_prompt(grade, rollout)

    async def grade_all(
        self, rollouts: Iterable[Rollout], enough: bool = True, raised_alone: bool = False
    ) -> list[Grade]:
        """The grades of a batch, in its order.

        Args:
            enough: whether these are enough to tell a plug-in that is broken from one that fails on a few.
            raised_alone: whether a verdict counts as ungraded only when the verifier raised: in a user's file a
                reference that nobody can read is a finding, and no outage.

        Raises MadrlError as ``grade`` does, and when more than MAX_UNGRADED of the responses are ungraded.
        """
        before = self._raised.copy()
        grades = list(await asyncio.gather(*map(self.grade, rollouts)))
        unverified: Counter[str] = Counter()
        if raised_alone:
            unverified = self._raised - before
        elif self._verifier:
            unverified = Counter(grade.reason for grade in grades if grade.correctness is None)
        ungraded = {
            f"classifier {self._name('classifier')}": Counter(grade.reason for grade in grades if not grade.classified),
            f"verifier {self._name('verifier')}": unverified,
        }
        for name, grader in self._further.items():
            lost = [one.reason for grade in grades if not (one := grade.attributes[name]).classified]
            ungraded[f"classifier {grader._name('classifier')} of attribute {name}"] = Counter(lost)
        for what, reasons in ungraded.items():
            if enough and reasons.total() > MAX_UNGRADED * len(grades):
                raise MadrlError(
                    f"{what} could not grade {reasons.total()} of {len(grades)} responses "
                    f"({reasons.most_common(1)[0][0]}): mend that and start the same call again"
                )
        return grades

    def check_ready(self) -> None:
        """Raises MadrlError, with the remedy, when what a plug-in needs is not there: a service, or a language of it.
        A plug-in of the user's own is asked by its method ``check_ready``, if it has one."""
        if self.spec.verifier is not None:
            check_ready(self.spec.verifier, self.spec.categories)
        for plugin in (self._classifier, self._verifier):
            if callable(own_check := getattr(plugin, "check_ready", None)):
                own_check()
        for grader in self._further.values():
            grader.check_ready()

    def identity(self) -> dict[str, Any]:
        """What tells this grader from another, in JSON types: its spec and the version of the user's own code."""
        found = self.spec._asdict() | {
            "classifier": self._name("classifier"),
            "verifier": self._name("verifier"),
            "classifier_args": dict(self.spec.classifier_args),
            "verifier_args": dict(self.spec.verifier_args),
            "own_code": self.own_code(),
        }
        del found["attributes"]
        return found | {f"attribute {name}": grader.identity() for name, grader in self._further.items()}

    def own_code(self) -> str | None:
        """What tells one version of the user's own functions from another; None where all are built-in."""
        modules: dict[str, Path] = {}
        for plugin in (self.spec.classifier, self.spec.verifier):
            if plugin is not None and (module := own_module(plugin)):
                modules |= plugin_modules(module)
        function = (self.spec.custom_reward_function or {}).get("path")
        parts = [digest(modules)] * bool(modules) + ([sha256_of(function)] if function else [])
        return " ".join(parts) or None

    def _name(self, kind: str) -> str | None:
        plugin = getattr(self.spec, kind)
        return None if plugin is None else name_of(plugin)

    def _lost(self, kind: str, error: BaseException) -> str:
        """Log what a plug-in raised; the reason of the response that it leaves ungraded."""
        name, what = self._name(kind), f"raised {type(error).__name__}: {error}"
        _log_once(f"{kind} {name} {what}", name, error)
        return f"{kind} {what}"

    async def _classify(self, rollout: Rollout) -> Classification:
        if self._classifier is None:
            return Classification(None)
        name = self._name("classifier")
        try:
            found: object = await self._category_of(rollout)
        except PluginError:
            raise
        except BaseException as error:  # a SystemExit would end the loop that others wait for
            if ends_the_caller(error):
                raise
            return Classification(None, self._lost("classifier", error), classified=False)
        if found is None or isinstance(found, str):
            found = Classification(found)
        if not (
            isinstance(found, Classification)
            and isinstance(found.category, str | None)
            and isinstance(found.reason, str)
            and isinstance(found.unusual, str)
            and (found.classified is True or (found.classified is False and found.category is None))
        ):
            raise _bad_return("classifier", name, found, CLASSIFIER_RETURNS)
        if self.spec.categories:
            try:
                category_indices([found.category], self.spec.categories)
            except MadrlError as error:
                raise PluginError(f"classifier {name}: {error}") from None
        return found

    def _of_the_prompt(self, grade: Grade, rollout: Rollout) -> Grade:
        """The grade, off-support where its category is declared and not one of the prompt's own (``row_target``)."""
        declared = self.spec.categories
        if not declared or grade.category is None or grade.category in row_categories(rollout.extra_info, declared):
            return grade
        why = f"category {grade.category!r} is none of this prompt's"
        return grade._replace(category=None, reason=f"{why}; {grade.reason}" if grade.reason else why)

    async def _verify(self, rollout: Rollout) -> Verification:
        if self._verifier is None:
            return Verification(None)
        name = self._name("verifier")
        try:
            found: object = await self._correctness_of(rollout)
        except PluginError:
            raise
        except BaseException as error:
            if ends_the_caller(error):
                raise
            reason = self._lost("verifier", error)
            self._raised[reason] += 1
            return Verification(None, reason=reason)
        verification = _verification(found)
        if verification is None:
            remedy = COMPUTE_SCORE_RETURNS if name == COMPUTE_SCORE else VERIFIER_RETURNS
            raise _bad_return("verifier", name, found, remedy)
        return verification


def _returned(found: Any) -> Any:
    """What one of several returned that were awaited together; raises what it raised."""
    if isinstance(found, BaseException):
        raise found
    return found


def _verification(found: Any) -> Verification | None:
    """What the verifier returned, in full and in plain types; None when its meaning cannot be told."""
    if found is None:  # wrong, or ungraded?
        return None
    verification: Verification = found if isinstance(found, Verification) else Verification(found)
    correctness, answer, reason, extra, unusual = verification
    if isinstance(correctness, Verdict) and correctness is not Verdict.PARTIAL:
        correctness = OF_VERDICT[correctness]
    elif isinstance(correctness, Real | np.bool_):
        correctness = float(correctness)
    texts = isinstance(answer, str | None) and isinstance(reason, str) and isinstance(unusual, str)
    if not (texts and is_correctness(correctness) and isinstance(extra, Mapping)):
        return None
    try:
        plain = json.loads(json.dumps(dict(extra), default=_plain))
    except (TypeError, ValueError):
        return None
    return Verification(correctness, answer, reason, plain, unusual)


def _plain(value: Any) -> Any:
    """NumPy's and torch's numbers and arrays in JSON types."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _bad_return(kind: str, name: str | None, found: Any, remedy: str) -> PluginError:
    shown = repr(found)
    shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}…"
    article = "an" if type(found).__name__[0].lower() in "aeiou" else "a"
    return PluginError(f"{kind} {name} returned {shown}, {article} {type(found).__name__}: {remedy}")


def _log_once(message: str, name: str | None, error: BaseException) -> None:
    """Log an error with its traceback when its type comes from its line for the first time, and in one line when it has
    come 10, 100, 1000 times. A MadrlError says all that there is to say without one."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    mistake = (str(name), type(error).__name__, innermost.filename, innermost.lineno)
    _raised[mistake] += 1
    count = _raised[mistake]
    if count == 1:
        logger.error(message, exc_info=None if isinstance(error, MadrlError) else error)
    elif str(count).strip("0") == "1":
        logger.error("%s (%d times so far)", message, count)
