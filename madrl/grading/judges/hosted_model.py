"""A Hugging Face sequence-classification model for a classifier or a verifier: in a process of its own
(model_process.py), or behind vLLM's ``/classify`` (served_model.py)."""

from typing import TYPE_CHECKING

from madrl.errors import MadrlError
from madrl.extras import require
from madrl.grading.judges.model_process import ModelProcess
from madrl.grading.judges.prompt_template import without_special_tokens
from madrl.grading.judges.sequence_model import Options

if TYPE_CHECKING:
    from madrl.grading.judges.served_model import ServedModel

BATCH_SIZE = 32
DEADLINE_S = 600.0

EMPTY = "empty"
"""The reason when there is nothing to read in a response."""


def hosted_model(
    model: str, *, batch_size: int, max_tokens: int | None, device: str, url: str | None, deadline_s: float
) -> "ModelProcess | ServedModel":
    """The model that these arguments name, in a process of its own or served. Raises MadrlError for one that makes no
    sense, and when an extra is not installed."""
    for name, number in (("batch_size", batch_size), ("max_tokens", max_tokens)):
        if number is not None and number < 1:
            raise MadrlError(f"{name}={number} must be at least 1")
    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise MadrlError(f"device={device!r} is unknown: use cpu, cuda or cuda:N")
    options = Options(model, device, batch_size, max_tokens)
    if url is None:
        return ModelProcess(options)
    require("judges")
    from madrl.grading.judges.served_model import ServedModel

    return ServedModel(options, url, deadline_s)


def plain_text(response: str) -> str:
    """What a tokenizer can read of a response, and what ends or begins nothing in a model's format; empty when there is
    nothing but white space."""
    return without_special_tokens(response.encode("utf-8", "replace").decode()) if response.strip() else ""
