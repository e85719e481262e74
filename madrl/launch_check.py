"""Whether a run can be steered to its target, told before the first update.

From the target, the group's size and the divergence alone: a category that a group holds hardly once is pushed down
however rare it is (``target_notes``). From what the model samples that the run starts from: a group that is all in one
category has a constant distributional reward, and a category that is never sampled earns nothing, so that such a run
trains for days and cannot move (``launch_problem``; ``madrl.launch_check`` says whether it stops or goes on); and what
the mix will cost in correctness (``start_notes``).

Not covered: a policy that collapses later, which ``madrl.alarms`` notices.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl import calibration
from madrl.alarms import collapsed_limit
from madrl.evaluation.accuracy import accuracy_at_target, verdicts
from madrl.evaluation.metrics import pass_at_1, shares, single_category_rate
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.settings import Settings

MIN_EXPECTED = 20
"""A wanted category counts as missing only when this many responses would be in it on target. That none of them is has
then a probability below 1 in 100 million."""

REMEDY = (
    "Start from a model that samples every wanted category, such as the task's warm start (a recipe on GPUs makes it "
    "when MODEL is unset; madrl warm-start), ask for a missing one that it gives when its prompt names it "
    "(madrl.hints=2), or go on with this one all the same: madrl.launch_check=warn"
)


FEW_IN_A_GROUP = 1.5
"""A wanted category is looked at when a group on target has fewer of it on average: p*_c G below this."""

FEW_WITH_CALIBRATION = 0.2
"""Below it calibration still puts the resting point on the target, and the way there is slow."""


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


def target_notes(settings: Settings, group_size: int) -> list[str]:
    """What the divergence reward makes of rare categories, one line for each that the target wants less than others and
    fewer than FEW_IN_A_GROUP times in a group: the share at which GRPO's update comes to rest (``resting_shares``, in
    which correctness and the starting model play no part), and what would help. Nothing for the forms rlvr and gapo,
    which do not train on it. Takes a few seconds.

    Args:
        settings: the run's.
        group_size: how many responses to a prompt are counted.
    """
    target, config = settings.target, settings.reward
    rare = [i for i in range(target.size) if 0 < target[i] < target.max() and target[i] * group_size < FEW_IN_A_GROUP]
    if config.form in ("rlvr", "gapo") or not rare or group_size < 2:
        return []

    def at_rest(size: int, calibrated: bool) -> NDArray[np.float64]:
        reward = calibration.Reward(tuple(target.tolist()), size, config.divergence, config.epsilon)
        return calibration.resting_shares(reward, calibrated)

    enough = math.ceil(FEW_IN_A_GROUP / min(target[i] for i in rare))
    plain, calibrated = (at_rest(group_size, calibrate).tolist() for calibrate in (False, True))
    larger = plain if config.calibrate else at_rest(enough, False).tolist()
    notes = []
    for i in rare:
        name, wanted = settings.categories[i], float(target[i])
        few = f"launch check: the target wants {wanted:.1%} {name}, {wanted * group_size:.2g} of {group_size} responses"
        rest = f"{few}: the reward alone comes to rest at"
        if not config.calibrate:
            notes.append(
                f"{rest} {plain[i]:.1%}; with madrl.reward.calibrate=true at {calibrated[i]:.1%}, with rollout.n="
                f"{enough} at {larger[i]:.1%}"
            )
            continue
        slow = ""
        if wanted * group_size < FEW_WITH_CALIBRATION:
            slow = f", but slowly with less than rollout.n={math.ceil(FEW_WITH_CALIBRATION / wanted)}"
        notes.append(f"{rest} {calibrated[i]:.1%}{slow}; without calibration at {plain[i]:.1%}")
    return notes


def start_notes(
    settings: Settings, group_size: int, indices: NDArray[np.int64], correct: Sequence[float | None]
) -> list[str]:
    """What the starting model's own responses say of the way to the target: the wanted categories that most groups do
    not contain, from which nothing can be learnt, and what the target's mix will cost in correctness, where each wanted
    category has MIN_COMPLETIONS graded responses.

    Args:
        settings: the run's.
        group_size: how many responses a prompt gets in training.
        indices: the category of each response, OFF_SUPPORT where it has none.
        correct: the correctness of each, None where it is ungraded.
    """
    of_each = shares(indices, len(settings.categories))
    notes = []
    for name, wanted, share in zip(settings.categories, settings.target.tolist(), of_each.tolist(), strict=True):
        groups = 1.0 - (1.0 - share) ** group_size
        if wanted and groups < min(0.5, 1.0 - (1.0 - wanted) ** group_size):
            notes.append(
                f"launch check: {share:.2%} of the responses are {name}, so that {groups:.0%} of the groups of "
                f"{group_size} have any to learn from; the target wants {wanted:.1%}"
            )
    k = len(settings.categories)
    pooled = verdicts(indices, correct, k, np.zeros(indices.size, dtype=np.int64))
    today, on_target = pass_at_1(correct), accuracy_at_target(settings.target, *(of[0, :k] for of in pooled))
    if on_target is not None and pooled.graded[0, :k][settings.target > 0].min() >= MIN_COMPLETIONS:
        notes.append(
            f"launch check: pass@1 is {today:.3f} with today's mix, and would be {on_target:.3f} with the target's at "
            "today's accuracy in each category"
        )
    return notes
