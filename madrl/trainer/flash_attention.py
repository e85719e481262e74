"""flash-attn, which a run on GPUs can have or do without: whether it is here, and what a run has in its place.

With it sequences are packed without padding, and veRL's FSDP engine calls its kernels (``flash_attention_2``). Without
it they are padded to the longest of their micro-batch, and PyTorch's own attention (``sdpa``) runs on that: the same
loss, and time and memory for the padding. vLLM samples with kernels of its own either way.
"""

import importlib

from omegaconf import DictConfig

from madrl.errors import MadrlError
from madrl.install import FLASH_ATTN


def trouble() -> str | None:
    """Why flash-attn cannot be imported, as the import says it; None when it can. The part that veRL imports counts: a
    wheel that was built for another torch fails there."""
    try:
        importlib.import_module(FLASH_ATTN)
    except (ImportError, OSError) as error:
        return " ".join(str(error).split())
    return None


def with_flash_attn(value: object, otherwise: object) -> object:
    """``value`` where flash-attn can be imported, or else ``otherwise``: the config's resolver of that name."""
    return value if trouble() is None else otherwise


def check_attention(config: DictConfig) -> None:
    """Raises MadrlError for a run that asks for flash-attn where there is none: its trainer would fail when it loads
    the model."""
    if config.trainer.device != "cuda" or config.model_engine != "dp":
        return
    wanted = (config.actor_rollout_ref.model.override_config or {}).get("attn_implementation", "flash_attention_2")
    why = trouble() if wanted == "flash_attention_2" else None
    if why is not None:
        raise MadrlError(
            f"actor_rollout_ref.model.override_config.attn_implementation={wanted} needs flash-attn ({why}): leave it "
            "and use_remove_padding out, or install a wheel (FLASH_ATTN_WHEEL=FILE madrl install gpu)"
        )
