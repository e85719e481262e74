"""The ``madrl`` node of the run's config, checked once: what the categories are and how a group is rewarded."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.attributes import Attribute, attributes_of, check_reward
from madrl.errors import MadrlError
from madrl.reward import HINTED_FORMS, RewardConfig
from madrl.target_schedule import TargetSchedule
from madrl.targets import check_categories, resolve_target

LAUNCH_CHECKS = ("stop", "warn")

NULLABLE = ("naming",)
"""Keys whose value may be null."""

NEWER = ("hints", "max_idle_s", "classifier_args", "verifier_args", "target_schedule", "attributes")
"""Keys that the config of an older run, which is read again to evaluate it, does not have."""


ARGUMENTS = ("classifier_args", "verifier_args")
"""Keys whose values are the keyword arguments of the plug-in that is named beside them."""


@dataclass(frozen=True)
class Settings:
    """The checked ``madrl`` node (its fields, with comments, are in ``madrl/config/train.yaml``)."""

    task: str
    profile: str
    categories: tuple[str, ...]
    target: NDArray[np.float64]
    """p*, shape (K,), in the order of ``categories``: of the prompts that have none of their own in the data, and of a
    schedule the last."""
    classifier: str
    verifier: str
    naming: str | None
    """How a prompt asks for a category; None where none can."""
    reward: RewardConfig
    max_ungraded_rate: float
    launch_check: str
    """One of LAUNCH_CHECKS: what becomes of a run whose first batch cannot steer (``madrl.launch_check``)."""
    hints: int = 0
    """How many responses of each group are asked for a wanted category that the policy hardly samples."""
    max_idle_s: float = 21600.0
    """Seconds that a step may wait without a response coming back."""
    classifier_args: Mapping[str, Any] = field(default_factory=dict)
    verifier_args: Mapping[str, Any] = field(default_factory=dict)
    target_schedule: TargetSchedule | None = None
    """The targets over the training steps; None where they are all the same."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """The further attributes that are steered beside the first (``madrl.attributes``), by name."""

    def target_at(self, step: int) -> NDArray[np.float64]:
        """p* of a training step, shape (K,)."""
        return self.target if self.target_schedule is None else self.target_schedule.at(step)

    @property
    def could_hint(self) -> bool:
        """Whether ``madrl.hints`` is 0 and could be more."""
        named = self.naming is not None and not self.attributes
        return not self.hints and named and self.reward.form in HINTED_FORMS

    def of_attribute(self, name: str) -> "Settings":
        """The same with a further attribute in the place of the first: what its numbers are measured against."""
        one = self.attributes[name]
        return replace(
            self,
            categories=one.categories,
            target=one.target,
            classifier=str(one.classifier),
            classifier_args=one.classifier_args,
            naming=None,
            target_schedule=None,
        )

    @classmethod
    def from_config(cls, node: Mapping[str, Any]) -> "Settings":
        """Check a plain mapping (an OmegaConf node after ``to_container``).

        Raises MadrlError for a missing or unknown key and for every value that the parts reject.
        """
        _check_keys("madrl", node, [f.name for f in fields(cls)])
        _check_names("madrl.reward", node["reward"], [f.name for f in fields(RewardConfig)])
        if not isinstance(node["categories"], list | tuple):
            raise MadrlError(f"madrl.categories={node['categories']!r} is not a list: write madrl.categories=[a,b,c]")
        categories = check_categories(node["categories"])
        rate = node["max_ungraded_rate"]
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0.0 <= rate <= 1.0:
            raise MadrlError(f"madrl.max_ungraded_rate={rate!r} is not a number in [0, 1]")
        idle = node.get("max_idle_s", cls.max_idle_s)
        if isinstance(idle, bool) or not isinstance(idle, int | float) or not idle > 0.0:
            raise MadrlError(f"madrl.max_idle_s={idle!r} is not a number of seconds above 0")
        if node["launch_check"] not in LAUNCH_CHECKS:
            raise MadrlError(f"madrl.launch_check={node['launch_check']!r} is not one of {list(LAUNCH_CHECKS)}")
        arguments = {name: dict(_mapping(f"madrl.{name}", node.get(name) or {})) for name in ARGUMENTS}
        target = resolve_target(node["target"], categories)
        reward = RewardConfig(**node["reward"])
        reward.check_target(target)
        schedule = _schedule(node, categories, target, reward)
        _check_hints(node, reward)
        attributes = attributes_of(node.get("attributes") or {})
        check_reward(attributes, reward)
        if attributes and node.get("hints"):
            raise MadrlError(
                f"madrl.hints={node['hints']} with madrl.attributes: a hint asks for a category of one attribute; set "
                "madrl.hints=0"
            )
        return cls(
            task=str(node["task"]),
            profile=str(node["profile"]),
            classifier=str(node["classifier"]),
            verifier=str(node["verifier"]),
            launch_check=str(node["launch_check"]),
            categories=categories,
            target=target,
            naming=node["naming"] and str(node["naming"]),
            reward=reward,
            max_ungraded_rate=float(rate),
            hints=node.get("hints", 0),
            max_idle_s=float(idle),
            classifier_args=arguments["classifier_args"],
            verifier_args=arguments["verifier_args"],
            target_schedule=schedule,
            attributes=attributes,
        )


def _schedule(
    node: Mapping[str, Any], categories: tuple[str, ...], target: NDArray[np.float64], reward: RewardConfig
) -> TargetSchedule | None:
    """The node's schedule, which ends in its target."""
    if node.get("target_schedule") is None:
        return None
    schedule = TargetSchedule.from_config(node["target_schedule"], categories)
    for scheduled in schedule.targets:
        reward.check_target(np.array(scheduled))
    if not np.allclose(target, schedule.targets[-1]):
        raise MadrlError(
            f"madrl.target={node['target']!r} beside madrl.target_schedule, which ends in "
            f"{node['target_schedule'][-1]['target']!r}: leave madrl.target out, or set it to that"
        )
    return schedule


def _check_hints(node: Mapping[str, Any], reward: RewardConfig) -> None:
    hints = node.get("hints", 0)
    if isinstance(hints, bool) or not isinstance(hints, int) or hints < 0:
        raise MadrlError(f"madrl.hints={hints!r} is not a whole number of 0 or more")
    if hints and node["naming"] is None:
        raise MadrlError(f"madrl.hints={hints}: no prompt of the task asks for its categories; set madrl.naming")
    if hints and reward.form not in HINTED_FORMS:
        raise MadrlError(
            f"madrl.hints={hints} with madrl.reward.form={reward.form}: it does not reward a category for being rare; "
            f"use one of {list(HINTED_FORMS)}"
        )


def _check_keys(where: str, node: Any, names: list[str]) -> None:
    _check_names(where, node, names)
    missing = [
        name
        for name in names
        if node.get(name) is None and name not in NEWER and (name not in NULLABLE or name not in node)
    ]
    if missing:
        raise MadrlError(f"{where}.{missing[0]} is not set: choose a task, or set it on the command line")


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MadrlError(f"{where}={value!r} is not a mapping: write {where}={{name: value}}")
    return value


def _check_names(where: str, node: Any, names: list[str]) -> None:
    if not isinstance(node, Mapping):
        raise MadrlError(f"{where}={node!r} is not a mapping: its keys are {names}")
    unknown = [key for key in node if key not in names]
    if unknown:
        raise MadrlError(f"unknown key {where}.{unknown[0]}: the keys are {names}")
