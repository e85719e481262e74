"""The verifier ``llm`` before a scripted server (a real one: test_served_models.py)."""

import json
from typing import Any

import pytest
from scripted_service import Reply, ScriptedService

from madrl.errors import MadrlError
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.judges.rubric import LlmVerifier
from madrl.rollout import Rollout, Verification


def service(score: object) -> ScriptedService:
    async def handler(request: dict[str, Any]) -> Reply:
        message = {"content": json.dumps({"score": score})}
        return Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())

    return ScriptedService(handler, post="/v1/chat/completions")


def arguments(asked: ScriptedService, **own: Any) -> dict[str, Any]:
    return {"base_url": f"{asked.url}/v1", "model": "judge", "rubric": "It names a colour.", **own}


async def test_the_score_by_the_scale_is_the_correctness() -> None:
    async with service(3) as asked:
        verify = LlmVerifier(**arguments(asked, scale=4))
        assert await verify(Rollout("Blue.", "")) == Verification(0.75, extra={"score": 3})
    (request,) = asked.requests
    schema = request["response_format"]["json_schema"]["schema"]["properties"]["score"]
    assert schema == {"type": "integer", "enum": [0, 1, 2, 3, 4]}
    prompt = request["messages"][0]["content"]
    assert "\nIt names a colour.\n" in prompt
    assert "from 0 to 4" in prompt


@pytest.mark.parametrize("score", [11, -1, "3", 3.0, True, None])
async def test_what_is_no_score_of_the_scale_is_none(score: object) -> None:
    async with service(score) as asked:
        with pytest.raises(MadrlError, match="unreadable answer"):
            await LlmVerifier(**arguments(asked))(Rollout("Blue.", ""))


async def test_it_is_found_by_its_name_and_its_failure_leaves_the_response_ungraded() -> None:
    async with service(5) as asked:
        grader = Grader(GraderSpec(None, "llm", (), verifier_args=arguments(asked)))
        assert (await grader.grade(Rollout("Blue.", ""))).correctness == 0.5
    async with service("none") as asked:
        grader = Grader(GraderSpec(None, "llm", (), verifier_args=arguments(asked)))
        assert (await grader.grade(Rollout("Blue.", ""))).correctness is None


async def test_a_response_that_alone_gets_no_answer_is_wrong() -> None:
    async with service(5) as asked:
        answer = asked.handler

        async def handler(request: dict[str, Any]) -> Reply:
            return Reply(400) if "Blue." in request["messages"][0]["content"] else await answer(request)

        asked.handler = handler
        found = await LlmVerifier(**arguments(asked))(Rollout("Blue.", ""))
    assert found == Verification(0.0, reason="no answer to this response")


def test_a_scale_without_scores_is_told_when_it_is_made() -> None:
    with pytest.raises(MadrlError, match="scale=0"):
        LlmVerifier(base_url="http://host/v1", model="m", rubric="", scale=0)
