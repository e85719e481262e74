"""Loading our plug-ins the way veRL does, and scoring one group through them: what `madrl doctor` proves."""

import asyncio
import os
import subprocess
import sys
from typing import Any

import torch
from omegaconf import DictConfig
from verl.experimental.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics
from verl.trainer.ppo.reward import load_reward_manager, resolve_reward_manager_cls
from verl.utils.import_utils import load_class_from_fqn, load_extern_object

from madrl.errors import MadrlError
from madrl.grading.choice import choice_ground_truth
from madrl.process import CPU_ENVIRONMENT
from madrl.trainer.compose import compose
from madrl.trainer.group_loop import Arrival, group_data

OPTIONS = ("Arctic", "Atlantic", "Indian", "Pacific", "Southern")


def _probe_config() -> DictConfig:
    return compose(["task=synthetic_closed", "madrl.target=peak", "trainer.experiment_name=probe"])


def loaded_plugins() -> dict[str, str]:
    """The class that veRL finds under our config for each plug-in, loaded with veRL's own loader.

    Raises MadrlError when veRL would run something else.
    """
    config = _probe_config()
    manager = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class, "AgentLoopManager")
    sampler = config.trainer.v1.sampler.custom_sampler
    found: dict[str, Any] = {
        "reward manager": resolve_reward_manager_cls(config),
        "group loop": manager,
        "sampler": load_extern_object(sampler.path, sampler.name),
    }
    where = {name: f"{plugin.__module__}.{plugin.__qualname__}" for name, plugin in found.items()}
    for name, path in where.items():
        if not path.startswith("madrl."):
            raise MadrlError(f"veRL would run {path} as {name}, not ours: another plug-in overrides the config")
    if not torch.cuda.is_available():
        where["cpu platform"] = _cpu_platform()
    return where


def _cpu_platform() -> str:
    """The platform that veRL selects in a fresh process with our CPU environment; a failed import would be silent."""
    code = (
        "from verl.plugin.platform import get_platform; p = type(get_platform()); print(p.__module__, p.__qualname__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | CPU_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    path = ".".join(done.stdout.split()[-2:])
    if path != "madrl.trainer.cpu_platform.PlatformCPU":
        raise MadrlError(f"veRL selects {path or 'no platform'} on the CPU, not ours: {done.stderr.strip()[-300:]}")
    return path


class _Words:
    """A tokenizer of whole words: enough to decode the probe's responses without downloading one."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool = True) -> str:
        return " ".join(self.words[i] for i in ids.tolist())


def score_one_group() -> list[float]:
    """The rewards of one group of five answers, computed by the reward manager that veRL builds from the config.

    Two answers are of the first rank, one each of the third and the fourth, and one of none. Raises MadrlError unless
    the wanted ranks, the third and the fourth, earn the most.
    """
    words = [OPTIONS[0], OPTIONS[0], OPTIONS[2], OPTIONS[3], "nothing"]
    manager = load_reward_manager(_probe_config(), _Words(words))
    row = {
        "uid": "probe",
        "data_source": "probe",
        "reward_model": {"ground_truth": choice_ground_truth(OPTIONS)},
        "extra_info": {"split": "probe", "index": 0},
    }
    arrivals = [
        Arrival(AgentLoopOutput(prompt_ids=[0], response_ids=[i], response_mask=[1], metrics=AgentLoopMetrics()), row)
        for i in range(len(words))
    ]
    rewards: list[float] = asyncio.run(manager.run_single(group_data(arrivals, {})))["reward_score"]
    if not min(rewards[2:4]) > max(*rewards[:2], rewards[4]):
        raise MadrlError(f"the group reward is wrong: {rewards} for two excluded, two wanted and one invalid answer")
    return rewards
