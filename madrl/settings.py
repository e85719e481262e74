"""The ``madrl`` node of the run's config, checked once: what the categories are and how a group is rewarded."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.reward import HINTED_FORMS, RewardConfig
from madrl.targets import check_categories, resolve_target

LAUNCH_CHECKS = ("stop", "warn")

NULLABLE = ("naming",)
"""Keys whose value may be null."""

NEWER = ("hints", "max_idle_s")
"""Keys that the config of an older run, which is read again to evaluate it, does not have."""


@dataclass(frozen=True)
class Settings:
    """The checked ``madrl`` node (its fields, with comments, are in ``madrl/config/train.yaml``)."""

    task: str
    profile: str
    categories: tuple[str, ...]
    target: NDArray[np.float64]
    """p*, shape (K,), in the order of ``categories``."""
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

    @property
    def could_hint(self) -> bool:
        """Whether ``madrl.hints`` is 0 and could be more."""
        return not self.hints and self.naming is not None and self.reward.form in HINTED_FORMS

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
        target = resolve_target(node["target"], categories)
        reward = RewardConfig(**node["reward"])
        reward.check_target(target)
        _check_hints(node, reward)
        texts = {name: str(node[name]) for name in ("task", "profile", "classifier", "verifier", "launch_check")}
        return cls(
            **texts,
            categories=categories,
            target=target,
            naming=node["naming"] and str(node["naming"]),
            reward=reward,
            max_ungraded_rate=float(rate),
            hints=node.get("hints", 0),
            max_idle_s=float(idle),
        )


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


def _check_names(where: str, node: Any, names: list[str]) -> None:
    if not isinstance(node, Mapping):
        raise MadrlError(f"{where}={node!r} is not a mapping: its keys are {names}")
    unknown = [key for key in node if key not in names]
    if unknown:
        raise MadrlError(f"unknown key {where}.{unknown[0]}: the keys are {names}")
