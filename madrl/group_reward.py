"""MaD-RL's reward as a library: the responses to one prompt in, their rewards out, whatever trains the model.

    reward = madrl.GroupReward(
        categories=["en", "hi", "es"], target={"hi": 1, "es": 1}, classifier="language", verifier="math", alpha=0.7
    )
    score = await reward([madrl.Rollout(response, ground_truth) for response in responses])
    score.reward

Needs no veRL, torch or Ray. ``madrl.trainer.reward_manager`` puts it behind veRL's interface.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from madrl import calibration
from madrl.errors import MadrlError
from madrl.frequency import category_indices
from madrl.grading.compute_score import ComputeScore
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin
from madrl.grading.threads import shared_loop
from madrl.reward import RewardConfig, score_group, what_decides
from madrl.rollout import Grade, GroupScore, Rollout
from madrl.targets import check_categories, resolve_target


class GroupReward:
    """Grades the responses to one prompt and scores them together.

    Args:
        categories: the declared categories, in order.
        target: the distribution over them: ``uniform``, ``peak``, or {category: weight}.
        classifier: from a Rollout to its category: a key of CLASSIFIERS, ``pkg.module:name``, or a function.
        verifier: from a Rollout to its correctness: a key of VERIFIERS, ``pkg.module:name``, or a function.
        compute_score: a reward function as veRL takes it, for ``verifier="compute_score"``.
        reward: the fields of RewardConfig, such as ``alpha``, ``divergence`` and ``form``.

    Raises MadrlError for a value that makes no sense, and for a classifier or a verifier that cannot be loaded.
    """

    def __init__(
        self,
        *,
        categories: Sequence[str],
        target: str | Mapping[str, float] = "uniform",
        classifier: Plugin,
        verifier: Plugin,
        compute_score: ComputeScore | None = None,
        **reward: Any,
    ) -> None:
        known = [field.name for field in fields(RewardConfig)]
        if unknown := [name for name in reward if name not in known]:
            raise MadrlError(f"unknown argument {unknown[0]}={reward[unknown[0]]!r}: the reward takes {known}")
        self.categories = check_categories(categories)
        self.target = resolve_target(target, self.categories)
        self.config = RewardConfig(**reward)
        self.config.check_target(self.target)
        self.grader = Grader(GraderSpec(classifier, verifier, self.categories), compute_score)

    async def __call__(self, rollouts: Iterable[Rollout], hinted: Sequence[bool] | None = None) -> GroupScore:
        """What all responses to one prompt earn, in their order, with their grades.

        ``hinted`` says of each response whether the model was asked for its category by name, which earns what others
        earn and is not counted (``score_group``); None for none.

        Raises PluginError for a mistake of the classifier or the verifier, and MadrlError for an empty group. A
        response whose verifier raised is ungraded, and takes the mean correctness of its siblings.
        """
        return await self.of_grades(await asyncio.gather(*map(self.grade, rollouts)), hinted)

    def score(self, rollouts: Iterable[Rollout], hinted: Sequence[bool] | None = None) -> GroupScore:
        """The group's rewards for a caller that is not async, from any thread, also inside a running event loop.

        Raises MadrlError in a classifier or a verifier that ``score`` itself called: there it would wait for ever.
        """
        loop = shared_loop()
        if loop.is_current():
            raise MadrlError("GroupReward.score was called by what it calls: write `await reward(rollouts)` there")
        return loop.start(self(rollouts, hinted)).result()

    async def grade(self, rollout: Rollout) -> Grade:
        """The grade of one response, while its siblings are still being generated; ``of_grades`` scores them later."""
        return await self.grader.grade(rollout)

    async def of_grades(self, grades: Sequence[Grade], hinted: Sequence[bool] | None = None) -> GroupScore:
        """What the responses to one prompt earn whose grades are there already."""
        if self.config.calibrate:  # which takes its time for the first group of a size
            return await asyncio.to_thread(self._score, grades, hinted)
        return self._score(grades, hinted)

    def prepare(self, group_size: int) -> None:
        """Compute what scoring a group of that size needs, which the first one would otherwise wait for."""
        if self.config.calibrate:
            calibration.offsets(what_decides(self.target, group_size, self.config))

    def _score(self, grades: Sequence[Grade], hinted: Sequence[bool] | None) -> GroupScore:
        indices = category_indices([grade.category for grade in grades], self.categories)
        marks = None if hinted is None else np.array(hinted, dtype=np.bool_)
        score = score_group(indices, [grade.correctness for grade in grades], self.target, self.config, marks)
        return replace(score, grades=tuple(grades))
