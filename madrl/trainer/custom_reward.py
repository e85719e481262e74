"""The function in veRL's ``reward.custom_reward_function``, loaded as veRL's reward workers load it."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf
from verl.trainer.ppo.reward import get_custom_reward_fn

from madrl.errors import MadrlError
from madrl.grading.compute_score import ComputeScore


def compute_score_of(config: DictConfig) -> ComputeScore | None:
    """The function of a run's config; None where it names none. Raises MadrlError when it cannot be loaded."""
    node = config.reward.custom_reward_function
    return custom_reward_function(node) if node.path else None


def custom_reward_function(node: Mapping[str, Any]) -> ComputeScore:
    """The function that ``path``, ``name`` and ``reward_kwargs`` of ``node`` describe.

    Raises MadrlError when it cannot be loaded.
    """
    where = f"reward.custom_reward_function.path={node['path']}"
    config = OmegaConf.create({"reward": {"custom_reward_function": dict(node)}})
    try:
        function: ComputeScore | None = get_custom_reward_fn(config)
    except (OSError, ImportError, AttributeError, RuntimeError) as error:
        cause = error.__cause__ or error
        raise MadrlError(f"{where}: cannot load {node['name']!r} ({type(cause).__name__}: {cause})") from error
    if function is None:
        raise MadrlError(f"{where}: name the file of the function")
    raw = function.args[0]  # type: ignore[attr-defined]  # veRL binds the kwargs with functools.partial
    if not callable(raw):
        raise MadrlError(f"{where}: {node['name']!r} is a {type(raw).__name__}: name a function")
    return function
