"""The GPUs of this machine, as torch sees them."""

from importlib.util import find_spec


def gpus_seen() -> int:
    """How many GPUs torch sees; none where there is no torch."""
    if find_spec("torch") is None:
        return 0
    import torch

    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
