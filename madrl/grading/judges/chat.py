"""A question to an LLM behind an OpenAI-compatible API whose answer is one of a few values.

The answer is restricted by a JSON schema (structured output), which OpenAI's API, vLLM and others take as
``response_format``, and checked again here. It is taken greedily (temperature 0).
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from madrl.grading.judges.answer_cache import AnswerCache
from madrl.grading.judges.json_service import SHOWN_CHARACTERS, JsonService, NoAnswerError, UnreadableError
from madrl.grading.judges.prompt_template import PromptTemplate
from madrl.rollout import Rollout

Value = TypeVar("Value", str, int)

MAX_TOKENS = 256
"""Enough for any answer in JSON. A model that thinks first needs more: ``request: {max_completion_tokens: N}``."""


class Chat(Generic[Value]):
    """Asks ``model`` for one of ``values``, which it answers under the key ``name``.

    Args:
        cache: the folder that keeps answers, for every process that names it; None keeps none.
        request: further fields of a request's body; None leaves out one of ours.
    """

    def __init__(
        self,
        service: JsonService,
        *,
        model: str,
        name: str,
        values: Sequence[Value],
        cache: str | None,
        request: Mapping[str, Any],
    ) -> None:
        self._service, self._model, self._name = service, model, name
        self._values: Sequence[Value] = values
        self._cache = None if cache is None else AnswerCache(cache)
        self._asking: dict[tuple[str, bool], asyncio.Task[Value]] = {}
        kind = "string" if isinstance(values[0], str) else "integer"
        schema = {
            "type": "object",
            "properties": {name: {"type": kind, "enum": list(values)}},
            "required": [name],
            "additionalProperties": False,
        }
        self._body = {
            "model": model,
            "temperature": 0,
            "max_completion_tokens": MAX_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}},
            **request,
        }

    async def about(self, rollout: Rollout, template: PromptTemplate) -> Value | None:
        """The model's answer about one response.

        None when there is none and that is the response's doing: the same prompt about an empty response is answered,
        and not from the cache. Raises MadrlError when there is none otherwise.
        """
        try:
            return await self.ask(template.filled(rollout))
        except NoAnswerError:
            await self.ask(template.filled(replace(rollout, response="")), anew=True)
            return None

    async def ask(self, prompt: str, anew: bool = False) -> Value:
        """The model's answer to ``prompt``. Prompts that are equal are asked once; ``anew``, whatever the cache holds,
        which tells nothing of the service. Raises MadrlError when there is no answer."""
        body = self._body | {"messages": [{"role": "user", "content": prompt}]}
        body = {field: value for field, value in body.items() if value is not None}
        question = json.dumps({"url": self._service.url, "body": body}, sort_keys=True)
        asking = self._asking.get((question, anew))
        if asking is None:
            asking = self._asking[question, anew] = asyncio.create_task(self._answer(question, body, anew))
            asking.add_done_callback(lambda _: self._asking.pop((question, anew)))
        return await asyncio.shield(asking)  # whoever asked first may have been cancelled

    async def _answer(self, question: str, body: Mapping[str, Any], anew: bool) -> Value:
        kept: Any = None if self._cache is None or anew else await asyncio.to_thread(self._cache.find, question)
        if self._is_answer(kept):
            return kept  # type: ignore[no-any-return]
        answer = await self._service.ask("/chat/completions", body, self._read)
        if self._cache is not None:
            await asyncio.to_thread(self._cache.keep, question, answer)
        return answer

    def check_ready(self) -> None:
        """Raises MadrlError, with the remedy, when the service is not there or lacks the model."""
        self._service.check_models(self._model, "/models")

    def _read(self, answer: Any) -> Value:
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        if not isinstance(content, str) or choice.get("finish_reason") == "length":  # refused, or cut off
            raise UnreadableError(str(choice)[:SHOWN_CHARACTERS])
        value = json.loads(content)[self._name]
        if not self._is_answer(value):
            raise UnreadableError(f"{self._name} {value!r} is none of {list(self._values)}")
        return value  # type: ignore[no-any-return]

    def _is_answer(self, value: object) -> bool:
        return type(value) is type(self._values[0]) and value in self._values
