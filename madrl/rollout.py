"""The records that the rest of the package passes on: what was asked, what came back, what it earned."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Verdict(StrEnum):
    """What a verifier says of one response.

    Three outcomes, never two: what the response causes (a hang, a flood, an answer that crashes the parser) is
    INCORRECT; what we cause (an outage, a lost worker, a bad reference) is UNJUDGED, and never scores as wrong.
    """

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNJUDGED = "unjudged"

    @property
    def correct(self) -> bool | None:
        """True, False, or None when unjudged."""
        return None if self is Verdict.UNJUDGED else self is Verdict.CORRECT


@dataclass(frozen=True)
class Rollout:
    """One response to one prompt, before anybody has looked at it."""

    response: str
    ground_truth: str
    extra_info: dict[str, Any] = field(default_factory=dict)
    data_source: str = ""


class Classification(NamedTuple):
    """What a classifier says of one response: ``category`` is None when it is off-support."""

    category: str | None
    reason: str = ""


class Verification(NamedTuple):
    """What a verifier says of one response, with the answer it took from it and why it decided so."""

    verdict: Verdict
    answer: str | None = None
    reason: str = ""


class Judgment(NamedTuple):
    """Everything the group reward needs to know of one response."""

    category: str | None
    verdict: Verdict
    answer: str | None = None
    reason: str = ""
    queued: int = 0
    """Responses, this one included, that its reward worker was judging when it came."""


@dataclass(frozen=True)
class GroupScore:
    """What one group of G responses to one prompt earned. Arrays are of shape (G,) unless said otherwise."""

    reward: NDArray[np.float64]
    """What GRPO sees."""
    correctness: NDArray[np.float64]
    """1, 0, or the group's mean correctness where the response is unjudged."""
    divergence_reward: NDArray[np.float64]
    """The distributional term of paper Table 1, at the response's own category."""
    frequency: NDArray[np.float64]
    """Shape (K,): n_c / G. Sums to less than 1 when some responses are off-support."""
