"""veRL's single-turn agent loop for a hinted session: sampled from one prompt, trained under another.

The engine samples the response from the prompt that asks for a category by name. What goes on to the trainer is the
plain prompt with that response, and the log probabilities that the engine gives the response after the plain prompt: so
bypass mode, rollout correction and the KL terms see the policy that is trained. No importance weight undoes the change
of prompt: at 1e-4 it would remove the very signal that the hint is there for.

Not covered: prompts with images, video or audio; agent loops of several turns; a mixture of experts whose routing is
replayed.
"""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from madrl.hints import HINT_COLUMN
from madrl.prompts import asking_for, load_naming
from madrl.schema import Message

HINTED_LOOP = "madrl_hinted"
"""The name under which veRL's workers find this loop."""

PLAIN_LOOP = "single_turn_agent"
"""veRL's name of the loop that this one stands in for."""

ENGINE_S_LOG_PROBS = {"max_tokens": 1, "temperature": 1.0, "prompt_logprobs": 0, "detokenize": False, "seed": 0}
"""The request for the log probabilities of a prompt's own tokens, as veRL's distillation asks a teacher for them. The
engine takes no temperature and no top-k or top-p into account there. It is seeded for the sake of the others: while a
request without a seed is among them, vLLM on CPUs draws for all from one generator, and which those are is chance."""


@register(HINTED_LOOP)
class HintedAgentLoop(SingleTurnAgentLoop):
    """One session whose response is asked for by name."""

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs: Any) -> AgentLoopOutput:
        """The session's output, as if the response had been sampled from its plain prompt.

        Raises ValueError for a prompt with anything but text.
        """
        plain: list[Message] = list(kwargs["raw_prompt"])
        naming = load_naming(self.config.madrl.naming)
        named = asking_for(kwargs[HINT_COLUMN], plain, kwargs["reward_model"]["ground_truth"], naming)
        output = await super().run(sampling_params, priority, **{**kwargs, "raw_prompt": named})
        if output.multi_modal_data:
            raise ValueError("a hinted response to a prompt with images, video or audio: set madrl.hints=0")
        output.prompt_ids = await self.ct_build_initial_tokens(plain)
        if output.response_logprobs is not None:
            output.response_logprobs = await self._log_probs(output.prompt_ids, output.response_ids)
        return output

    async def _log_probs(self, prompt: Sequence[int], response: Sequence[int]) -> list[float]:
        """What the engine gives each of the response's tokens after the prompt."""
        answer = await self.server_manager.generate(
            request_id=uuid4().hex, prompt_ids=[*prompt, *response], sampling_params=dict(ENGINE_S_LOG_PROBS)
        )
        # Row i is of token i + 1, and there is one row more than that.
        rows = answer.extra_fields["prompt_logprobs"][len(prompt) - 1 : -1]
        return [row[0] for row in rows]
