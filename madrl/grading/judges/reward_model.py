"""The verifier ``reward_model``: the one output of a Hugging Face sequence-classification model, as a correctness.

A model that cannot be asked raises, so that the responses are ungraded.
"""

import math

from madrl.errors import MadrlError
from madrl.grading.judges.hosted_model import BATCH_SIZE, DEADLINE_S, EMPTY, hosted_model, plain_text
from madrl.grading.judges.sequence_model import Text
from madrl.rollout import Rollout, Verification


class RewardModel:
    """A reward model's score of a response: sigmoid(output), or with a range (output - minimum) / (maximum - minimum),
    cut off at 0 and 1. A response without a word is wrong.

    Args:
        question: the field of the data row (``extra_info``) that holds what was asked. The model then reads the two
            turns of a conversation, in the tokenizer's chat template; without it, it reads the response alone.
        minimum, maximum: the outputs that stand for 0 and 1; both or none.

    The others are those of ``TextClassification``. Raises MadrlError for a range that is none, and for what
    ``hosted_model`` raises it for.
    """

    def __init__(
        self,
        *,
        model: str,
        question: str | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        batch_size: int = BATCH_SIZE,
        max_tokens: int | None = None,
        device: str = "cpu",
        url: str | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._range = None
        if minimum is not None and maximum is not None and minimum < maximum:
            self._range = minimum, maximum
        elif minimum is not None or maximum is not None:
            raise MadrlError(f"minimum={minimum}, maximum={maximum} is no range: give both, in order, or none")
        self._question = question
        self._model = hosted_model(
            model, batch_size=batch_size, max_tokens=max_tokens, device=device, url=url, deadline_s=deadline_s
        )

    async def __call__(self, rollouts: list[Rollout]) -> list[Verification]:
        """The responses' correctness, in order, with the model's output in ``extra``. Raises MadrlError when the model
        cannot be asked, when it has several outputs, and when a row lacks the question."""
        texts = [self._text(rollout) for rollout in rollouts]
        asked = [text for text in texts if text]
        found = iter(await self._model.outputs(asked, probabilities=False) if asked else ())
        return [self._verification(next(found).numbers) if text else Verification(0.0, reason=EMPTY) for text in texts]

    def check_ready(self) -> None:
        """Raises MadrlError, with the remedy, when the model cannot be loaded, has several outputs, or is not
        served."""
        self._model.check_ready()
        if self._model.labels is not None:
            _check_single(len(self._model.labels))

    def _text(self, rollout: Rollout) -> Text:
        response = plain_text(rollout.response)
        if self._question is None or not response:
            return response
        if self._question not in rollout.extra_info:
            raise MadrlError(f"question={self._question!r}: the row has only {sorted(rollout.extra_info)}")
        question = str(rollout.extra_info[self._question])
        return [{"role": "user", "content": question}, {"role": "assistant", "content": response}]

    def _verification(self, outputs: list[float]) -> Verification:
        _check_single(len(outputs))
        (output,) = outputs
        if not math.isfinite(output):
            return Verification(None, reason=f"output {output}")
        if self._range is None:
            # Without overflow, whatever the sign.
            correctness = 0.5 * (1 + math.tanh(output / 2))
        else:
            minimum, maximum = self._range
            correctness = min(1.0, max(0.0, (output - minimum) / (maximum - minimum)))
        return Verification(correctness, extra={"output": output})


def _check_single(n_outputs: int) -> None:
    if n_outputs != 1:
        raise MadrlError(f"the model has {n_outputs} outputs, and a reward model has one: use another")
