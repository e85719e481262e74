"""The records that the rest of the package passes on: a response, its grade, and what its group earned.

A response's correctness is a number in [0, 1], or None when it is ungraded, from the verifier to the reports.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError


class Verdict(StrEnum):
    """A response's correctness in a word.

    What the response causes (a hang, a flood, an answer that crashes the parser) is INCORRECT; what we cause (an
    outage, a lost worker, a bad reference) is UNGRADED, and never scores as wrong.
    """

    CORRECT = "correct"
    PARTIAL = "partial"
    INCORRECT = "incorrect"
    UNGRADED = "ungraded"

    @classmethod
    def of(cls, correctness: float | None) -> "Verdict":
        """CORRECT for 1, INCORRECT for 0, PARTIAL for what lies between, UNGRADED for None."""
        if correctness is None:
            return cls.UNGRADED
        if correctness in (0, 1):
            return cls.CORRECT if correctness else cls.INCORRECT
        return cls.PARTIAL


def is_correctness(value: object) -> bool:
    """Whether ``value`` is a response's correctness: a number in [0, 1], true or false, or None for ungraded."""
    return value is None or (isinstance(value, Real | np.bool_) and 0 <= float(value) <= 1)


ROLLOUT_TEXTS = {
    "response": "give what the model wrote, which is the content of the last message in a list of them",
    "ground_truth": "store it as text, such as str(7), and structured values as JSON",
    "data_source": "name the dataset and split, or leave it out",
}
"""Field of Rollout that is text -> what to do about one that is not."""


@dataclass(frozen=True)
class Rollout:
    """One response to one prompt, before anybody has looked at it.

    Raises MadrlError for a text that is no ``str``, and for an ``extra_info`` that is no mapping.
    """

    response: str
    ground_truth: str
    extra_info: dict[str, Any] = field(default_factory=dict)
    data_source: str = ""

    def __post_init__(self) -> None:
        for name, remedy in ROLLOUT_TEXTS.items():
            if not isinstance(value := getattr(self, name), str):
                raise MadrlError(f"{name} {reprlib.repr(value)} of a rollout is no text: {remedy}")
        if not isinstance(self.extra_info, Mapping):
            raise MadrlError(f"extra_info {reprlib.repr(self.extra_info)} of a rollout is no mapping: leave it out")

    @classmethod
    def to_row(cls, row: Mapping[str, Any], response: str) -> "Rollout":
        """A response to the prompt of a data row in veRL's columns."""
        return cls(response, str(row["reward_model"]["ground_truth"]), dict(row["extra_info"]), str(row["data_source"]))


class Classification(NamedTuple):
    """What a classifier says of one response: ``category`` is None when it is off-support, or ungraded."""

    category: str | None
    reason: str = ""
    unusual: str = ""
    """How the category came about, where that is no ordinary way: in two or three words, the same for all such
    responses. It changes no reward; a run counts them, and an alarm is raised when they become many."""
    classified: bool = True
    """False when nobody could say which category it is (an outage, a time-out): its category is ungraded, which is not
    off-support. Such a response counts in no frequency."""


class Verification(NamedTuple):
    """What a verifier says of one response, with the answer it took from it and why it decided so."""

    correctness: float | None
    """A number in [0, 1]: 1 is correct, 0 incorrect, and what lies between counts in part. None is ungraded."""
    answer: str | None = None
    reason: str = ""
    extra: Mapping[str, Any] = {}
    """What else the verifier found, in JSON types. It is written beside the response, and the reward ignores it."""
    unusual: str = ""
    """How the response went about its verdict, where that is no ordinary way, as in Classification."""

    @property
    def verdict(self) -> Verdict:
        """The correctness in a word."""
        return Verdict.of(self.correctness)


class Grade(NamedTuple):
    """Everything the group reward needs to know of one response."""

    category: str | None
    correctness: float | None
    """A number in [0, 1]; None is ungraded."""
    answer: str | None = None
    reason: str = ""
    extra: Mapping[str, Any] = {}
    """Everything else that the verifier found, in JSON types."""
    queued: int = 0
    """The number of responses, this one included, that its grader had in progress when it came."""
    unusual: str = ""
    """The verifier's and the classifier's word for an unusual way to the verdict or the category; empty for none."""
    classified: bool = True
    """False when its category is ungraded, as in Classification."""
    attributes: Mapping[str, Classification] = {}
    """What it is of each further attribute (``madrl.attributes``), by name."""

    @property
    def has_all_categories(self) -> bool:
        """Whether somebody could say its category of every attribute, or that it has none."""
        return self.classified and all(one.classified for one in self.attributes.values())

    @property
    def verdict(self) -> Verdict:
        """The correctness in a word."""
        return Verdict.of(self.correctness)


class AttributeScore(NamedTuple):
    """What one group earned of one further attribute."""

    divergence_reward: NDArray[np.float64]
    """Its distributional term, before the attribute's weight. Shape (G,)."""
    frequency: NDArray[np.float64]
    """As in GroupScore."""


@dataclass(frozen=True)
class GroupScore:
    """What one group of G responses to one prompt earned. Arrays are of shape (G,) unless said otherwise."""

    reward: NDArray[np.float64]
    """The rewards that GRPO sees."""
    correctness: NDArray[np.float64]
    """Numbers in [0, 1]; the group's mean correctness where the response is ungraded."""
    divergence_reward: NDArray[np.float64]
    """The distributional term of paper Table 1, at the response's own category; the others' mean where the category is
    ungraded. With further attributes the weighted sum of all terms."""
    frequency: NDArray[np.float64]
    """Shape (K,): n_c / G. Sums to less than 1 when some responses are off-support. Where some are hinted or
    unclassified, both numbers count the others alone."""
    grades: tuple[Grade, ...] = ()
    """The responses' grades, as GroupReward found them; empty where ``score_group`` was called by itself."""
    attributes: tuple[AttributeScore, ...] = ()
    """What the further attributes add to ``divergence_reward``, in their order."""
