"""A sequence-classification model behind vLLM's ``/classify``."""

import asyncio
from collections.abc import Sequence
from typing import Any

from madrl.grading.judges.json_service import JsonService, UnreadableError
from madrl.grading.judges.sequence_model import Options, Output, Text

CONCURRENCY = 32
"""Requests at a time, of all processes that grade for a run together."""


MODELS = "/v1/models"
"""Lists the models, with how many tokens each takes."""


class ServedModel:
    """The model of ``options`` at ``url``; the server decides the device.

    Raises MadrlError for what JsonService raises it for.
    """

    labels = None
    """The server does not tell them."""

    def __init__(self, options: Options, url: str, deadline_s: float) -> None:
        self._options = options
        self._service = JsonService(url, concurrency=CONCURRENCY, deadline_s=deadline_s)
        self._most_tokens: int | None = None

    async def outputs(self, texts: Sequence[Text], probabilities: bool) -> list[Output]:
        """What the model says of each text. Raises MadrlError when the server does not tell."""
        if self._most_tokens is None:
            self._most_tokens = await self._service.ask(MODELS, None, self._limit)
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
            "truncate_prompt_tokens": self._most_tokens,
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
        self._service.check_models(self._options.model, MODELS)

    def _limit(self, answer: Any) -> int:
        """How many tokens of a text are sent; -1, which is what the model takes, where the server does not tell.

        One less than the model takes: vLLM (0.27 and before, its pull request 48039) never ends a text of all of them
        that it reads in parts, and with it stands every other.
        """
        [takes] = [entry.get("max_model_len") for entry in answer["data"] if entry["id"] == self._options.model]
        limits = [limit for limit in (self._options.max_tokens, takes and takes - 1) if limit]
        return min(limits, default=-1)
