"""MaD-RL's reward as a library: the responses to one prompt in, their rewards out, whatever trains the model.

    reward = madrl.GroupReward(
        categories=["en", "hi", "es"], target={"hi": 1, "es": 1}, classifier="language", verifier="math", alpha=0.7
    )
    score = await reward([madrl.Rollout(response, ground_truth) for response in responses])
    score.reward

Needs no veRL, torch or Ray. ``madrl.trainer.reward_manager`` puts it behind veRL's interface.
"""

import asyncio
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from madrl import calibration
from madrl.attributes import attributes_of, check_reward
from madrl.errors import MadrlError
from madrl.frequency import category_indices
from madrl.grading.classifiers import CLASSIFIERS
from madrl.grading.compute_score import ComputeScore
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, PluginError, name_of
from madrl.grading.programs.replicas import NOT_SERVED
from madrl.grading.threads import in_plugin_thread, shared_loop
from madrl.grading.verifiers import COMPUTE_SCORE
from madrl.prompt_targets import PromptTarget, row_target
from madrl.reward import FurtherAttribute, RewardConfig, score_prompt, what_decides
from madrl.rollout import Grade, GroupScore, Rollout
from madrl.targets import check_categories, resolve_target


class GroupReward:
    """Grades the responses to one prompt and scores them together.

    Args:
        categories: the declared categories, in order.
        target: the distribution over them: ``uniform``, ``peak``, or {category: weight}. Rollouts whose ``extra_info``
            gives a target of the prompt's own (``prompt_targets.row_target``) are scored by that.
        classifier: from a Rollout to its category: a key of CLASSIFIERS, ``pkg.module:name``, a function or a class.
        verifier: from a Rollout to its correctness: a key of VERIFIERS, ``pkg.module:name``, a function or a class.
        classifier_args: the classifier's keyword arguments.
        verifier_args: the verifier's.
        compute_score: a reward function as veRL takes it, for ``verifier="compute_score"``.
        attributes: further attributes beside this one, by name: {"length": {"classifier": ..., "categories": [...],
            "classifier_args": {...}, "target": ..., "weight": 1.0}} (``madrl.attributes``).
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
        classifier_args: Mapping[str, Any] = MappingProxyType({}),
        verifier_args: Mapping[str, Any] = MappingProxyType({}),
        compute_score: ComputeScore | None = None,
        attributes: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        **reward: Any,
    ) -> None:
        known = [field.name for field in fields(RewardConfig)]
        if unknown := [name for name in reward if name not in known]:
            raise MadrlError(f"unknown argument {unknown[0]}={reward[unknown[0]]!r}: the reward takes {known}")
        if classifier is None:
            raise MadrlError(f"classifier None names no category: use one of {sorted(CLASSIFIERS)}, or your own")
        if compute_score is not None and verifier != COMPUTE_SCORE:
            raise MadrlError(
                f"compute_score={name_of(compute_score)} would not be called with verifier={name_of(verifier)}: set "
                f"verifier={COMPUTE_SCORE!r}, or leave it out"
            )
        self.categories = check_categories(categories)
        self.target = resolve_target(target, self.categories)
        self.config = RewardConfig(**reward)
        self.config.check_target(self.target)
        self.attributes = attributes_of(attributes, "attributes")
        check_reward(self.attributes, self.config)
        spec = GraderSpec(
            classifier,
            verifier,
            self.categories,
            classifier_args=classifier_args,
            verifier_args=verifier_args,
            attributes=self.attributes,
        )
        self.grader = Grader(spec, compute_score)

    async def __call__(self, rollouts: Iterable[Rollout], hinted: Sequence[bool] | None = None) -> GroupScore:
        """What all responses to one prompt earn, in their order, with their grades.

        ``hinted`` says of each response whether the model was asked for its category by name, which earns what others
        earn and is not counted (``score_group``); None for none.

        Raises PluginError for a mistake of the classifier or the verifier, and MadrlError for an empty group, for
        responses to prompts of different targets, and for a program in a language that no sandbox has, whose choice
        must not pay. Another response that could not be graded takes the mean correctness of its siblings; one whose
        classifier raised is unclassified, and takes the mean of their distributional terms.
        """
        group = list(rollouts)
        grades = await asyncio.gather(*map(self.grade, group))
        for grade in grades:
            if grade.correctness is None and NOT_SERVED in grade.reason:
                raise MadrlError(grade.reason)
        return await self.of_grades(grades, hinted, self.target_of(rollout.extra_info for rollout in group))

    def score(self, rollouts: Iterable[Rollout], hinted: Sequence[bool] | None = None) -> GroupScore:
        """The group's rewards for a caller that is not async, from any thread, also inside a running event loop.

        Raises PluginError in a classifier or a verifier, async or not: there it could wait for ever.
        """
        loop = shared_loop()
        if loop.is_current() or in_plugin_thread():
            raise PluginError(
                "GroupReward.score was called in a classifier or a verifier: make that async, and write `await "
                "reward(rollouts)` there"
            )
        return loop.start(self(rollouts, hinted)).result()

    async def grade(self, rollout: Rollout) -> Grade:
        """The grade of one response, while its siblings are still being generated; ``of_grades`` scores them later."""
        return await self.grader.grade(rollout)

    def target_of(self, extra_infos: Iterable[Mapping[str, Any]]) -> PromptTarget | None:
        """The target that the data row of a group's prompt gives it, by the ``extra_info`` of each of its responses;
        None where it gives none.

        Raises MadrlError for one that makes no sense, and where they do not agree."""
        found = {row_target(extra_info, self.categories) for extra_info in extra_infos}
        if len(found) > 1:
            raise MadrlError("the responses of one group name different targets in extra_info: they answer one prompt")
        target = next(iter(found), None)
        if target is not None:
            self.config.check_target(target.array)
        return target

    async def of_grades(
        self, grades: Sequence[Grade], hinted: Sequence[bool] | None = None, target: PromptTarget | None = None
    ) -> GroupScore:
        """What the responses to one prompt earn whose grades are there already.

        ``target`` is the prompt's own, which grades do not tell: ``target_of`` the ``extra_info`` of its rollouts. None
        is the one for all. Raises MadrlError for anything else.
        """
        if not isinstance(target, PromptTarget | None):
            raise MadrlError(
                f"target {reprlib.repr(target)} is not what reward.target_of(...) finds: give it the extra_info of the "
                "prompt's rollouts, or leave the target out"
            )
        if self.config.calibrate:  # which takes its time for the first group of a size and a target
            return await asyncio.to_thread(self._score, grades, hinted, target)
        return self._score(grades, hinted, target)

    def prepare(self, group_size: int) -> None:
        """Compute what scoring a group of that size needs, which the first one would otherwise wait for."""
        if self.config.calibrate:
            calibration.offsets(what_decides(self.target, group_size, self.config))

    def _score(self, grades: Sequence[Grade], hinted: Sequence[bool] | None, target: PromptTarget | None) -> GroupScore:
        marks = None if hinted is None else np.array(hinted, dtype=np.bool_)
        further = []
        for name, one in self.attributes.items():
            of_each = [grade.attributes[name] for grade in grades]
            classified = [of.classified for of in of_each]
            indices = category_indices([of.category for of in of_each], one.categories, classified)
            further.append(FurtherAttribute(indices, one.target, one.weight))
        score = score_prompt(
            [grade.category for grade in grades],
            [grade.correctness for grade in grades],
            target or PromptTarget.of(self.categories, self.target),
            self.categories,
            self.config,
            marks,
            [grade.classified for grade in grades],
            further,
        )
        return replace(score, grades=tuple(grades))
