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
from madrl.frequency import OFF_SUPPORT, category_counts
from madrl.reward import what_decides
from madrl.settings import Settings

MIN_EXPECTED = 20
"""A wanted category counts as missing only when this many responses would be in it on target. That none of them is has
then a probability below 1 in 100 million."""


def remedy(settings: Settings) -> str:
    """What to do about a model that cannot be steered."""
    hints = (
        "ask for a missing one that it gives when its prompt names it (madrl.hints=2), " if settings.could_hint else ""
    )
    return (
        "Start from a model that samples every wanted category, such as the task's warm start (a recipe on GPUs makes "
        f"it when MODEL is unset; madrl warm-start), {hints}or go on with this one all the same: "
        "madrl.launch_check=warn"
    )


FEW_IN_A_GROUP = 1.5
"""A wanted category is looked at when a group on target has fewer of it on average: p*_c G below this."""

FEW_WITH_CALIBRATION = 0.2
"""Below it calibration still puts the resting point on the target, and the way there is slow."""

MAX_NOTES = 5
"""The rarest categories that are told, each in a line."""

LEAST_SHARE = 1e-6
"""Less of a category than any run will see."""

LARGEST_GROUP = 1024
"""The largest group that is tried in place of the run's own."""


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
    settings: Settings, groups: Sequence[NDArray[np.int64]], earlier: NDArray[np.int64]
) -> LaunchProblem | None:
    """What is wrong with the model that a run starts from; None when it can be steered.

    Too many groups in one category are the ``collapsed_groups`` limit of ``madrl.alarms``, where there are enough
    groups to tell it from chance. A wanted category is missing when none of at least MIN_EXPECTED / p*_c responses, of
    ``groups`` and ``earlier`` together, is in it. With ``madrl.hints`` that stops no run: the category is asked for by
    name.

    Args:
        groups: for each prompt of the first training batch, the category indices of the responses that came back. They
            may be fewer than were asked for: a group that lost a session is replaced while its others are on their way.
        earlier: the category indices of the responses that came before that batch, in the first validation.
    """
    found = []
    stopping = False
    rate = single_category_rate(groups)
    limit = collapsed_limit(settings.target, [int(np.sum(group != OFF_SUPPORT)) for group in groups] or [0])
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
    which do not train on it. Of many categories the MAX_NOTES rarest are told, and how many more there are. Takes 1 to
    3 s of CPU time, whatever the numbers of categories and responses.

    Args:
        settings: the run's.
        group_size: how many responses to a prompt are counted.
    """
    target, config = settings.target, settings.reward
    rare = [i for i in range(target.size) if 0 < target[i] < target.max() and target[i] * group_size < FEW_IN_A_GROUP]
    if config.form in ("rlvr", "gapo") or not rare or group_size < 2:
        return []
    rare.sort(key=lambda i: target[i])
    # One more at least: that FEW_IN_A_GROUP of them are fewer may be a rounding error.
    enough = max(group_size + 1, math.ceil(FEW_IN_A_GROUP / max(float(target[rare[0]]), LEAST_SHARE)))
    at_rest = {
        (size, calibrated): calibration.resting_shares(what_decides(target, size, config), calibrated).tolist()
        for size, calibrated in ((group_size, False), (group_size, True), (enough, False))
        if size <= max(LARGEST_GROUP, group_size) and not (size == enough and config.calibrate)
    }
    notes = []
    for i in rare[:MAX_NOTES]:
        wanted = float(target[i])
        # Less than a hundredth of the target is on its way to nothing.
        rest = {key: _percent(shares[i] if shares[i] > wanted / 100 else 0.0) for key, shares in at_rest.items()}
        note = (
            f"launch check: the target wants {_percent(wanted)} {settings.categories[i]}, {wanted * group_size:.2g} of "
            f"{group_size} responses: the reward alone comes to rest at {rest[group_size, config.calibrate]}"
        )
        if not config.calibrate:
            larger = f"with rollout.n={enough} {f'at {rest[enough, False]}' if (enough, False) in rest else 'nearer'}"
            calibrated = f"with madrl.reward.calibrate=true at {rest[group_size, True]}, "
            note += f"; {'' if settings.attributes else calibrated}{larger}"
        else:
            quick = math.ceil(FEW_WITH_CALIBRATION / max(wanted, LEAST_SHARE))
            if not 0.8 <= at_rest[group_size, True][i] / wanted <= 1.25:
                note += f", as near as offsets bring it in such a group; with rollout.n={enough} nearer"
            elif group_size < quick:
                note += f", but slowly with less than rollout.n={quick}"
            note += f"; without calibration at {rest[group_size, False]}"
        notes.append(note)
    if len(rare) > MAX_NOTES:
        notes.append(f"launch check: so it is for {len(rare) - MAX_NOTES} more of the {target.size} categories")
    return notes


def notes_before(settings: Settings, group_size: int) -> list[str]:
    """``target_notes`` of the first attribute and of each further one: all that can be told before a model is there."""
    notes = target_notes(settings, group_size)
    for name in settings.attributes:
        notes += [of_attribute(note, name) for note in target_notes(settings.of_attribute(name), group_size)]
    return notes


def of_attribute(note: str, name: str) -> str:
    """The note as one of the further attribute ``name``."""
    return note.replace("launch check:", f"launch check of {name}:", 1)


def _percent(share: float) -> str:
    """``share`` in percent, with two digits; 0 for what no run will see."""
    return f"{100 * share:.2g}%" if share >= LEAST_SHARE else "0%"


def start_notes(
    settings: Settings, group_size: int, indices: NDArray[np.int64], correct: Sequence[float | None]
) -> list[str]:
    """What the starting model's own responses say of the way to the target: the wanted categories that most groups do
    not contain, from which nothing can be learnt, and what the target's mix will cost in correctness, where each wanted
    category has MIN_COMPLETIONS graded responses. Nothing for the form rlvr, which steers nowhere.

    Args:
        settings: the run's.
        group_size: how many responses a prompt gets in training.
        indices: the category of each response, OFF_SUPPORT where it has none.
        correct: the correctness of each, None where it is ungraded.
    """
    if settings.reward.form == "rlvr" or not indices.size:
        return []
    of_each = category_counts(indices, len(settings.categories)) / indices.size
    notes = []
    for name, wanted, share in zip(settings.categories, settings.target.tolist(), of_each.tolist(), strict=True):
        groups = 1.0 - (1.0 - share) ** group_size
        if wanted and groups < min(0.5, 1.0 - (1.0 - wanted) ** group_size):
            notes.append(
                f"launch check: {share:.2%} of the responses are {name}, so that {groups:.0%} of the groups of "
                f"{group_size} have any to learn from; the target wants {wanted:.1%}"
            )
    k = len(settings.categories)
    pooled = verdicts(indices, correct, k, np.zeros(indices.size, dtype=np.int64), 1)
    today, on_target = pass_at_1(correct), accuracy_at_target(settings.target, *(of[0, :k] for of in pooled))
    enough = pooled.graded[0, :k][settings.target > 0].min() >= MIN_COMPLETIONS
    if today is not None and on_target is not None and enough and min(today, on_target) < 1:
        notes.append(
            f"launch check: pass@1 of the {int(pooled.graded.sum())} responses is {today:.3f} with today's mix, and "
            f"would be {on_target:.3f} with the target's at today's accuracy in each category"
        )
    return notes
