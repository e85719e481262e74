"""MATH: the verifier that compares a response's answer with the reference, whatever language and notation it is in.

`answer_text` finds the answer; `equivalence` compares it with the reference as written, word for word or as exact
fractions, in microseconds; what needs algebra goes to math-verify and sympy in a worker process (`worker_pool`).
"""

import asyncio

from madrl.grading.math_answers.answer_text import answer_in, has_box, is_spanish_or_french
from madrl.grading.math_answers.equivalence import decide, in_latex
from madrl.grading.math_answers.quantities import other_reading
from madrl.grading.math_answers.worker_pool import default_pool
from madrl.rollout import Rollout, Verification

MAX_ANSWER_LENGTH = 4096
"""The number of characters that an answer may have. The longest reference of MATH has 159."""


async def verify_math(rollout: Rollout) -> Verification:
    """CORRECT when the answer equals ``ground_truth``, a number or formula in LaTeX such as ``18`` or ``\\frac{1}{2}``.

    Of a reference ``x = 5`` the answer may be ``5`` alone. A reference ``3x - 2y = 6`` needs an equation.

    INCORRECT with the reason ``wrong``, ``no_answer``, ``too_long``, or what the answer did to its worker:
    ``deadline``, ``out_of_memory``, ``worker_crash``, ``error``. UNGRADED for what is not its doing: ``bad_reference``
    (empty, or no formula to anybody; an answer in the reference's own words is still correct), ``worker_lost``,
    ``worker_stalled``, ``queue_full``, ``no_time``.

    In a response in Spanish or French ``1.596`` may be 1596 and ``1,125`` nine eighths, as well as what they are
    in English: the reference tells which. The two readings of one number are the only two references that one text may
    be right for.
    """
    answer = comparable_answer(rollout.response, has_reference=bool(rollout.ground_truth.strip()))
    if isinstance(answer, Verification):
        return answer
    is_equal = decide(rollout.ground_truth, answer)
    if is_equal is False:
        other = other_reading(answer)
        if other is not None and is_spanish_or_french(rollout.response):
            is_equal = decide(rollout.ground_truth, other)
    if is_equal is None:
        found = await asyncio.wrap_future(default_pool().submit(*in_latex(rollout.ground_truth, answer)))
        return found._replace(answer=answer)
    return Verification(1.0, answer) if is_equal else Verification(0.0, answer, "wrong")


async def verify_boxed_math(rollout: Rollout) -> Verification:
    """`verify_math` for a prompt that asks for a box: a response without one is INCORRECT, with the reason
    ``no_box``."""
    if rollout.ground_truth.strip() and not has_box(rollout.response):
        return Verification(0.0, reason="no_box")
    return await verify_math(rollout)


def comparable_answer(response: str, has_reference: bool) -> str | Verification:
    """The answer in ``response``, or the verdict where there is nothing to compare."""
    answer = answer_in(response)
    if not has_reference:
        return Verification(None, answer, "bad_reference")
    if answer is None:
        return Verification(0.0, reason="no_answer")
    if len(answer) > MAX_ANSWER_LENGTH:
        return Verification(0.0, answer[:MAX_ANSWER_LENGTH], "too_long")
    return answer
