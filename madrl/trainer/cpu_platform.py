"""A CPU platform for veRL 0.9.1, so that the unmodified trainer runs without an accelerator.

Loaded on request only, never on a GPU host, through veRL's own plug-in variables (``CPU_ENVIRONMENT``). Each
work-around below names what fails without it. None of them touches veRL: they give it a device module, and mend
torch, importlib.metadata and vLLM where a CPU-only build of them differs from what veRL expects.
"""

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

from madrl.trainer.vllm_name import find_vllm_under_its_cpu_name


def _device_module() -> types.ModuleType:
    """``torch.cpu`` with the parts of ``torch.cuda`` that veRL calls: memory figures, caches, random state."""
    module = types.ModuleType("madrl_cpu_device")
    parts = {name: part for name, part in vars(torch.cpu).items() if not name.startswith("__")}
    for name in ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"):
        parts[name] = lambda *args, **kwargs: 0
    silent = ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "synchronize", "set_device")
    for name in (*silent, "manual_seed", "manual_seed_all"):
        parts[name] = lambda *args, **kwargs: None
    parts["mem_get_info"] = lambda *args, **kwargs: (8 << 30, 16 << 30)
    parts["get_device_name"] = lambda *args, **kwargs: "CPU"
    parts["get_rng_state"] = lambda *args, **kwargs: torch.get_rng_state()
    parts["set_rng_state"] = lambda state, *args, **kwargs: torch.set_rng_state(state)
    vars(module).update(parts)
    return module


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    """The CPU as a veRL platform. One "device" is one Ray resource unit called GPU, declared in ``ray.init``."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device_module()

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return False  # never auto-detected: only VERL_PLATFORM=cpu selects it

    def current_device(self) -> torch.device:
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        return False  # weights travel over POSIX shared memory

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        """What a CPU has no need of."""

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = cudart = _nothing


def _accept_duplicate_gloo() -> None:
    """veRL asks for "cpu:gloo,<device>:<backend>", which names the cpu twice here and torch rejects it."""
    original = torch.distributed.init_process_group

    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(backend, str) and backend.replace(" ", "") == "cpu:gloo,cpu:gloo":
            backend = "gloo"
        return original(backend, *args, **kwargs)

    torch.distributed.init_process_group = init_process_group


def _leave_memory_unpinned() -> None:
    """FSDP2's reference policy offloads with pin_memory=True; without an accelerator there is nothing to pin for."""
    torch.Tensor.pin_memory = lambda self, *args, **kwargs: self


def _keep_vllm_weights_live() -> None:
    """vLLM's CPU linear layers pre-pack their weight with oneDNN and drop the parameter, after which no weight update
    can be loaded. Without oneDNN they fall back to torch.nn.functional.linear on the live parameter. This runs in
    vLLM's worker process, which imports vllm first and verl (and so this module) second."""
    import vllm._custom_ops as ops

    ops._supports_onednn = False


if not torch.cuda.is_available():
    _accept_duplicate_gloo()
    find_vllm_under_its_cpu_name()
    _leave_memory_unpinned()
    if "vllm" in sys.modules:
        _keep_vllm_weights_live()
