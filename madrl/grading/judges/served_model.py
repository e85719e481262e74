"""A sequence-classification model behind vLLM's ``/classify``."""

import asyncio
from collections.abc import Sequence
from typing import Any

from madrl.grading.judges.json_service import JsonService, UnreadableError
from madrl.grading.judges.sequence_model import Options, Output, Text

CONCURRENCY = 32
"""Requests at a time, of all processes that grade for a run together."""


class ServedModel:
    """The model of ``options`` at ``url``; the server decides the device.

    Raises MadrlError for what JsonService raises it for.
    """

    labels = None
    """The server does not tell them."""

    def __init__(self, options: Options, url: str, deadline_s: float) -> None:
        self._options = options
        self._service = JsonService(url, concurrency=CONCURRENCY, deadline_s=deadline_s)

    async def outputs(self, texts: Sequence[Text], probabilities: bool) -> list[Output]:
        """What the model says of each text. Raises MadrlError when the server does not tell."""
        batches: list[tuple[dict[str, Any], int]]
        if all(isinstance(text, str) for text in texts):
            size = self._options.batch_size
            parts = [texts[start : start + size] for start in range(0, len(texts), size)]
            batches = [({"input": list(part)}, len(part)) for part in parts]
        else:
            batches = [({"messages": text}, 1) for text in texts]
        found = await asyncio.gather(*(self._batch(*batch, probabilities) for batch in batches))
        return [output for outputs in found for output in outputs]

    async def _batch(self, content: dict[str, Any], size: int, probabilities: bool) -> list[Output]:
        body = {
            "model": self._options.model,
            # -1 is what the model takes.
            "truncate_prompt_tokens": -1 if self._options.max_tokens is None else self._options.max_tokens,
            "truncation_side": "right",
            "use_activation": probabilities,
            **content,
        }

        def read(answer: Any) -> list[Output]:
            data = sorted(answer["data"], key=lambda entry: entry["index"])
            if [entry["index"] for entry in data] != list(range(size)):
                raise UnreadableError(f"{len(data)} outputs for {size} texts")
            return [Output(str(entry["label"]), [float(number) for number in entry["probs"]]) for entry in data]

        return await self._service.ask("/classify", body, read)

    def check_ready(self) -> None:
        """Raises MadrlError, with the remedy, when the server is not there or has another model."""
        self._service.check_models(self._options.model, "/v1/models")
