"""Verifiers: how correct one response is, in [0, 1], or that it is ungraded. Async, since some wait for a service."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from madrl.errors import MadrlError
from madrl.grading.choice import verify_listed_option
from madrl.grading.compute_score import ComputeScore, verifier_of
from madrl.grading.exact_match import verify_exact_match
from madrl.grading.math_answers.math_answer import verify_boxed_math, verify_math
from madrl.grading.plugins import Plugin, load_plugin
from madrl.grading.programs.program import verify_program
from madrl.grading.programs.sandbox_health import check_sandbox
from madrl.grading.threads import asynchronous
from madrl.rollout import Rollout

Verifier = Callable[[Rollout], Awaitable[Any]]
"""A built-in verifier returns a Verification; ``madrl.grading.grader`` checks what others return."""

VERIFIERS: dict[str, Verifier] = {
    "listed_option": verify_listed_option,
    "math": verify_math,
    "boxed_math": verify_boxed_math,
    "exact_match": verify_exact_match,
    "code": verify_program,
}

EXTRAS = {"math": "math", "boxed_math": "math", "code": "programs"}
"""Key of VERIFIERS -> the extra of the package that it needs."""

COMPUTE_SCORE = "compute_score"
"""The verifier of a run that has its function in veRL's ``reward.custom_reward_function``."""

SERVICES: dict[str, Callable[[Sequence[str]], None]] = {"code": check_sandbox}
"""Key of VERIFIERS -> for a verifier that waits for a service, a function of the categories. It raises MadrlError, with
the remedy, when the service cannot judge them."""


def load_verifier(spec: Plugin, compute_score: ComputeScore | None = None) -> Verifier:
    """The verifier that ``spec`` names: a key of VERIFIERS, ``pkg.module:name``, a function, or COMPUTE_SCORE.

    A function that is not async is called in a thread.

    Args:
        compute_score: the function of the run's ``reward.custom_reward_function``, for COMPUTE_SCORE.

    Raises MadrlError when there is none, when it lacks its extra, or when it cannot be called.
    """
    if spec == COMPUTE_SCORE:
        if compute_score is None:
            raise MadrlError(
                f"verifier {spec!r} is the reward.custom_reward_function of a run's config, and there is none here: "
                "name your own as pkg.module:name"
            )
        return verifier_of(compute_score)
    return asynchronous(load_plugin(spec, VERIFIERS, "verifier", EXTRAS))


def check_ready(spec: Plugin, categories: Sequence[str]) -> None:
    """Ask the service that the verifier ``spec`` waits for whether it is there and can judge ``categories``.

    To be called before a run starts. Raises MadrlError, with the remedy; does nothing for a verifier that waits for
    nothing or is the user's own.
    """
    if isinstance(spec, str) and spec in SERVICES:
        SERVICES[spec](categories)
