"""Verifiers: whether one response is correct, incorrect or unjudged. They are async, since some wait for a service."""

import inspect
from collections.abc import Awaitable, Callable, Sequence

from madrl.errors import MadrlError
from madrl.plugins import load_plugin
from madrl.rollout import Rollout, Verification
from madrl.verifiers.listed_option import verify_listed_option
from madrl.verifiers.math_answer import verify_math
from madrl.verifiers.program import verify_program
from madrl.verifiers.sandbox_health import check_sandbox

Verifier = Callable[[Rollout], Awaitable[Verification]]

VERIFIERS: dict[str, Verifier] = {"listed_option": verify_listed_option, "math": verify_math, "code": verify_program}

NEEDS: dict[str, Callable[[Sequence[str]], None]] = {"code": check_sandbox}
"""For those of VERIFIERS that wait for a service: raises MadrlError, with the remedy, when it cannot judge the
categories given."""


def load_verifier(spec: str) -> Verifier:
    """The verifier that ``spec`` names: a key of VERIFIERS, or ``pkg.module:name``.

    Raises MadrlError when there is none, when what it names cannot be called, or when it is a plain function, which
    would fail at the first ``await``, in the middle of a run.
    """
    verifier = load_plugin(spec, VERIFIERS, "verifier")
    if not callable(verifier):
        raise MadrlError(f"verifier {spec!r} is a {type(verifier).__name__}: name an async function of one Rollout")
    if inspect.isfunction(verifier) and not inspect.iscoroutinefunction(verifier):
        raise MadrlError(f"verifier {spec!r} is not async: write it as 'async def'")
    return verifier


def check_ready(spec: str, categories: Sequence[str]) -> None:
    """Asks what the verifier ``spec`` waits for whether it is there and can judge responses of ``categories``.

    To be called before a run starts. Raises MadrlError, with the remedy; does nothing for a verifier that waits for
    nothing or is the user's own.
    """
    if spec in NEEDS:
        NEEDS[spec](categories)
