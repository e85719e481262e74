"""A sequence-classification model in a process of its own: texts come in, the outputs of the model's head go out.

The process of ``python -m madrl.grading.judges.sequence_model``, whose other end is model_process.py. It ends when its
connection closes, which is when its parent ends.
"""

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

Text = str | Sequence[dict[str, str]]
"""A text, or the turns of a conversation, which the tokenizer's chat template makes one."""

UNLIMITED = 1 << 30
"""A tokenizer whose model has no limit names one beyond this."""


class Options(NamedTuple):
    """What decides the outputs."""

    model: str
    """A folder, or a name on the Hugging Face hub."""
    device: str
    """cpu, cuda or cuda:N."""
    batch_size: int
    max_tokens: int | None
    """Of a longer text the beginning is left; None, and whatever is more than that, is what the model takes."""


class Output(NamedTuple):
    """What the model says of one text."""

    label: str
    """The label of the greatest number."""
    numbers: list[float]
    """One for each label: probabilities, or what the model's head gives out (logits)."""


class SequenceModel:
    """The model, loaded. Raises ValueError when it has no head of its own or there is no such device."""

    def __init__(self, options: Options) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        if options.device != "cpu" and not torch.cuda.is_available():
            seen = os.environ.get("CUDA_VISIBLE_DEVICES")
            raise ValueError(f"no GPU is visible here (CUDA_VISIBLE_DEVICES={seen}): serve the model, or use the cpu")
        self._options = options
        self._tokenizer = AutoTokenizer.from_pretrained(options.model)
        self._model, found = AutoModelForSequenceClassification.from_pretrained(
            options.model, dtype=torch.float32 if options.device == "cpu" else "auto", output_loading_info=True
        )
        if found["missing_keys"]:
            raise ValueError(
                f"{options.model} is no sequence-classification model: it has no {sorted(found['missing_keys'])}"
            )
        self._model.to(options.device).eval()
        limits = (options.max_tokens, self._tokenizer.model_max_length, _positions(self._model))
        self._max_tokens = min(limit for limit in limits if limit is not None)
        config = self._model.config
        self.labels = tuple(str(config.id2label[number]) for number in range(config.num_labels))

    def outputs(self, texts: Sequence[Text], probabilities: bool) -> list[Output]:
        """What the model says of each text, in order."""
        import torch

        tokens = [self._tokens(text) for text in texts]
        found: dict[int, Output] = {}
        with torch.inference_mode():
            for numbers in self._batches(tokens):
                logits = self._model(**self._padded([tokens[number] for number in numbers])).logits.float()
                rows = self._probabilities(logits) if probabilities else logits
                for number, best, row in zip(numbers, logits.argmax(-1).tolist(), rows.tolist(), strict=True):
                    found[number] = Output(self.labels[best], row)
        return [found[number] for number in range(len(texts))]

    def _probabilities(self, logits: Any) -> Any:
        """As the model was trained: each label a question of its own, or all of them one."""
        if len(self.labels) == 1 or self._model.config.problem_type == "multi_label_classification":
            return logits.sigmoid()
        return logits.softmax(-1)

    def _tokens(self, text: Text) -> list[int]:
        is_plain = isinstance(text, str)
        plain = text if is_plain else self._tokenizer.apply_chat_template(text, tokenize=False)
        cut = {"truncation": True, "max_length": self._max_tokens} if self._max_tokens < UNLIMITED else {}
        tokens: list[int] = self._tokenizer(plain, add_special_tokens=is_plain, **cut)["input_ids"]
        return tokens or [self._tokenizer.eos_token_id or 0]

    def _batches(self, tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """The texts' numbers, those of similar length together."""
        numbers = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        for start in range(0, len(numbers), self._options.batch_size):
            yield numbers[start : start + self._options.batch_size]

    def _padded(self, batch: Sequence[Sequence[int]]) -> dict[str, Any]:
        import torch

        padding = self._tokenizer.pad_token_id
        if padding is None or padding == self._tokenizer.eos_token_id:
            # A decoder's head reads the last token that is no padding, and a conversation may end with that very token.
            used = set().union(*batch)
            padding = next(token for token in range(len(used) + 1) if token not in used)
        self._model.config.get_text_config().pad_token_id = padding
        longest = max(map(len, batch))
        rows = [[*tokens, *[padding] * (longest - len(tokens))] for tokens in batch]
        mask = [[1] * len(tokens) + [0] * (longest - len(tokens)) for tokens in batch]
        device = self._options.device
        return {
            "input_ids": torch.tensor(rows, device=device),
            "attention_mask": torch.tensor(mask, device=device),
        }


def _positions(model: Any) -> int | None:
    """The tokens that the model has positions for; None when it sets no limit."""
    limit: int | None = getattr(model.config, "max_position_embeddings", None)
    if limit is None or limit < 1:
        return None
    for module in model.modules():
        padding = getattr(getattr(module, "position_embeddings", None), "padding_idx", None)
        if padding is not None:  # RoBERTa and its kin number positions from there on
            return limit - int(padding) - 1
    return limit


def answer(connection: Connection) -> None:
    """Options come in and the labels go out, then the arguments of ``outputs`` and what it returns; in place of either
    a str, when there is none: why."""
    try:
        model = SequenceModel(connection.recv())
    except Exception as error:  # whatever the libraries raise for a model that they cannot load
        traceback.print_exc()
        connection.send(_why(error))
        return
    connection.send(model.labels)
    while True:
        arguments = connection.recv()
        try:
            found: list[Output] | str = model.outputs(*arguments)
        except Exception as error:  # no memory on the GPU, a tokenizer without a chat template
            traceback.print_exc()
            found = _why(error)
        connection.send(found)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def main(descriptor: str) -> None:
    """The process."""
    try:
        answer(Connection(int(descriptor)))
    except (EOFError, OSError, KeyboardInterrupt):  # whoever asked is gone, or leaving
        os._exit(1)
    os._exit(0)  # past the libraries' own clean-up


if __name__ == "__main__":
    from madrl.grading.judges import sequence_model  # its records must not be those of __main__ when they are pickled

    sequence_model.main(*sys.argv[1:])
