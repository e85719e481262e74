"""What ``madrl doctor`` looks at on a host with GPUs: driver, toolkit, torch, flash-attn, and the CPUs that Ray counts.

All of it is asked of the host itself: ``nvidia-smi`` and ``nvcc`` on PATH, and the packages of this environment. What
this does not cover: links between GPUs, the network between nodes, and whether a kernel runs.
"""

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from madrl.gpus import gpus_seen
from madrl.install import WITHOUT_FLASH_ATTN, installed_stack

OLDEST_DRIVERS = {12: 525, 13: 580}
"""The major version of the CUDA that torch was built for -> the oldest driver that runs it (NVIDIA, CUDA Compatibility:
a driver runs every minor version of its own major one, and all earlier ones)."""

ANSWER_S = 60.0
"""How long nvidia-smi and nvcc may take. A driver that hangs does not answer at all."""


class Check(NamedTuple):
    """One line of the report."""

    name: str
    ok: bool | None
    """Whether the check passed; None for what is not needed here and only said for information."""
    detail: str
    remedy: str = ""


def is_meant_for_gpus() -> bool:
    """Whether this host or environment was made for the gpu profile: nvidia-smi is here, or the stack for GPUs."""
    return shutil.which("nvidia-smi") is not None or installed_stack() == "gpu"


def driver() -> list[Check]:
    """The driver, and whether it is new enough for this environment's torch."""
    import torch

    said = _answer("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    found = re.match(r"(\d+)\.[\d.]+", said or "")
    if found is None:
        detail = "no nvidia-smi on PATH" if said is None else f"nvidia-smi says: {said[:200] or 'nothing'}"
        return [Check("driver", False, detail, f"install NVIDIA's driver, {max(OLDEST_DRIVERS.values())} or newer")]
    name, built_for = found[0], torch.version.cuda
    if built_for is None:
        return [Check("driver", True, name)]  # of torch the check `gpu` says more
    oldest = OLDEST_DRIVERS.get(int(built_for.split(".")[0]))
    if oldest is None:
        return [Check("driver", None, f"{name}; torch is built for CUDA {built_for}, whose oldest driver is not known")]
    fits = int(found[1]) >= oldest
    remedy = "" if fits else f"install a driver of {oldest} or newer"
    return [Check("driver", fits, f"{name}; torch is built for CUDA {built_for}, which runs from {oldest} on", remedy)]


def toolkit() -> list[Check]:
    """CUDA's compiler. Nothing that we install needs it: it is what flash-attn from source, and kernels that vLLM
    compiles for some models, are built with."""
    import torch

    said = _answer("nvcc", "--version")
    found = re.search(r"release (\d+)(\.\d+)", said or "")
    if found is None:
        detail = "no nvcc on PATH" if said is None else f"nvcc says: {said[:200]}"
        return [Check("nvcc", None, f"{detail}; needed only to build kernels from source, such as flash-attn's")]
    release, built_for = found[1] + found[2], torch.version.cuda
    if built_for is not None and built_for.split(".")[0] != found[1]:
        detail = f"CUDA {release}, and torch is built for CUDA {built_for}: kernels that are built here do not load"
        return [Check("nvcc", None, detail, f"for kernels from source, put the toolkit of CUDA {built_for} on PATH")]
    return [Check("nvcc", True, f"CUDA {release}")]


def accelerator(needs_gpu: bool) -> list[Check]:
    """The GPUs that torch sees."""
    import torch

    count = gpus_seen()
    if count == 0 and not needs_gpu:
        return [Check("gpu", None, "none: PROFILE=tiny and PROFILE=small run here, PROFILE=gpu does not")]
    if count == 0:
        remedy = "see the driver's check; or PROFILE=tiny, which runs on CPU cores"
        if torch.version.cuda is None:
            remedy = f"torch {torch.__version__} is built without CUDA: madrl install gpu in an environment of its own"
        elif "CUDA_VISIBLE_DEVICES" in os.environ:
            remedy = f"CUDA_VISIBLE_DEVICES={os.environ['CUDA_VISIBLE_DEVICES']} hides them: unset it"
        return [Check("gpu", False, "torch sees no GPU, and the gpu profile trains on nothing else", remedy)]
    return [Check("gpu", True, f"{count} x {torch.cuda.get_device_name(0)}")]


def flash_attention() -> list[Check]:
    """Whether flash-attn can be imported. A run does without one that is not installed; one that cannot be imported
    was built for something else."""
    from madrl.trainer.flash_attention import trouble

    try:
        installed = version("flash-attn")
    except PackageNotFoundError:
        return [Check("flash-attn", None, WITHOUT_FLASH_ATTN)]
    if why := trouble():
        remedy = "pip uninstall flash-attn, then FLASH_ATTN_WHEEL=FILE madrl install gpu with a wheel for this torch"
        return [Check("flash-attn", False, f"{installed} cannot be imported: {why}", remedy)]
    return [Check("flash-attn", True, installed)]


def room_for(config: Any) -> list[Check]:
    """Whether the host has the GPUs that the run of ``config`` wants on a node, and Ray the CPUs that it holds there;
    with fewer it waits for ever."""
    from madrl.trainer.ray_cpus import cpus_needed, cpus_of_own_ray, too_few

    seen, wanted = gpus_seen(), config.trainer.n_gpus_per_node
    few = f"the run wants {wanted} on a node, and torch sees {seen}"
    found = [Check("gpus", False, few, f"set trainer.n_gpus_per_node={seen}")] if 0 < seen < wanted else []
    needed = f"{cpus_needed(config)} for {config.trainer.n_gpus_per_node} GPUs a node"
    if config.ray_kwargs.ray_init.get("address") != "local":
        return [
            *found,
            Check("ray cpus", None, f"{needed}, on every node of the cluster in RAY_ADDRESS (`ray status`)"),
        ]
    why = too_few(config)
    detail, _, remedy = (why or f"{cpus_of_own_ray(config)} here; {needed}").partition(": ")
    return [*found, Check("ray cpus", why is None, detail, remedy)]


def _answer(*command: str) -> str | None:
    """What a program prints; None where there is none."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stdout if done.returncode == 0 else f"{done.stdout} {done.stderr}").strip()
