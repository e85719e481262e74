"""The whole MaD-RL reward for one group of responses to one prompt. No veRL in sight.

    additive   alpha * correct + (1 - alpha) * r_div       paper, equation "additive"
    gated      correct * (1 + lambda_g * r_div)            paper, equation "gated"; the factor is the gate
    rlvr       correct                                     the correctness-only control
    gapo       alpha * correct + (1 - alpha) * r_gapo      the GAPO baseline, uniform target only

``r_div`` is the Table 1 reward of the response's own category at the group's empirical frequencies. ``r_gapo`` is the
reward of Anschel et al. 2025 (paper, section "GAPO and the Squared-L2 Objective"), with v_c = n_c / (valid responses):

    r_gapo     1 - (v_c - 1/K) for a valid (on-support) response, -1 for an invalid one

``r_div`` of an off-support response is up to ``RewardConfig.off_support``: what it would earn in the category where it
would earn least, or the paper's flat penalty.

GAPO has no task reward: a valid response is as good as correct there. Where there is one we mix it in as the additive
form does, so that the two differ in nothing but the distributional term.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl import calibration
from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.frequency import (
    OFF_SUPPORT,
    UNCLASSIFIED,
    category_counts,
    category_indices,
    group_frequency,
    on_support_frequency,
)
from madrl.prompt_targets import PromptTarget
from madrl.rollout import AttributeScore, GroupScore
from madrl.targets import UNIFORM_TOLERANCE, is_number, shares_of, smooth

FORMS = ("additive", "gated", "rlvr", "gapo")

HINTED_FORMS = ("additive", "gated")
"""The forms that reward a category by its frequency in the group, hinted responses left out."""

OFF_SUPPORT_RULES = ("least_wanted", "flat")
"""What an off-support response earns in place of a category's r_div: ``RewardConfig.off_support``."""

GAPO_VALID = 1.0
"""What GAPO adds to every valid response. The paper leaves it out (equation "gapo-reward-main") because all responses
share it when all are valid, and then it changes no advantage. Beside an invalid response it does: it puts the lowest
valid reward, 1/K in a group of one category, above -1 by 1 + 1/K; without it, by 1/K."""

GAPO_INVALID = -1.0
"""What GAPO gives an invalid response."""

EQUAL_REWARD_TOLERANCE = 1e-6
"""Rewards closer than this are equal: the spread is float residue, which GRPO's division by the standard deviation
would blow up into an advantage of about 0.03."""

EXACT_REWARD_STEP = 2.0**-10
"""The reward of an all-equal group is rounded to this step, or to a larger power of two where it is large
(``_exact_in_float32``)."""


@dataclass(frozen=True)
class RewardConfig:
    """How a group is rewarded. The defaults are the paper's, but for ``off_support``, and ours where the paper is
    silent."""

    divergence: str = "rkl"
    """A key of DIVERGENCES. The rlvr form only reports it, the gapo form has its own."""
    form: str = "additive"
    """One of FORMS."""
    alpha: float = 0.7
    """Weight of correctness in the additive and gapo forms, in [0, 1]. The paper uses 0.90, 0.80, 0.70, 0.55;
    SYNTHETIC 0."""
    lambda_g: float = 1.0
    """Strength of the distributional term in the gated form, in [0, 1e6]. The paper does not give it."""
    gate_floor: float | None = None
    """The gated form's 1 + lambda_g * r_div is raised to this number where it is below, at most 1; None leaves it as it
    is, as in the paper.

    The gate is negative where r_div < -1/lambda_g. Then a *correct* response in an excluded category earns less than a
    wrong one, which always earns 0: under RKL at epsilon 0.001, with five categories and a quarter of the group in it,
    1 + log(0.0002 / 0.25) = -6.13. With 0 it earns as much as a wrong one, and never less.
    """
    epsilon: float = 1e-3
    """Smoothing of the target in the RKL and JSD rewards, in [1e-12, 0.999]. The paper does not give it. It sets the
    scale of RKL on excluded categories."""
    off_support: str = "least_wanted"
    """The r_div of an off-support response, in every form but gapo, which has its own.

    ``least_wanted``: the r_div that it would earn in whichever category would then earn least, at n_c + 1 of G, and at
    most ``off_support_reward``. So no response gains by leaving the declared categories, whatever its siblings do.
    ``flat``: ``off_support_reward``, the paper's rule. Under RKL an excluded category earns about -8 and a flat -1 pays
    better: in a miniature run the share of on-support responses then fell from 0.98 to 0.22. Under the gated form a
    wrong response earns 0, off-support or not, whatever this says.
    """
    off_support_reward: float = -1.0
    """What ``flat`` gives, and ``least_wanted`` at most, in [-1e6, 1e6]. The paper does not give the number."""
    calibrate: bool = False
    """Whether each category's r_div gets an offset that puts the resting point of GRPO's update on the target
    (``madrl.calibration``). Without it a category with p* G near or below 1 is pushed down however rare it is. The
    offsets are 0, and change nothing, for targets whose wanted categories are wanted equally. A run of veRL and ``madrl
    rescore`` have them where ``calibrates`` says so; here and in GroupReward it is for the caller to say, who knows
    whether the trainer is GRPO."""
    norm_by_std: bool = True
    """Whether the trainer divides a group's advantages by their deviation, as GRPO does and Dr. GRPO does not: the
    offsets are for that. In a run it is veRL's ``algorithm.norm_adv_by_std_in_grpo``."""

    def __post_init__(self) -> None:
        if not isinstance(self.divergence, str) or self.divergence not in DIVERGENCES:
            raise MadrlError(f"unknown divergence {self.divergence!r}: use one of {sorted(DIVERGENCES)}")
        if self.form not in FORMS:
            raise MadrlError(f"unknown reward form {self.form!r}: use one of {list(FORMS)}")
        self._check("alpha", 0.0, 1.0, "it is the weight of correctness")
        self._check("lambda_g", 0.0, 1e6, "1 is the default")
        if self.off_support not in OFF_SUPPORT_RULES:
            raise MadrlError(f"unknown off_support {self.off_support!r}: use one of {list(OFF_SUPPORT_RULES)}")
        self._check("epsilon", 1e-12, 0.999, "0.001 is the default")
        self._check("off_support_reward", -1e6, 1e6, "-1 is the default")
        if not isinstance(self.calibrate, bool):
            raise MadrlError(f"calibrate={self.calibrate!r} is neither true nor false")
        if not isinstance(self.norm_by_std, bool):
            raise MadrlError(f"norm_by_std={self.norm_by_std!r} is neither true nor false")
        if self.calibrate and self.form in ("rlvr", "gapo"):
            raise MadrlError(f"calibrate=True with form={self.form}, which does not train on r_div: leave it out")
        if self.gate_floor is not None:
            self._check("gate_floor", -1e6, 1.0, "0 keeps a correct response from earning less than a wrong one")
            if self.form != "gated":
                raise MadrlError(
                    f"gate_floor={self.gate_floor!r} with form={self.form}: only the gated form has a gate"
                )
        if self.form == "gapo" and (self.off_support, self.off_support_reward) != (OFF_SUPPORT_RULES[0], -1.0):
            raise MadrlError(
                f"off_support={self.off_support} with form=gapo: GAPO has a penalty of its own, leave it out"
            )

    def check_target(self, target: NDArray[np.float64]) -> None:
        """Raises MadrlError when this reward cannot be trained towards ``target``, shape (K,)."""
        if self.form == "gapo" and np.ptp(target) > UNIFORM_TOLERANCE:
            weights = ", ".join(f"{weight:.3g}" for weight in target)
            raise MadrlError(
                f"reward form 'gapo' with target ({weights}): GAPO has no other target than uniform; use "
                "target=uniform, or form=additive with divergence=l2, its generalisation to any target"
            )

    def _check(self, name: str, low: float, high: float, hint: str) -> None:
        value = getattr(self, name)
        if not is_number(value, low, high):
            raise MadrlError(f"{name}={value!r} is not a number in [{low:g}, {high:g}]: {hint}")


def calibrates(form: str, attributes: Collection[str] = ()) -> bool:
    """Whether rewards of this form, with these further attributes, are calibrated under GRPO unless one says otherwise
    (``RewardConfig.calibrate``): what the offsets are made for."""
    return form == "additive" and not attributes


class FurtherAttribute(NamedTuple):
    """What a group is of an attribute beside the first (``madrl.attributes``)."""

    indices: NDArray[np.int64]
    """The category of each response, as in ``score_group``."""
    target: NDArray[np.float64]
    weight: float


def score_group(
    indices: NDArray[np.int64],
    correct: Sequence[float | None],
    target: NDArray[np.float64],
    config: RewardConfig,
    hinted: NDArray[np.bool_] | None = None,
    further: Sequence[FurtherAttribute] = (),
) -> GroupScore:
    """Score all G responses to one prompt together.

    Args:
        indices: category of each response, shape (G,), OFF_SUPPORT where it has none, UNCLASSIFIED where nobody could
            say (``category_indices``).
        correct: correctness of each response, in [0, 1]; None means ungraded.
        target: p*, shape (K,), unsmoothed, which sums to 1; ``config.check_target`` holds for it.
        config: the reward's form and parameters.
        hinted: whether each response was asked for a category by name (``madrl.hints``), shape (G,); None for none.
        further: the attributes beside the first, whose weighted terms are added to r_div.

    Hinted responses earn what their category earns and are not counted: the frequencies are n_c / N of the N others,
    because counting them would satisfy the target with responses that the policy does not give by itself. A hinted
    response in a category that none of the others is in earns what a lone one of them would, at q_c = 1/N.

    A response without a grade earns what the others earn on average, so that nobody gains by an outage and the group's
    mean stays where it is. An ungraded one takes the mean correctness of the graded ones in its group, 0 when none was
    graded. An unclassified one takes the mean r_div of the classified ones, 0 when none was classified, and counts in
    no frequency: the others earn what they would earn in a group without it, calibrated for their number. When
    every response earns the same, the rewards are rounded to a number that float32 sums exactly (EXACT_REWARD_STEP).
    Whatever the form, a group in one category, or with nothing on-support, is taught nothing about the distribution:
    its distributional terms are all equal, and what is left is correctness.

    Raises MadrlError for an empty group, lengths that differ, a target that does not sum to 1, and hinted responses
    under the gapo form, which has no rule for them, or beside further attributes.
    """
    indices, target = np.asarray(indices), shares_of(target)
    if len(correct) != indices.size:
        raise MadrlError(f"{indices.size} categories but {len(correct)} verdicts: a group needs one of each")
    for one in further:
        if one.indices.size != indices.size:
            raise MadrlError(f"{indices.size} categories but {one.indices.size} of a further attribute: give one each")
    marks = np.zeros(indices.size, dtype=np.bool_) if hinted is None else np.asarray(hinted, dtype=np.bool_)
    if marks.size != indices.size:
        raise MadrlError(f"{indices.size} categories but {marks.size} marks of hinted responses: mark each, or none")
    if marks.any() and config.form == "gapo":
        raise MadrlError("hinted responses with form=gapo: GAPO has no rule for them; use form=additive")
    if marks.any() and further:
        raise MadrlError("hinted responses with further attributes: a hint asks for a category of one; leave one out")
    frequency, divergence_reward = _with_unclassified(indices, marks, target, config)
    others = tuple(_of_further(one, marks, config) for one in further)
    for one, scored in zip(further, others, strict=True):
        divergence_reward = divergence_reward + one.weight * scored.divergence_reward
    correctness = _correctness(correct)

    if config.form in ("additive", "gapo"):
        reward = config.alpha * correctness + (1.0 - config.alpha) * divergence_reward
    elif config.form == "gated":
        gate = 1.0 + config.lambda_g * divergence_reward
        reward = correctness * (gate if config.gate_floor is None else np.maximum(gate, config.gate_floor))
    else:
        reward = correctness
    if reward.max() - reward.min() <= EQUAL_REWARD_TOLERANCE:
        reward = np.full_like(reward, _exact_in_float32(float(reward[0]), reward.size))
    return GroupScore(reward, correctness, divergence_reward, frequency, attributes=others)


def score_prompt(
    categories: Sequence[str | None],
    correct: Sequence[float | None],
    target: PromptTarget,
    declared: Sequence[str],
    config: RewardConfig,
    hinted: NDArray[np.bool_] | None = None,
    classified: Sequence[bool] | None = None,
    further: Sequence[FurtherAttribute] = (),
) -> GroupScore:
    """``score_group`` among the prompt's own categories: for the reward there are no others, in smoothing, in what an
    off-support response earns, and in the offsets.

    Args:
        categories: the category of each response, None where it is off-support.
        target: p* over the prompt's categories.
        declared: the declared categories, in the order of the returned frequencies.
        classified: whether somebody could say the category of each; None for all.
        further: as in ``score_group``.

    Raises MadrlError as ``score_group``, and for a category that is not the prompt's.
    """
    indices = category_indices(categories, target.categories, classified)
    score = score_group(indices, correct, target.array, config, hinted, further)
    frequency = dict(zip(target.categories, score.frequency.tolist(), strict=True))
    return replace(score, frequency=np.array([frequency.get(name, 0.0) for name in declared]))


def what_decides(target: NDArray[np.float64], n_counted: int, config: RewardConfig) -> calibration.Reward:
    """What the offsets of a group with that many counted responses follow from."""
    return calibration.Reward(tuple(target.tolist()), n_counted, config.divergence, config.epsilon, config.norm_by_std)


def _with_unclassified(
    indices: NDArray[np.int64], hinted: NDArray[np.bool_], target: NDArray[np.float64], config: RewardConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The frequencies of one attribute in a group, shape (K,), and its distributional term for each response."""
    classified = indices != UNCLASSIFIED
    if not classified.any() and indices.size:
        return np.zeros(target.size), np.zeros(indices.size)
    frequency, rewards = _distributional(indices[classified], hinted[classified], target, config)
    divergence_reward = np.full(indices.size, rewards.mean())
    divergence_reward[classified] = rewards
    return frequency, divergence_reward


def _of_further(one: FurtherAttribute, hinted: NDArray[np.bool_], config: RewardConfig) -> AttributeScore:
    frequency, divergence_reward = _with_unclassified(one.indices, hinted, one.target, config)
    return AttributeScore(divergence_reward, frequency)


def _distributional(
    indices: NDArray[np.int64], hinted: NDArray[np.bool_], target: NDArray[np.float64], config: RewardConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The frequencies of a group that is classified, shape (K,), and the distributional term of each response."""
    counted = indices[~hinted]
    if counted.size == indices.size:
        frequency = seen = group_frequency(indices, target.size)
    else:
        frequency, seen = _frequencies_without_hinted(counted, indices, target.size)
    if config.form == "gapo":
        return frequency, _gapo_reward(indices, target.size)
    return frequency, _divergence_reward(indices, seen, counted.size, target, config)


def _frequencies_without_hinted(
    counted: NDArray[np.int64], indices: NDArray[np.int64], n_categories: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The frequencies of the N responses that are counted, and the same with 1/N where only hinted ones are: those at
    which the group is rewarded. Where all are hinted, because every other session failed, N counts as 1."""
    frequency = group_frequency(counted, n_categories) if counted.size else np.zeros(n_categories)
    only_hinted = (frequency == 0) & (category_counts(indices, n_categories) > 0)
    return frequency, np.where(only_hinted, 1.0 / max(1, counted.size), frequency)


def _divergence_reward(
    indices: NDArray[np.int64],
    frequency: NDArray[np.float64],
    n_counted: int,
    target: NDArray[np.float64],
    config: RewardConfig,
) -> NDArray[np.float64]:
    """R_D at each response's own category, calibrated where the config says so, shape (G,); finite, because a category
    of the group has q >= 1/N for the ``n_counted`` responses N behind ``frequency``."""
    divergence = DIVERGENCES[config.divergence]
    goal = smooth(target, config.epsilon) if divergence.smooths_target else target
    offsets = calibration.offsets(what_decides(target, n_counted, config)) if config.calibrate else 0.0
    by_category = divergence.reward(goal, frequency) + offsets
    on_support = indices != OFF_SUPPORT
    rewards = np.full(indices.size, config.off_support_reward, dtype=np.float64)
    rewards[on_support] = by_category[indices[on_support]]
    if config.off_support == "least_wanted" and not on_support.all():
        joined = divergence.reward(goal, np.minimum(frequency + 1.0 / max(1, n_counted), 1.0)) + offsets
        rewards[~on_support] = min(config.off_support_reward, float(joined.min()))
    return rewards


def _gapo_reward(indices: NDArray[np.int64], n_categories: int) -> NDArray[np.float64]:
    """r_gapo of each response, shape (G,): in [1/K, 1 + 1/K) when valid, GAPO_INVALID when not.

    The frequency is of the valid responses, however few: a lone one has v = 1 and earns 1/K, whatever its category.
    """
    on_support = indices != OFF_SUPPORT
    frequency = on_support_frequency(indices, n_categories)
    rewards = np.full(indices.size, GAPO_INVALID)
    rewards[on_support] = GAPO_VALID - (frequency[indices[on_support]] - 1.0 / n_categories)
    return rewards


def _correctness(correct: Sequence[float | None]) -> NDArray[np.float64]:
    """The correctness of each response; the graded responses' mean where it is None."""
    values = np.array([np.nan if c is None else float(c) for c in correct])
    ungraded = np.isnan(values)
    if ungraded.any():
        values[ungraded] = 0.0 if ungraded.all() else values[~ungraded].mean()
    return values


def _exact_in_float32(reward: float, group_size: int) -> float:
    """``reward``, rounded so that float32 sums ``group_size`` of it without an error: the group's mean is then the
    reward itself, and every advantage exactly zero. The sum of a multiple of 2^k is exact below 2^(k + 24)."""
    _, exponent = math.frexp(abs(reward) * group_size)  # the sum is below 2^exponent
    step = max(EXACT_REWARD_STEP, 2.0 ** (exponent - 23))  # one bit is left for the rounding up
    return round(reward / step) * step
