"""Whether a run can be steered at all, told from what the model that it starts from samples, before the first update.

A group that is all in one category has a constant distributional reward, and a category that is never sampled earns
nothing: such a run trains for days and cannot move. ``madrl.launch_check`` says whether it stops or goes on.

Not covered: a policy that collapses later, which ``madrl.alarms`` notices.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.alarms import collapsed_limit
from madrl.evaluation.metrics import shares, single_category_rate
from madrl.settings import Settings

MIN_EXPECTED = 20
"""A wanted category counts as missing only when this many responses would be in it on target. That none of them is has
then a probability below 1 in 100 million."""

REMEDY = (
    "Start from a model that samples every wanted category, such as the task's warm start (a recipe on GPUs makes it "
    "when MODEL is unset; madrl warm-start), ask for a missing one that it gives when its prompt names it "
    "(madrl.hints=2), or go on with this one all the same: madrl.launch_check=warn"
)


def stops(settings: Settings) -> bool:
    """Whether a run with these settings stops when something is found.

    A run of the rlvr form never does. It has no distributional reward, so that a control may start from any model.
    """
    return settings.launch_check == "stop" and settings.reward.form != "rlvr"


class LaunchProblem(NamedTuple):
    """What is wrong with the model that a run starts from."""

    text: str
    """One line."""
    stops: bool
    """Whether the run stops for it."""


def launch_problem(
    settings: Settings, group_size: int, groups: Sequence[NDArray[np.int64]], earlier: NDArray[np.int64]
) -> LaunchProblem | None:
    """What is wrong with the model that a run starts from; None when it can be steered.

    Too many groups in one category are the ``collapsed_groups`` limit of ``madrl.alarms``, where there are enough
    groups to tell it from chance. A wanted category is missing when none of at least MIN_EXPECTED / p*_c responses, of
    ``groups`` and ``earlier`` together, is in it. With ``madrl.hints`` that stops no run: the category is asked for by
    name.

    Args:
        group_size: how many responses a prompt of the training batch was to get.
        groups: for each prompt of the first training batch, its responses' category indices.
        earlier: the category indices of the responses that came before that batch, in the first validation.
    """
    found = []
    stopping = False
    limit = collapsed_limit(settings.target, group_size)
    rate = single_category_rate(groups)
    if rate is not None and rate > limit.rate and len(groups) >= limit.groups:
        stopping = True
        found.append(
            f"{rate:.1%} of the {len(groups)} prompts in the first batch have all their on-support responses in one "
            f"category (limit {limit.rate:.1%})"
        )
    seen = np.concatenate([earlier, *groups])
    missing = [
        name
        for i, (name, share) in enumerate(zip(settings.categories, settings.target.tolist(), strict=True))
        if share and seen.size * share >= MIN_EXPECTED and not np.any(seen == i)
    ]
    if missing:
        stopping = stopping or not settings.hints
        asked = f", and which madrl.hints={settings.hints} asks for" if settings.hints else ""
        found.append(f"none of the {seen.size} responses is {' or '.join(missing)}, which the target wants{asked}")
    if not found:
        return None
    of_each = zip(settings.categories, shares(seen, len(settings.categories)).tolist(), strict=True)
    mix = ", ".join(f"{name} {share:.1%}" for name, share in of_each if share > 0)  # not NaN, when all are off-support
    steered = "cannot be steered" if stopping else "cannot be steered without hints"
    text = (
        f"launch check: the model that this run starts from {steered}: {'; '.join(found)} "
        f"(first validation and first batch: {mix or 'all off-support'})."
    )
    return LaunchProblem(text, stopping and stops(settings))
