"""Hinted responses: a wanted category that the policy never samples is asked for by name, so that it can be rewarded.

    madrl.hints=2

The last ``madrl.hints`` sessions of each group are sampled from the prompt that names the category which lacks most
(``madrl.naming``), and trained under the plain prompt with their group's ordinary advantage. What the policy does by
itself is counted over the other responses: in the group's frequencies, the metrics, the alarms and the choice here.

Which category that is follows from RUN/scores alone, so that a run that was killed and goes on chooses as it would
have. How a response is sampled from one prompt and trained under another: ``madrl.trainer.hinted_loop``.
"""

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.evaluation.metrics import shares
from madrl.frequency import category_indices
from madrl.records import Record, classified, read, unhinted
from madrl.run_folder import RunFolder
from madrl.settings import Settings

HINT_COLUMN = "madrl_hint"
"""The batch column with the category that the batch's hinted sessions are asked for, and the argument with which a
session is told: empty where it is not hinted."""

DECAY = 0.9
"""What a step leaves of the mean of the steps before it."""

LACKING = 0.5
"""A category is asked for while its mean share is below this part of its target."""

SMALL_GROUP = 8
"""A group of fewer responses has one hinted response at most."""


def hinted_sessions(hints: int, group_size: int) -> range:
    """The sessions of a group that are hinted: its last ``hints``, or its last one in a small group.

    None are where they would be half of the group or more, which leaves too few to count.
    """
    count = hints if group_size >= SMALL_GROUP else min(hints, 1)
    return range(group_size - count, group_size) if 2 * count < group_size else range(0)


def counted_sessions(hints: int, group_size: int) -> int:
    """How many responses of a group its frequencies are counted on: those that are not hinted."""
    return group_size - len(hinted_sessions(hints, group_size))


class ShareMean:
    """The exponential mean over training steps of the categories' shares of the responses that were not hinted.

        e = DECAY e + (1 - DECAY) share        the first step's shares as they are

    ``share`` is ``mad/share/<category>`` of the step: of its on-support responses. A step without any is passed over.
    """

    def __init__(self, settings: Settings, run: RunFolder) -> None:
        self.mean: NDArray[np.float64] | None = None
        """e, shape (K,); None before the first step."""
        self._settings = settings
        self._run = run
        self._read = 0

    def before(self, step: int) -> "ShareMean":
        """Itself, after it has taken in the steps below ``step`` that it has not yet seen, from RUN/scores.

        Raises MadrlError for a file there that is damaged.
        """
        for earlier in self._run.dump_steps(self._run.scores):
            if self._read < earlier < step:
                try:
                    self.update(list(read(self._run.scores / f"{earlier}.jsonl", ("category",))))
                except MadrlError as error:
                    raise MadrlError(f"{error}; or remove it, and hints are chosen without that step") from error
                self._read = earlier
        return self

    def update(self, records: list[Record]) -> None:
        """Take in one step's score records."""
        names = self._settings.categories
        own = [record["category"] for record in unhinted(classified(records))]
        found = shares(category_indices(own, names), len(names))
        if not np.isnan(found).any():
            self.mean = found if self.mean is None else DECAY * self.mean + (1.0 - DECAY) * found

    def lacking(self, step: int) -> str | None:
        """The category that the target of ``step`` wants with the lowest e_c / p*_c, the first of equals, if that is
        below LACKING.

        None when no category lacks that much, and before the first step, of which nothing is known.
        """
        if self.mean is None:
            return None
        target = self._settings.target_at(step)
        part = np.divide(self.mean, target, out=np.full(target.size, np.inf), where=target > 0)
        lowest = int(part.argmin())
        return self._settings.categories[lowest] if part[lowest] < LACKING else None
