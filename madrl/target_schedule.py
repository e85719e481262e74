"""A target that changes over training, for going where a policy cannot be taken at once.

    madrl.target_schedule=[{step: 0, target: {en: 9, hi: 1}}, {step: 300, target: uniform}]

Between two of its steps the shares are interpolated linearly; after the last they stay what they are. The target is a
function of the step alone, so that a run that goes on trains towards what it would have. What a run is evaluated
against is the last target.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.targets import resolve_target

KEYS = ("step", "target")
"""The keys of each entry."""

EXAMPLE = "[{step: 0, target: {a: 9, b: 1}}, {step: 300, target: uniform}]"


class TargetSchedule(NamedTuple):
    """The targets at some training steps. Hashable."""

    steps: tuple[int, ...]
    """Ascending, the first of them 0."""
    targets: tuple[tuple[float, ...], ...]
    """p* at each of them."""

    @classmethod
    def from_config(cls, node: object, categories: Sequence[str]) -> "TargetSchedule":
        """Check a plain list of {step, target}.

        Raises MadrlError for one that is no such list or has fewer than two entries, for steps that do not ascend from
        0, and as ``resolve_target``.
        """
        where = "madrl.target_schedule"
        if not isinstance(node, Sequence) or isinstance(node, str) or len(node) < 2:
            raise MadrlError(f"{where}={node!r} is not a list of two targets or more: write {where}={EXAMPLE}")
        for entry in node:
            if not isinstance(entry, Mapping) or sorted(entry) != sorted(KEYS):
                raise MadrlError(f"{where} has the entry {entry!r}: give each the keys {list(KEYS)}, as in {EXAMPLE}")
        steps = [entry["step"] for entry in node]
        whole = all(isinstance(step, int) and not isinstance(step, bool) for step in steps)
        if not whole or steps[0] != 0 or any(later <= step for step, later in pairwise(steps)):
            raise MadrlError(f"{where} has the steps {steps}: give whole numbers that ascend from 0")
        targets = [resolve_target(entry["target"], categories).tolist() for entry in node]
        return cls(tuple(steps), tuple(map(tuple, targets)))

    def at(self, step: int) -> NDArray[np.float64]:
        """p* of a training step, shape (K,):

            p*(t) = (1 - w) p*_i + w p*_(i+1),   w = (t - t_i) / (t_(i+1) - t_i),   t_i <= t <= t_(i+1)

        The first training step is 1: it has taken the first part of the way already.
        """
        later = int(np.searchsorted(self.steps, step, side="right"))
        if later == len(self.steps):
            return np.array(self.targets[-1])
        begin, end = self.steps[later - 1], self.steps[later]
        weight = (step - begin) / (end - begin)
        earlier, coming = np.array(self.targets[later - 1 : later + 1])
        target: NDArray[np.float64] = (1.0 - weight) * earlier + weight * coming
        return target
