"""What models behind a real vLLM server on the CPU tell: random ones, for what is tested is the way to them and back.

Structured output lets even a random model name a category, and its answers differ from response to response.
"""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from classification_models import SENTENCES, make_decoder
from vllm_server import VllmServer

from madrl.errors import MadrlError
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.judges.llm import NO_ANSWER, LlmClassifier
from madrl.grading.judges.reward_model import RewardModel
from madrl.grading.judges.rubric import LlmVerifier
from madrl.grading.judges.sequence_model import Options, SequenceModel
from madrl.grading.judges.text_classification import TextClassification
from madrl.miniature.model import build_model, build_tokenizer, save
from madrl.rollout import Classification, Rollout

pytestmark = pytest.mark.verl(group="vllm")

CATEGORIES = ("yes", "no", "both", "maybe")
LABELS = ("calm", "cross", "odd")


def make_judge(folder: Path) -> None:
    """A random language model with weights so large that what it is asked decides what it answers."""
    import torch

    tokenizer = build_tokenizer(SENTENCES, 400)
    model = build_model(tokenizer, hidden_size=64, layers=2, seed=3)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1 and "embed" not in name:
                weights.mul_(5)
    save(tokenizer, model, folder)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    folder = tmp_path_factory.mktemp("served") / "judge"
    make_judge(folder)
    with VllmServer(folder, "judge", "--max-model-len", "2048") as server:
        yield server


def arguments(server: VllmServer, **own: Any) -> dict[str, Any]:
    """Such that a random model, which reads the whole prompt, is asked nothing but the response."""
    descriptions = {category: f"it says {category}" for category in CATEGORIES}
    asked = {"descriptions": descriptions, "prompt": "{response}"}
    return {"base_url": f"{server.url}/v1", "model": "judge", **asked, **own}


async def all_of(classify: LlmClassifier, responses: Sequence[str]) -> list[Classification]:
    return list(await asyncio.gather(*(classify(Rollout(response, "")) for response in responses)))


async def test_a_rubric_s_scores_are_numbers_of_its_scale(judge: VllmServer) -> None:
    verify = LlmVerifier(base_url=f"{judge.url}/v1", model="judge", rubric="It is about marbles.", scale=4)
    found = await asyncio.gather(*(verify(Rollout(sentence, "")) for sentence in SENTENCES))
    assert {verification.correctness for verification in found} <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert all(verification.correctness == verification.extra["score"] / 4 for verification in found)


async def test_a_response_that_does_not_fit_is_off_support_unless_it_is_cut(judge: VllmServer) -> None:
    long = Rollout("marbles " * 3000, "")
    assert await LlmClassifier(**arguments(judge))(long) == Classification(None, NO_ANSWER)
    cut = await LlmClassifier(**arguments(judge, max_characters=200))(long)
    assert cut.reason != NO_ANSWER


async def test_a_server_that_stands_still_costs_the_deadline_and_no_wrong_category(judge: VllmServer) -> None:
    judge.signal(signal.SIGSTOP)
    try:
        with pytest.raises(MadrlError, match="no answer within 1 s"):
            await LlmClassifier(**arguments(judge, deadline_s=1.0))(Rollout("Yes.", ""))
    finally:
        judge.signal(signal.SIGCONT)
    await LlmClassifier(**arguments(judge))(Rollout("Yes.", ""))


async def test_an_llm_s_server_that_is_killed_in_the_middle_and_comes_back_loses_and_changes_nothing(
    judge: VllmServer, tmp_path: Path
) -> None:
    """The last to use the server, which stays dead."""
    classify = LlmClassifier(**arguments(judge))
    classify.check_ready()
    answers = await all_of(classify, SENTENCES)
    assert {answer.category for answer in answers} <= {*CATEGORIES, None}
    assert len(set(answers)) > 2

    few_at_a_time = LlmClassifier(**arguments(judge, concurrency=2, deadline_s=36_000.0))
    asking = [asyncio.create_task(few_at_a_time(Rollout(sentence, ""))) for sentence in SENTENCES]
    await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    judge.kill()
    assert any(not task.done() for task in asking)
    await asyncio.to_thread(judge.start)
    assert list(await asyncio.gather(*asking)) == answers

    kept = LlmClassifier(**arguments(judge, cache=str(tmp_path)))
    assert await all_of(kept, SENTENCES[:8]) == answers[:8]
    judge.kill()
    impatient = arguments(judge, cache=str(tmp_path), deadline_s=1.0)
    grader = Grader(GraderSpec("llm", None, CATEGORIES, classifier_args=impatient))
    grades = await asyncio.gather(*(grader.grade(Rollout(sentence, "")) for sentence in SENTENCES[:12]))
    assert [grade.category for grade in grades[:8]] == [answer.category for answer in answers[:8]]
    assert [grade.classified for grade in grades] == [True] * 8 + [False] * 4
    assert "no answer within 1 s" in grades[-1].reason
    with pytest.raises(MadrlError, match=r"no answer at http://127.0.0.1:\d+/v1/models"):
        grader.check_ready()


@pytest.mark.nightly
async def test_a_served_classifier_says_what_the_same_model_says_here(tmp_path: Path) -> None:
    make_decoder(tmp_path / "decoder", LABELS)
    labels = {label: label for label in LABELS}
    here = SequenceModel(Options(str(tmp_path / "decoder"), "cpu", 32, None)).outputs(SENTENCES, probabilities=True)
    # Of two long texts at a time, the second is read in parts.
    limits = ("--max-model-len", "64", "--max-num-batched-tokens", "96")
    with VllmServer(tmp_path / "decoder", "decoder", "--runner", "pooling", *limits) as server:
        classify = TextClassification(model="decoder", labels=labels, url=server.url)
        classify.check_ready()
        strange = ["", "\ud800", *["word " * 10_000] * 8]
        found = await classify([Rollout(text, "") for text in (*SENTENCES, *strange)])
        probable = TextClassification(model="decoder", labels=labels, url=server.url, threshold=0.9, max_tokens=64)
        sure = await probable([Rollout(text, "") for text in SENTENCES])
    assert [classification.category for classification in found[: len(SENTENCES)]] == [output.label for output in here]
    assert found[len(SENTENCES)] == Classification(None, "empty")
    for output, classification in zip(here, sure, strict=True):
        if abs(max(output.numbers) - 0.9) > 1e-3:
            assert (classification.category is None) == (max(output.numbers) < 0.9)


@pytest.mark.nightly
async def test_a_served_reward_model_says_what_the_same_model_says_here(tmp_path: Path) -> None:
    make_decoder(tmp_path / "scorer", ["score"])
    rollouts = [Rollout(sentence, "", {"question": "Who reads?"}) for sentence in SENTENCES[:40]]
    with VllmServer(tmp_path / "scorer", "scorer", "--runner", "pooling", "--max-model-len", "256") as server:
        for question in (None, "question"):
            served = RewardModel(model="scorer", question=question, minimum=-5, maximum=5, url=server.url)
            served.check_ready()
            local = RewardModel(model=str(tmp_path / "scorer"), question=question, minimum=-5, maximum=5)
            there, here = await served(rollouts), await local(rollouts)
            assert [v.correctness for v in there] == pytest.approx([v.correctness for v in here], abs=1e-3)
            assert len({round(v.correctness or 0, 3) for v in here}) > 10
