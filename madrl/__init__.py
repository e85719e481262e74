"""MaD-RL: match a user's target distribution over a category of an LLM's responses with GRPO.

The paper is "MaD-RL: Matching Distributions for Calibrating LLMs with Reinforcement Learning".

    reward = madrl.GroupReward(categories=["en", "hi", "es"], classifier="language", verifier="math")
    score = reward.score([madrl.Rollout(response, ground_truth) for response in responses])

The names below are imported when they are first used, so that ``import madrl`` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from madrl.divergence import DIVERGENCES
    from madrl.errors import MadrlError
    from madrl.evaluation.metrics import jsd_floor
    from madrl.frequency import OFF_SUPPORT, UNCLASSIFIED, category_indices
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.grader import Grader, GraderSpec
    from madrl.grading.plugins import PluginError
    from madrl.grading.verifiers import VERIFIERS
    from madrl.group_reward import GroupReward
    from madrl.reward import RewardConfig, score_group
    from madrl.rollout import Classification, Grade, GroupScore, Rollout, Verdict, Verification
    from madrl.targets import TARGETS, resolve_target

__version__ = "0.1.0"

_NAMES = {
    "divergence": "DIVERGENCES",
    "errors": "MadrlError",
    "evaluation.metrics": "jsd_floor",
    "frequency": "OFF_SUPPORT UNCLASSIFIED category_indices",
    "grading.classifiers": "CLASSIFIERS",
    "grading.grader": "Grader GraderSpec",
    "grading.plugins": "PluginError",
    "grading.verifiers": "VERIFIERS",
    "group_reward": "GroupReward",
    "reward": "RewardConfig score_group",
    "rollout": "Classification Grade GroupScore Rollout Verdict Verification",
    "targets": "TARGETS resolve_target",
}
_MODULE_OF = {name: f"madrl.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CLASSIFIERS", "DIVERGENCES", "OFF_SUPPORT", "TARGETS", "UNCLASSIFIED", "VERIFIERS", "Classification", "Grade",
    "Grader", "GraderSpec", "GroupReward", "GroupScore", "MadrlError", "PluginError", "RewardConfig", "Rollout",
    "Verdict", "Verification", "category_indices", "jsd_floor", "resolve_target", "score_group",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'madrl' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
