"""Verifiers: how correct a response is, in [0, 1], or that it is ungraded."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from madrl.errors import MadrlError
from madrl.grading.choice import verify_listed_option
from madrl.grading.compute_score import ComputeScore, verifier_of
from madrl.grading.exact_match import verify_exact_match
from madrl.grading.judges.reward_model import RewardModel
from madrl.grading.judges.rubric import LlmVerifier
from madrl.grading.math_answers.math_answer import verify_boxed_math, verify_math
from madrl.grading.plugins import Plugin, load_plugin, name_of, with_arguments
from madrl.grading.programs.program import verify_program
from madrl.grading.programs.sandbox_health import check_sandbox

Verifier = Callable[..., Any]
"""A built-in verifier is async, since some wait for a service, and returns a Verification; ``madrl.grading.grader``
checks what others return. Otherwise as a Classifier."""

VERIFIERS: dict[str, Verifier] = {
    "listed_option": verify_listed_option,
    "math": verify_math,
    "boxed_math": verify_boxed_math,
    "exact_match": verify_exact_match,
    "code": verify_program,
    "llm": LlmVerifier,
    "reward_model": RewardModel,
}

EXTRAS = {"math": "math", "boxed_math": "math", "code": "programs", "llm": "judges"}
"""Key of VERIFIERS -> the extra of the package that it needs."""

COMPUTE_SCORE = "compute_score"
"""The verifier of a run that has its function in veRL's ``reward.custom_reward_function``."""

SERVICES: dict[str, Callable[[Sequence[str]], None]] = {"code": check_sandbox}
"""Key of VERIFIERS -> for a verifier that waits for a service, a function of the categories. It raises MadrlError, with
the remedy, when the service cannot judge them."""


def load_verifier(
    spec: Plugin,
    compute_score: ComputeScore | None = None,
    arguments: Mapping[str, Any] = MappingProxyType({}),
    categories: Sequence[str] = (),
) -> Verifier:
    """The verifier that ``spec`` names, with its arguments: a key of VERIFIERS, ``pkg.module:name``, a function, or
    COMPUTE_SCORE.

    Args:
        compute_score: the function of the run's ``reward.custom_reward_function``, for COMPUTE_SCORE.
        categories: the declared categories, for a verifier that asks for them.

    Raises MadrlError when there is none, when it lacks its extra, when it cannot be called, and as ``with_arguments``.
    """
    if spec == COMPUTE_SCORE:
        if arguments:
            raise MadrlError(
                f"verifier {spec!r} takes no verifier_args: set reward.custom_reward_function.reward_kwargs"
            )
        if compute_score is None:
            raise MadrlError(
                f"verifier {spec!r} is the reward.custom_reward_function of a run's config, and there is none here: "
                "name your own as pkg.module:name"
            )
        return verifier_of(compute_score)
    found = load_plugin(spec, VERIFIERS, "verifier", EXTRAS)
    return with_arguments(found, arguments, "verifier", name_of(spec), categories)


def check_ready(spec: Plugin, categories: Sequence[str]) -> None:
    """Ask the service that the verifier ``spec`` waits for whether it is there and can judge ``categories``.

    To be called before a run starts. Raises MadrlError, with the remedy; does nothing for a verifier that waits for
    nothing or is the user's own.
    """
    if isinstance(spec, str) and spec in SERVICES:
        SERVICES[spec](categories)
