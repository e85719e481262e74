"""GSM8K and MATH: a row whose own reference the verifier does not accept would teach that right answers are wrong."""

import asyncio
from collections.abc import Sequence

from command_line import progress_bar
from splits import Dropped, Problem

from madrl.errors import MadrlError
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Rollout, Verdict

AT_A_TIME = 64
"""Answers in the verifier's hands: enough for all its workers, too few to fill its queue."""


def rejected_references(problems: Sequence[Problem]) -> dict[str, Dropped]:
    """Origin -> the drop, of every problem whose reference, boxed as a model would write it, is not CORRECT. Raises
    MadrlError when one cannot be graded here and now, which says nothing about the problem."""
    return asyncio.run(_rejected_references(problems))


async def _rejected_references(problems: Sequence[Problem]) -> dict[str, Dropped]:
    verify = load_verifier("math")
    turns = asyncio.Semaphore(AT_A_TIME)
    drops: dict[str, Dropped] = {}
    with progress_bar("verifying references", len(problems)) as advance:

        async def check(problem: Problem) -> None:
            async with turns:
                response = f"The answer is \\boxed{{{problem.ground_truth}}}."
                verification = await verify(Rollout(response, problem.ground_truth))
            if verification.verdict is Verdict.UNGRADED and verification.reason != "bad_reference":
                raise MadrlError(
                    f"{problem.origin}: the reference {problem.ground_truth!r} could not be graded: "
                    f"{verification.reason}. Run this again, with more memory or fewer other processes"
                )
            if verification.verdict is not Verdict.CORRECT:
                detail = f"{problem.ground_truth!r} is {verification.verdict}: {verification.reason}"
                drops[problem.origin] = Dropped(problem.origin, problem.source_split, "reference_rejected", detail)
            advance()

        await asyncio.gather(*map(check, problems))
    return drops
