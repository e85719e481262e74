"""Responses before a classifier and a verifier while the engine goes on: an event loop in a thread of its own.

The functions, and what becomes of one that raises, are training's (madrl.grading.grader).
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import sha256_of
from madrl.grading.classifiers import load_classifier
from madrl.grading.compute_score import ComputeScore
from madrl.grading.grader import PluginError, classify_response, verify_response
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Grade, Rollout
from madrl.source import digest, plugin_modules

MAX_UNGRADED = 0.5
"""Share of a batch. Above it something is down, and it is better to stop than to write verdicts that nobody gave."""


class GraderSpec(NamedTuple):
    """Who grades."""

    classifier: str
    """A key of CLASSIFIERS, or ``pkg.module:name``."""
    verifier: str
    """A key of VERIFIERS, or ``pkg.module:name``."""
    categories: tuple[str, ...]
    custom_reward_function: Mapping[str, Any] | None = None
    """veRL's node of that name, of a run whose verifier is COMPUTE_SCORE."""


def own_code(spec: GraderSpec, naming: str | None = None) -> str | None:
    """What tells one version of the user's own plug-ins and reward function from another; None where all are ours. The
    plug-ins have been loaded."""
    modules: dict[str, Path] = {}
    for name in (spec.classifier, spec.verifier, naming or ""):
        module, colon, _ = name.partition(":")
        modules |= plugin_modules(module) if colon else {}
    function = (spec.custom_reward_function or {}).get("path")
    parts = [digest(modules)] * bool(modules) + ([sha256_of(function)] if function else [])
    return " ".join(parts) or None


class BackgroundGrader:
    """A context manager. Raises MadrlError for a classifier or verifier that does not exist."""

    def __init__(self, spec: GraderSpec) -> None:
        self._spec = spec
        self._classifier = load_classifier(spec.classifier)
        self._verifier = load_verifier(spec.verifier, _compute_score(spec))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="grader", daemon=True)

    def __enter__(self) -> "BackgroundGrader":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def start(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        """Run ``work``, which may await ``grader``, in the grader's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def grade(self, rollouts: Sequence[Rollout]) -> list[Grade]:
        """One grade for each response.

        Raises MadrlError for a mistake of the classifier or the verifier (``PluginError``), and when more than
        MAX_UNGRADED of the responses cannot be graded.
        """
        graded = list(await asyncio.gather(*map(self._grade_one, rollouts)))
        ungraded = [grade.reason for grade in graded if grade.correctness is None]
        if len(ungraded) > MAX_UNGRADED * len(graded):
            raise MadrlError(
                f"verifier {self._spec.verifier!r} could not grade {len(ungraded)} of {len(graded)} responses "
                f"({max(set(ungraded), key=ungraded.count)}): mend that and start the same call again"
            )
        return graded

    async def _grade_one(self, rollout: Rollout) -> Grade:
        spec = self._spec
        try:
            category, _ = classify_response(self._classifier, spec.classifier, rollout, spec.categories)
            found = await verify_response(self._verifier, spec.verifier, rollout)
        except PluginError as error:
            raise MadrlError(str(error)) from error
        return Grade(category, found.correctness, found.answer, found.reason, found.extra)


def _compute_score(spec: GraderSpec) -> ComputeScore | None:
    if spec.custom_reward_function is None:
        return None
    from madrl.trainer.custom_reward import custom_reward_function

    return custom_reward_function(spec.custom_reward_function)


async def _cancel_others() -> None:
    """What is still being graded when the engines failed is left."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
