"""The classifier ``llm`` before a real HTTP server that misbehaves as told (a real model: test_served_models.py)."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_service import Handler, Hole, Reply, ScriptedService, script_nothing

from madrl.errors import MadrlError
from madrl.grading.judges.json_service import MAX_UNREADABLE
from madrl.grading.judges.llm import LlmClassifier
from madrl.grading.judges.pace import Pace
from madrl.grading.turns import CLIENTS_VARIABLE
from madrl.rollout import Classification, Rollout

DESCRIPTIONS = {"agree": "supports the statement", "disagree": "opposes it"}


def service(handler: Handler) -> ScriptedService:
    return ScriptedService(handler, post="/v1/chat/completions", get="/v1/models")


def says(content: object, **choice: object) -> Reply:
    """A chat completion whose text is ``content``."""
    message = {"role": "assistant", "content": content}
    return Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "stop", **choice}]}).encode())


def category(name: object) -> Reply:
    return says(json.dumps({"category": name}))


def script(*replies: Reply) -> Handler:
    """Each reply once, in order, and the last one ever after."""
    rest = list(replies)

    async def handler(request: dict[str, Any]) -> Reply:
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return handler


async def word(request: dict[str, Any]) -> Reply:
    """The category that the response itself consists of."""
    (line,) = [line for line in request["messages"][0]["content"].splitlines() if line.startswith("is ")]
    return category(line.removeprefix("is ").split(" ")[0])


async def hang(request: dict[str, Any]) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def classifier(asked: ScriptedService | Hole, **arguments: Any) -> LlmClassifier:
    arguments = {"model": "judge", "descriptions": DESCRIPTIONS, **arguments}
    return LlmClassifier(base_url=f"{asked.url}/v1", **arguments)


async def all_of(
    classify: Callable[[Rollout], Awaitable[Classification]], responses: Sequence[str]
) -> list[str | None]:
    found = await asyncio.gather(*(classify(Rollout(response, "")) for response in responses))
    return [classification.category for classification in found]


async def test_the_model_s_answer_is_the_category_and_none_is_off_support() -> None:
    async with service(script(category("agree"), category("none"))) as asked:
        classify = classifier(asked)
        assert await classify(Rollout("Yes.", "")) == Classification("agree")
        assert await classify(Rollout("Well.", "")) == Classification(None, "none")


async def test_the_request_restricts_the_answer_to_the_categories_and_none() -> None:
    async with service(script(category("agree"))) as asked:
        await classifier(asked)(Rollout("Yes.", ""))
    (request,) = asked.requests
    assert (request["model"], request["temperature"]) == ("judge", 0)
    schema = request["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["category"]["enum"] == ["agree", "disagree", "none"]
    (message,) = request["messages"]
    assert message["role"] == "user"
    assert "- agree: supports the statement\n- disagree: opposes it\n- none: " in message["content"]
    assert "\nYes.\n" in message["content"]


async def test_the_request_takes_further_fields_and_loses_those_that_are_null() -> None:
    own = {"temperature": None, "chat_template_kwargs": {"enable_thinking": False}}
    async with service(script(category("agree"))) as asked:
        await classifier(asked, request=own)(Rollout("Yes.", ""))
    assert "temperature" not in asked.requests[0]
    assert asked.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(429),
        Reply(500),
        Reply(502, b"<html>"),
        Reply(503),
        Reply(529),
        Reply(408),
        Reply(cut_after=0),
        Reply(cut_after=10),
        Reply(body=b'{"choices": []}', cut_after=-3),
        Reply(headers={"Content-Length": "nonsense"}),
        Reply(body=b'{"choices": [{'),
        Reply(body=b"\xff\xfe"),
        Reply(body=b"[]"),
        says(None, refusal="I cannot"),
        says('{"category": "agr', finish_reason="length"),
        says("agree"),
        says("[" * 100_000),
        category("maybe"),
        category(["agree"]),
        category(1),
        says('{"stance": "agree"}'),
    ],
    ids=lambda reply: f"{reply.status} {reply.body[:80].decode(errors='replace')} cut after {reply.cut_after}",
)
async def test_after_any_trouble_the_request_is_repeated(trouble: Reply) -> None:
    async with service(script(trouble, trouble, category("disagree"))) as asked:
        assert await all_of(classifier(asked), ["No."]) == ["disagree"]
    assert len(asked.requests) == 3


@pytest.mark.parametrize("answer", [category("maybe"), says(None, refusal="I cannot"), says("agree"), says("{}")])
async def test_a_model_that_keeps_answering_something_else_is_no_category(answer: Reply) -> None:
    async with service(script(answer)) as asked:
        with pytest.raises(MadrlError, match="unreadable answer"):
            await classifier(asked)(Rollout("Yes.", ""))
    assert len(asked.requests) == 2 * MAX_UNREADABLE  # once more for an empty response


@pytest.mark.parametrize(
    "answer", [Reply(400), Reply(413), Reply(422), says(None, refusal="I cannot"), says("{", finish_reason="length")]
)
async def test_a_response_that_alone_gets_no_answer_is_off_support(answer: Reply) -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return answer if "is agree" in request["messages"][0]["content"] else category("none")

    async with service(handler) as asked:
        found = await classifier(asked)(Rollout("is agree", ""))
    assert found == Classification(None, "no answer to this response")


@pytest.mark.parametrize("down", [Reply(400, b"billing limit"), Reply(200, b"<html>maintenance</html>")])
async def test_what_is_cached_of_an_empty_response_hides_no_outage(down: Reply, tmp_path: Path) -> None:
    is_down = False

    async def handler(request: dict[str, Any]) -> Reply:
        return down if is_down or "is agree" in request["messages"][0]["content"] else category("none")

    async with service(handler) as asked:
        classify = classifier(asked, cache=str(tmp_path))
        assert await classify(Rollout("is agree", "")) == Classification(None, "no answer to this response")
        is_down = True
        with pytest.raises(MadrlError):
            await classify(Rollout("an honest response", ""))


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_a_request_that_is_refused_is_sent_once_and_the_reason_is_told(status: int) -> None:
    async with service(script(Reply(status, b'{"error": "no such thing"}'))) as asked:
        with pytest.raises(MadrlError, match=f"refuses the request: HTTP {status} .*no such thing"):
            await classifier(asked)(Rollout("Yes.", ""))
    assert len(asked.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_service_that_refuses_every_text_gives_no_category(status: int) -> None:
    async with service(script(Reply(status, b"max_tokens is unknown"))) as asked:
        with pytest.raises(MadrlError, match=f"refuses the request: HTTP {status} max_tokens is unknown"):
            await classifier(asked)(Rollout("Yes.", ""))
    assert len(asked.requests) == 2


async def test_a_service_that_asks_to_be_left_alone_gets_no_request_at_all_for_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrived: list[float] = []
    heard = asyncio.Event()
    leave_alone = Pace.leave_alone

    def hear(pace: Pace, for_s: float) -> None:
        leave_alone(pace, for_s)
        heard.set()

    async def handler(request: dict[str, Any]) -> Reply:
        arrived.append(time.monotonic())
        return Reply(429, headers={"Retry-After": "1"}) if len(arrived) == 1 else await word(request)

    monkeypatch.setattr(Pace, "leave_alone", hear)
    async with service(handler) as asked:
        classify = classifier(asked)
        first = asyncio.create_task(classify(Rollout("is agree", "")))
        await heard.wait()
        assert await all_of(classify, [f"is disagree {n}" for n in range(5)]) == ["disagree"] * 5
        assert await first == Classification("agree")
    assert len(arrived) == 7
    assert arrived[1] - arrived[0] >= 1.0


async def test_a_service_that_hangs_costs_one_deadline() -> None:
    async with service(hang) as asked:
        with pytest.raises(MadrlError, match=r"no answer within 0.4 s: "):
            await classifier(asked, deadline_s=0.4)(Rollout("Yes.", ""))


async def test_those_that_wait_behind_a_service_that_is_gone_give_up_with_the_first() -> None:
    async with Hole() as asked:
        classify = classifier(asked, deadline_s=0.4, concurrency=1)
        started = time.monotonic()
        found = await asyncio.gather(*(classify(Rollout(str(n), "")) for n in range(100)), return_exceptions=True)
    assert all(isinstance(error, MadrlError) for error in found)
    assert time.monotonic() - started < 100 * 0.4


async def test_requests_go_on_when_the_service_is_killed_in_their_middle_and_comes_back() -> None:
    reached, killed = asyncio.Event(), asyncio.Event()

    async def handler(request: dict[str, Any]) -> Reply:
        if len(asked.requests) >= 10 and not killed.is_set():
            reached.set()
            return await hang(request)
        return await word(request)

    responses = [f"is {('agree', 'disagree', 'none')[n % 3]} {n}" for n in range(60)]
    async with service(handler) as asked:
        asking = asyncio.create_task(all_of(classifier(asked), responses))
        await reached.wait()
        await asked.kill()
        killed.set()
        await asked.start()
        assert await asking == ["agree", "disagree", None] * 20


async def test_no_more_requests_at_a_time_than_allowed_in_all_workers_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = asyncio.Event()

    async def handler(request: dict[str, Any]) -> Reply:
        if asked.in_flight == 3:  # 10 for 4 workers, rounded up
            full.set()
        await full.wait()
        return await word(request)

    monkeypatch.setenv(CLIENTS_VARIABLE, "4")
    async with service(handler) as asked:
        found = await all_of(classifier(asked, concurrency=10), [f"is agree {n}" for n in range(40)])
    assert found == ["agree"] * 40
    assert asked.most_in_flight == 3


async def test_equal_responses_are_asked_about_once() -> None:
    async with service(word) as asked:
        assert await all_of(classifier(asked), ["is agree"] * 16) == ["agree"] * 16
    assert len(asked.requests) == 1


async def test_who_is_cancelled_takes_no_answer_from_others_with_the_same_response() -> None:
    go_on = asyncio.Event()

    async def handler(request: dict[str, Any]) -> Reply:
        await go_on.wait()
        return category("agree")

    async with service(handler) as asked:
        classify = classifier(asked)
        first, second = (asyncio.create_task(classify(Rollout("Yes.", ""))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        go_on.set()
        assert await second == Classification("agree")


async def test_answers_are_kept_for_other_workers(tmp_path: Path) -> None:
    async with service(word) as asked:
        assert await all_of(classifier(asked, cache=str(tmp_path)), ["is agree", "is none"]) == ["agree", None]
        assert await all_of(classifier(asked, cache=str(tmp_path)), ["is none", "is agree"]) == [None, "agree"]
    assert len(asked.requests) == 2


async def test_an_answer_to_another_question_is_none_to_this_one(tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        {},
        {"prompt": "{response} {categories}"},
        {"max_characters": 2},
        {"request": {"seed": 1}},
        {"model": "another"},
        {"categories": ("disagree", "agree")},
    ]
    async with service(script(category("agree"))) as asked, service(script(category("agree"))) as elsewhere:
        for number, other in enumerate(others, start=1):
            for _ in range(2):
                await classifier(asked, cache=str(tmp_path), **other)(Rollout("Yes.", ""))
                assert len(asked.requests) == number
        await classifier(elsewhere, cache=str(tmp_path))(Rollout("Yes.", ""))
        assert len(elsewhere.requests) == 1


async def test_what_is_kept_and_is_no_category_is_asked_again(tmp_path: Path) -> None:
    async with service(word) as asked:
        classify = classifier(asked, cache=str(tmp_path))
        await classify(Rollout("is agree", ""))
        (file,) = tmp_path.rglob("*.json")
        file.write_text('"maybe"')
        assert await classify(Rollout("is agree", "")) == Classification("agree")
        assert json.loads(file.read_text()) == "agree"


async def test_nothing_is_kept_of_a_question_without_an_answer(tmp_path: Path) -> None:
    async with service(script(category("maybe"))) as asked:
        with pytest.raises(MadrlError):
            await classifier(asked, cache=str(tmp_path))(Rollout("Yes.", ""))
    assert list(tmp_path.rglob("*.json")) == []


async def test_half_a_surrogate_pair_in_a_response_reaches_the_service_as_a_question_mark() -> None:
    async with service(script(category("agree"))) as asked:
        await classifier(asked)(Rollout("\ud800 yes", ""))
    assert "\n? yes\n" in asked.requests[0]["messages"][0]["content"]


def test_it_works_in_one_event_loop_after_another() -> None:
    classify: LlmClassifier | None = None

    async def once() -> str | None:
        nonlocal classify
        async with service(word) as asked:
            classify = classify or classifier(asked)
            classify._chat._service.url = f"{asked.url}/v1"
            return (await classify(Rollout("is agree", ""))).category

    assert [asyncio.run(once()) for _ in range(3)] == ["agree"] * 3


async def test_the_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with service(word) as asked:
        with pytest.raises(MadrlError, match="variable JUDGE_KEY is not set"):
            classifier(asked, api_key_variable="JUDGE_KEY")
        monkeypatch.setenv("JUDGE_KEY", "secret")
        await classifier(asked, api_key_variable="JUDGE_KEY")(Rollout("is agree", ""))
    assert "authorization: bearer secret" in asked.heads[0].lower()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"categories": ("agree", "neither")},
            r"descriptions lack neither: name the declared categories \(agree, neit",
        ),
        ({"descriptions": {True: "", "maybe": ""}}, "descriptions: category True is no text: write it in quotes"),
        ({"descriptions": {"none": "", "agree": ""}}, "cannot be called 'none'"),
        ({"concurrency": 0}, "concurrency=0 is not above 0"),
        ({"requests_per_minute": -1}, "requests_per_minute=-1 is not above 0"),
        ({"deadline_s": 0}, "deadline_s=0 is not above 0"),
        ({"base_url": "localhost:8000"}, "'localhost:8000' is no address"),
        ({"prompt": "Which?"}, r"no \{response\}"),
    ],
)
def test_a_bad_argument_is_told_when_it_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        LlmClassifier(**{"base_url": "http://host/v1", "model": "m", "descriptions": DESCRIPTIONS, **arguments})


async def ready(asked: ScriptedService | Hole) -> None:
    await asyncio.to_thread(classifier(asked).check_ready)


async def test_a_service_with_the_model_is_ready_and_one_without_is_not() -> None:
    async with service(script_nothing) as asked:
        asked.health = Reply(body=b'{"data": [{"id": "judge"}]}')
        await ready(asked)
        asked.health = Reply(body=b'{"data": [{"id": "other"}]}')
        with pytest.raises(MadrlError, match=r"no model 'judge': name one of \['other'\]"):
            await ready(asked)
        asked.health = Reply(401)
        with pytest.raises(MadrlError, match="another key"):
            await ready(asked)
        asked.health = Reply(404)
        with pytest.raises(MadrlError, match=r"lists no models \(HTTP 404\)"):
            await ready(asked)
    with pytest.raises(MadrlError, match=r"no answer at http://127.0.0.1:\d+/v1/models \(ConnectError\)"):
        await ready(asked)
