"""Work for the GPUs of a Ray cluster: its head often has none, and jobs beside ours use some."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from madrl.verifiers.program import URLS_VARIABLE

FORWARDED = ("PYTHONPATH", URLS_VARIABLE)
"""Variables of ours that every Ray worker gets, also on a cluster that runs already. No secrets: veRL logs them."""

R = TypeVar("R")


def forwarded() -> dict[str, str]:
    """FORWARDED, as far as they are set here."""
    return {name: os.environ[name] for name in FORWARDED if name in os.environ}


def on_gpu_node(address: str, gpus: int, work: Callable[..., R], *arguments: Any) -> R:
    """What ``work(*arguments)`` returns, run once in a process with ``gpus`` GPUs of the Ray cluster at ``address``.

    Its output appears here. Waits until that many GPUs of one node are free. Raises what ``work`` raises.
    """
    import ray
    from ray.exceptions import RayTaskError

    ray.init(address=address, runtime_env={"env_vars": forwarded()})
    try:
        result: R = ray.get(ray.remote(num_gpus=gpus, max_retries=0)(work).remote(*arguments))
        return result
    except RayTaskError as error:
        raise error.cause from None
    finally:
        ray.shutdown()
