"""A sampling seed for each request of a session to an engine: veRL's clients of the engines, which give it.

A session's first request has the session's own seed. A loop with tools has one a turn, and under ``colocate_async`` a
response that an update interrupts goes on in another. An engine that is given a seed twice may draw the same random
numbers twice: vLLM's V1 model runner, CPUs' only one, starts a generator for each request. What a turn says would then
depend on the numbers that the turn before was drawn with.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from verl.workers.rollout.llm_server import FullyAsyncLLMServerClient, LLMServerClient

from madrl.trainer.verl_settings import SEED_PARAMETER

_numbers: ContextVar[Iterator[int]] = ContextVar("numbers of the session's requests")


def begin_session() -> None:
    """Count requests from 0. To be called in the task that runs the session, or else its siblings' are counted too."""
    _numbers.set(itertools.count())


def request_seed(session_seed: int, number: int) -> int:
    """The seed of a session's request, in [0, 2^32): the session's own for number 0."""
    if number == 0:
        return session_seed
    return int.from_bytes(hashlib.blake2b(repr((session_seed, number)).encode(), digest_size=4).digest(), "little")


class SeededClient(LLMServerClient):
    """veRL's client, whose requests have ``request_seed`` in place of a seed in ``sampling_params``."""

    async def generate(self, request_id: str, *, sampling_params: Mapping[str, Any], **request: Any) -> Any:
        """One request, as veRL's: also one that goes on where another was interrupted."""
        parameter = SEED_PARAMETER[self.config.actor_rollout_ref.rollout.name]
        sampling = dict(sampling_params)
        if parameter in sampling:
            sampling[parameter] = request_seed(sampling[parameter], next(_numbers.get()))
        return await super().generate(request_id, sampling_params=sampling, **request)


class SeededResumingClient(FullyAsyncLLMServerClient, SeededClient):
    """veRL's client of ``colocate_async``, which asks ``SeededClient`` again where a response was interrupted."""


SEEDED = {LLMServerClient: SeededClient, FullyAsyncLLMServerClient: SeededResumingClient}
"""veRL's client -> ours in its place."""
