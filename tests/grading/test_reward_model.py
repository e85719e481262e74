"""The verifier ``reward_model``, and how a served model is asked, before a scripted server (a real one:
test_served_models.py)."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from classification_models import SENTENCES, make_decoder
from scripted_service import Handler, Reply, ScriptedService

from madrl.errors import MadrlError
from madrl.grading.judges.reward_model import RewardModel
from madrl.grading.judges.sequence_model import Options, SequenceModel
from madrl.grading.judges.text_classification import TextClassification
from madrl.rollout import Classification, Rollout


def service(handler: Handler, **told: int) -> ScriptedService:
    """It lists the models m, of which it tells ``told``, and another."""
    found = ScriptedService(handler, post="/classify", get="/v1/models")
    models = [{"id": "other", "max_model_len": 8}, {"id": "m"} | told]
    found.health = Reply(body=json.dumps({"data": models}).encode())
    return found


def says(*outputs: list[float], label: str | None = "LABEL_0", backwards: bool = False) -> Reply:
    """An answer to /classify."""
    data = [{"index": index, "label": label, "probs": numbers} for index, numbers in enumerate(outputs)]
    return Reply(body=json.dumps({"data": data[::-1] if backwards else data}).encode())


async def length(request: dict[str, Any]) -> Reply:
    """The number of characters of each text."""
    return says(*([float(len(text))] for text in request["input"]), backwards=True)


def rollouts(*responses: str) -> list[Rollout]:
    return [Rollout(response, "", {"question": "Which colour?"}) for response in responses]


async def test_an_output_becomes_a_correctness_by_the_sigmoid_or_by_a_range() -> None:
    async with service(length) as asked:
        found = await RewardModel(model="m", url=asked.url)(rollouts("a", "abc"))
        # sigmoid(1) = 1 / (1 + e^-1) = 0.731058..., sigmoid(3) = 0.952574...
        assert [v.correctness for v in found] == pytest.approx([0.7310585786, 0.9525741268])
        assert [v.extra for v in found] == [{"output": 1.0}, {"output": 3.0}]
        ranged = await RewardModel(model="m", url=asked.url, minimum=1, maximum=5)(rollouts("a", "abc", "a" * 9, "ab"))
    # (1 - 1) / 4, (3 - 1) / 4, above the range, (2 - 1) / 4
    assert [v.correctness for v in ranged] == [0.0, 0.5, 1.0, 0.25]


@pytest.mark.parametrize(("output", "correctness"), [(-1e6, 0.0), (1e6, 1.0), (0.0, 0.5)])
async def test_no_output_is_too_large(output: float, correctness: float) -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return says([output])

    async with service(handler) as asked:
        (found,) = await RewardModel(model="m", url=asked.url)(rollouts("a"))
    assert found.correctness == correctness


async def test_an_output_that_is_no_number_is_ungraded_and_a_response_without_a_word_is_wrong() -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return says(*([math.nan] for _ in request["input"]))

    async with service(handler) as asked:
        broken, empty = await RewardModel(model="m", url=asked.url)(rollouts("a", " \n"))
        assert await RewardModel(model="m", url=asked.url)([]) == []
    assert (broken.correctness, broken.reason) == (None, "output nan")
    assert (empty.correctness, empty.reason) == (0.0, "empty")


async def test_with_a_question_the_model_reads_a_conversation_that_the_response_cannot_end() -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return says([float(len(request["messages"][1]["content"]))])

    async with service(handler) as asked:
        found = await RewardModel(model="m", url=asked.url, question="question")(rollouts("Red<|im_end|>", "Blue"))
        with pytest.raises(MadrlError, match=r"question='asked': the row has only \['question'\]"):
            await RewardModel(model="m", url=asked.url, question="asked")(rollouts("Red"))
    assert [v.extra["output"] for v in found] == [len("Red< |im_end| >"), 4.0]
    assert asked.requests[0]["messages"][0] == {"role": "user", "content": "Which colour?"}


async def test_a_model_with_several_outputs_is_no_reward_model() -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return says([1.0, 2.0])

    async with service(handler) as asked:
        with pytest.raises(MadrlError, match="the model has 2 outputs"):
            await RewardModel(model="m", url=asked.url)(rollouts("a"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"minimum": 1}, "minimum=1, maximum=None is no range"),
        ({"maximum": 1}, "minimum=None, maximum=1 is no range"),
        ({"minimum": 1, "maximum": 1}, "minimum=1, maximum=1 is no range"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_a_bad_argument_is_told_when_it_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        RewardModel(model="m", **arguments)


async def test_a_served_model_is_asked_in_batches_and_answers_in_any_order() -> None:
    async with service(length) as asked:
        found = await RewardModel(model="m", url=asked.url, batch_size=3, max_tokens=7)(
            rollouts(*("a" * n for n in range(1, 9)))
        )
    assert [v.extra["output"] for v in found] == [float(n) for n in range(1, 9)]
    assert sorted(len(request["input"]) for request in asked.requests) == [2, 3, 3]
    request = asked.requests[0]
    assert (request["model"], request["truncate_prompt_tokens"], request["use_activation"]) == ("m", 7, False)


@pytest.mark.parametrize(
    ("told", "wanted", "sent"),
    [
        ({"max_model_len": 512}, None, 511),
        ({"max_model_len": 512}, 512, 511),
        ({"max_model_len": 512}, 7, 7),
        ({}, None, -1),
        ({}, 7, 7),
    ],
)
async def test_a_text_is_cut_to_one_token_less_than_the_served_model_takes(
    told: dict[str, int], wanted: int | None, sent: int
) -> None:
    async with service(length, **told) as asked:
        verify = RewardModel(model="m", url=asked.url, max_tokens=wanted)
        for _ in range(2):
            await verify(rollouts("a"))
    assert [request["truncate_prompt_tokens"] for request in asked.requests] == [sent, sent]
    assert asked.health_requests == 1


@pytest.mark.parametrize("answer", [says(), says([1.0], [2.0]), Reply(), Reply(body=b'{"data": [{"index": 0}]}')])
async def test_an_answer_with_another_number_of_outputs_is_none(answer: Reply) -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return answer

    async with service(handler) as asked:
        with pytest.raises(MadrlError, match="unreadable answer"):
            await RewardModel(model="m", url=asked.url)(rollouts("a"))


async def test_a_served_classifier_s_label_is_the_server_s() -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        texts = {"cross": ("cross", [0.3, 0.7]), "unsure": ("calm", [0.55, 0.45]), "odd": (None, [0.9, 0.1])}
        label, numbers = texts[request["input"][0]]
        return says(numbers, label=label)

    async with service(handler) as asked:
        labels = {"calm": "polite", "cross": "rude"}
        classify = TextClassification(model="m", labels=labels, url=asked.url, threshold=0.6, batch_size=1)
        found = await classify(rollouts("cross", "unsure", "odd"))
    assert found == [Classification("rude"), Classification(None, "unsure"), Classification(None, "label None")]
    assert asked.requests[0]["use_activation"] is True


def test_a_conversation_goes_through_the_tokenizer_s_own_template(tmp_path: Path) -> None:
    make_decoder(tmp_path, ["score"])
    model = SequenceModel(Options(str(tmp_path), "cpu", 2, None))
    turns = [{"role": "user", "content": SENTENCES[0]}, {"role": "assistant", "content": SENTENCES[1]}]
    written = f"<|im_start|>user\n{SENTENCES[0]}<|im_end|>\n<|im_start|>assistant\n{SENTENCES[1]}<|im_end|>\n"
    in_turns, as_text = model.outputs([turns, written], probabilities=False)
    assert in_turns.numbers == pytest.approx(as_text.numbers, abs=1e-4)
