"""A reward function as veRL takes it in ``reward.custom_reward_function``, as a verifier.

    madrl.verifier=compute_score
    reward.custom_reward_function.path=FILE, .name and .reward_kwargs

veRL loads the function and calls ``compute_score(data_source=, solution_str=, ground_truth=, extra_info=)`` with
``reward_kwargs`` added. It may be async or not. Its score is the correctness, so it must lie in [0, 1]; the other keys
of a dict are kept beside the response. Not covered: ``num_turns`` and ``rollout_reward_scores``, which veRL's own
reward managers add to ``extra_info``.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from madrl.grading.threads import asynchronous
from madrl.rollout import Rollout, Verification, is_correctness

ComputeScore = Callable[..., Any]
"""veRL's function, with its ``reward_kwargs`` bound to it."""


def verifier_of(compute_score: ComputeScore) -> Callable[[Rollout], Awaitable[Any]]:
    """The verifier that asks ``compute_score``, in a thread when it is not async."""
    score = asynchronous(compute_score)

    async def verify(rollout: Rollout) -> Any:
        found = await score(
            data_source=rollout.data_source,
            solution_str=rollout.response,
            ground_truth=rollout.ground_truth,
            extra_info=dict(rollout.extra_info),
        )
        correctness = found.get("score") if isinstance(found, dict) else None
        if correctness is None or not is_correctness(correctness):
            return found
        return Verification(correctness, extra={key: value for key, value in found.items() if key != "score"})

    return verify
