"""The classifier ``text_classification``: the label of a Hugging Face sequence-classification model, as a category.

A model that cannot be asked raises, so that the responses' categories are ungraded.
"""

import math
from collections.abc import Mapping, Sequence

from madrl.errors import MadrlError, check_texts
from madrl.grading.judges.hosted_model import BATCH_SIZE, DEADLINE_S, EMPTY, hosted_model, plain_text
from madrl.grading.judges.sequence_model import Output
from madrl.rollout import Classification, Rollout

UNSURE = "unsure"
"""The reason when the label's probability is below the threshold."""


class TextClassification:
    """The most probable label of a response, as a category.

    Args:
        model: a folder, or a name on the Hugging Face hub; with ``url`` the name that the server gives it.
        labels: the model's label -> category. A response with a label that is not there is off-support.
        threshold: the least probability of a label; a response below it is off-support.
        batch_size: texts at a time.
        max_tokens: of a longer response the beginning is left; None is what the model takes.
        device: cpu, cuda or cuda:N.
        url: a vLLM server with the model, such as http://HOST:8000, in place of a process here.
        deadline_s: the time for the server's answer, with all repetitions.

    Raises MadrlError for labels that name no declared category, a number that makes no sense, and an extra that is not
    installed.
    """

    def __init__(
        self,
        *,
        model: str,
        labels: Mapping[str, str],
        categories: Sequence[str] = (),
        threshold: float = 0.0,
        batch_size: int = BATCH_SIZE,
        max_tokens: int | None = None,
        device: str = "cpu",
        url: str | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        check_texts("labels: label", labels)
        check_texts("labels: category", labels.values())
        if unknown := sorted(set(labels.values()) - set(categories or labels.values())):
            raise MadrlError(f"labels name {unknown}, which are no categories: use {list(categories)}")
        if not labels:
            raise MadrlError("labels is empty: say which category each of the model's labels stands for")
        if not 0 <= threshold <= 1:
            raise MadrlError(f"threshold={threshold} is no probability: give a number in [0, 1]")
        self._labels, self._threshold = dict(labels), threshold
        self._model = hosted_model(
            model, batch_size=batch_size, max_tokens=max_tokens, device=device, url=url, deadline_s=deadline_s
        )

    async def __call__(self, rollouts: list[Rollout]) -> list[Classification]:
        """The responses' categories, in order. Raises MadrlError when the model cannot be asked."""
        texts = [plain_text(rollout.response) for rollout in rollouts]
        asked = [text for text in texts if text]
        found = iter(await self._model.outputs(asked, probabilities=True) if asked else ())
        self._check_labels()
        return [self._classification(next(found)) if text else Classification(None, EMPTY) for text in texts]

    def check_ready(self) -> None:
        """Raises MadrlError, with the remedy, when the model cannot be loaded, has not a label of ``labels``, or is not
        served. A server does not tell a model's labels."""
        self._model.check_ready()
        self._check_labels()

    def _check_labels(self) -> None:
        there_are = self._model.labels
        if there_are is not None and (unknown := sorted(self._labels.keys() - {*there_are})):
            raise MadrlError(f"the model has no label {unknown}: map some of {list(there_are)}")

    def _classification(self, output: Output) -> Classification:
        probability = max(output.numbers)
        if not math.isfinite(probability):
            return Classification(None, f"probability {probability}", classified=False)
        category = self._labels.get(output.label)
        if category is None:
            return Classification(None, f"label {output.label}")
        if probability < self._threshold:
            return Classification(None, UNSURE)
        return Classification(category)
