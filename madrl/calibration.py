"""Where GRPO's update comes to rest on a target, and offsets of the reward that put that point on the target.

A group's divergence reward is made from its empirical shares q, and GRPO divides it by the group's own deviation. Both
are nonlinear, so that a policy whose shares are p* is not at rest: a response that is alone in its category has
q = 1/G, hence a reward with the sign of p* - 1/G under every divergence, and a category with p* G below or near 1 is
pushed down however rare it is. The update that a policy with the shares q can expect is, category by category,

    g_c(q) = E[n_c (R_c(n) - m(n)) / (G s(n))],   n ~ Multinomial(G, q)

with R_c(n) the reward of category c in a group with the counts n, and m, s the mean and the standard deviation
(ddof 1, as GRPO's) of the rewards in that group; a group in one category contributes 0. Where the trainer does not
divide by the deviation, as Dr. GRPO does not, s is 1. ``expected_update`` is g,
``offsets`` are the numbers delta_c which make g(p*) zero when R_c is r_div,c + delta_c, and ``resting_shares`` is the
q at which g is zero: what the reward alone steers to.

The expectation is of DRAWS sampled groups with a fixed seed: the same numbers on every machine and in every process.
Correctness, off-support responses and differences between prompts are left out.
"""

import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES
from madrl.targets import UNIFORM_TOLERANCE, smooth

DRAWS = 40_000
"""Sampled groups behind an offset: the Monte Carlo error of g is then about 1 % of a rare category's share."""

KEPT = 2**16
"""Offsets that are kept: 16 MB for five categories."""

MIN_GROUP = 4
"""The smallest group with offsets: in a smaller one they would be as large as the rewards."""

TOLERANCE = 1e-6
"""Offsets are found when no category's g is farther from 0."""

MAX_ITERATIONS = 500
DAMPING = 0.7
"""The part of a Newton step, with g's slope in delta, that one iteration takes."""

REST_NUMBERS = 25_000
"""Counts that one iteration of ``resting_shares`` draws, for all categories together: 5,000 groups of five of them."""

REST_ITERATIONS = 200
REST_MEAN = 60
"""The last iterations that ``resting_shares`` is the mean of: groups are drawn anew in each."""

MAX_LOG_STEP = 0.3
"""The most that one iteration of ``resting_shares`` changes the logarithm of a share."""

EQUAL_REWARDS = 1e-6
"""A group whose rewards deviate by less teaches nothing."""

Array = NDArray[np.float64]


class Reward(NamedTuple):
    """What decides the divergence reward of a group: hashable, so that offsets are computed once."""

    target: tuple[float, ...]
    """p*, unsmoothed."""
    group_size: int
    """How many responses the frequencies are counted on."""
    divergence: str
    """A key of DIVERGENCES."""
    epsilon: float
    """Smoothing of the target, where the divergence has it."""
    norm_by_std: bool = True
    """Whether advantages are divided by the group's deviation."""


def offsets(reward: Reward) -> Array:
    """delta, shape (K,): what is added to each category's r_div so that the expected update at p* is zero.

    0 where p* = 0, in groups below MIN_GROUP, and for all categories when the wanted ones are wanted equally (uniform,
    peak). Its mean under p* is 0, and categories that are wanted equally share one offset. Not writable.

    In a group with two categories the normalised reward is a sign, whatever its size: g jumps with delta and may have
    no zero, unless ``norm_by_std`` is off. Where many groups are such ones (two wanted categories, four responses, or
    three categories of which one is rare: 46 % of the groups of 8 for .6, .3 and .1) these are the offsets with the
    smallest largest g that was found.

    Takes 0.1 s of CPU time for five categories and 1 to 2 s for a hundred the first time, from whatever thread, and
    nothing after that: the offsets of the last KEPT different ``reward`` are kept, which holds the targets of a data
    set whose prompts have their own.
    """
    with _FINDING:
        entry = _entry(reward)
    with entry.computing:
        if entry.offsets is None:
            entry.offsets = _offsets(reward)
        return entry.offsets


_FINDING = threading.Lock()
"""Held for a moment, so that all who ask for the offsets of one reward at once find the same entry."""


class _Entry:
    """The offsets of one reward. Its lock is held while they are computed, so that groups that are scored at once do
    not all compute the same ones, and those of another target do not wait."""

    def __init__(self) -> None:
        self.computing = threading.Lock()
        self.offsets: Array | None = None


@lru_cache(maxsize=KEPT)
def _entry(reward: Reward) -> _Entry:
    return _Entry()


def _offsets(reward: Reward) -> Array:
    target = np.array(reward.target)
    found = np.zeros(target.size)
    wanted = target > 0
    if reward.group_size >= MIN_GROUP and np.ptp(target[wanted]) > UNIFORM_TOLERANCE:
        counts, weights = _groups(reward.group_size, target, DRAWS)
        plain, delta, least = _rewards(_by_count(reward), counts), found, np.inf
        for _ in range(MAX_ITERATIONS):
            # Categories that are wanted equally differ in their draws only, which is noise.
            both = _update(reward, counts, weights, plain + delta)
            update, slope = (_mean_of_equals(values, target) for values in both)
            farthest = np.abs(update[wanted]).max()
            if farthest < least:
                found, least = delta, farthest
            if farthest < TOLERANCE:
                break
            # A category that is in none of the sampled groups has no slope, and keeps its offset.
            step = np.divide(update, slope, out=np.zeros_like(update), where=wanted & (slope > 0))
            delta = delta - DAMPING * step
            delta = delta - np.where(wanted, (target * delta).sum(), 0.0)
    found.flags.writeable = False
    return found


def expected_update(reward: Reward, shares: Array, delta: Array | float = 0.0, seed: int = 0) -> Array:
    """g, shape (K,), at a policy with ``shares``, for r_div + ``delta``, in units of GRPO's advantages; sums to 0."""
    counts, weights = _groups(reward.group_size, shares, DRAWS, seed)
    return _update(reward, counts, weights, _rewards(_by_count(reward), counts) + delta)[0]


def resting_shares(reward: Reward, calibrated: bool) -> Array:
    """q, shape (K,), sums to 1: the shares at which the expected update is zero, with or without ``offsets``.

    What the divergence reward alone steers a policy to that can take any shares, whatever they are at first. A category
    that the target does not want has 0; one that is pushed down to nothing, next to nothing.
    """
    target = np.array(reward.target)
    wanted = target > 0
    if reward.group_size < 2:
        return target
    delta = offsets(reward) if calibrated else np.zeros(target.size)
    shares, history, by_count = target.copy(), [], _by_count(reward)
    draws = REST_NUMBERS // target.size + 1
    weights = np.full(draws, 1.0 / draws)
    for iteration in range(REST_ITERATIONS):
        counts = np.random.default_rng(iteration).multinomial(reward.group_size, shares, size=draws).astype(float)
        update, slope = _update(reward, counts, weights, _rewards(by_count, counts) + delta)
        step = np.zeros(target.size)
        step[wanted] = np.clip(update[wanted] / np.maximum(slope[wanted], 1e-12), -MAX_LOG_STEP, MAX_LOG_STEP)
        # Smaller steps as the noise of the draws becomes what is left.
        shares = shares * np.exp(step * min(1.0, 20.0 / (iteration + 1)))
        shares /= shares.sum()
        history.append(shares)
    return np.asarray(np.mean(history[-REST_MEAN:], axis=0))


def _groups(size: int, shares: Array, draws: int, seed: int = 0) -> tuple[Array, Array]:
    """Distinct counts of sampled groups, shape (M, K), and how often each was drawn, shape (M,), summing to 1."""
    drawn = np.random.default_rng(seed).multinomial(size, shares / shares.sum(), size=draws)
    counts, times = np.unique(drawn, axis=0, return_counts=True)
    return counts.astype(float), times / draws


def _by_count(reward: Reward) -> Array:
    """r_div of each category for each of its counts 0..G in a group, shape (G + 1, K); 0 for a count of 0."""
    divergence = DIVERGENCES[reward.divergence]
    target = np.array(reward.target)
    goal = smooth(target, reward.epsilon) if divergence.smooths_target else target
    shares = np.arange(1, reward.group_size + 1) / reward.group_size
    return np.vstack([np.zeros(target.size), divergence.reward(goal, np.tile(shares[:, None], target.size))])


def _rewards(by_count: Array, counts: Array) -> Array:
    """r_div of each category in each group, shape (M, K)."""
    rewards: Array = by_count[counts.astype(int), np.arange(counts.shape[1])]
    return rewards


def _update(reward: Reward, counts: Array, weights: Array, rewards: Array) -> tuple[Array, Array]:
    """g, shape (K,), and its slope in delta_c with the deviations held fixed, E[n_c (1 - n_c/G) / (G s)]."""
    size = counts.sum(axis=1, keepdims=True)
    mean = (counts * rewards).sum(axis=1, keepdims=True) / size
    deviation = np.sqrt((counts * (rewards - mean) ** 2).sum(axis=1, keepdims=True) / (size - 1))
    with np.errstate(divide="ignore"):
        divisor = deviation if reward.norm_by_std else 1.0
        scale = np.where(deviation > EQUAL_REWARDS, weights[:, None] / (size * divisor), 0.0)
    update = (scale * counts * (rewards - mean)).sum(axis=0)
    slope = (scale * counts * (1.0 - counts / size)).sum(axis=0)
    return update, slope


def _mean_of_equals(values: Array, target: Array) -> Array:
    """``values`` by category, with one number, their mean, for all that are wanted equally."""
    equal = np.abs(target[:, None] - target) <= UNIFORM_TOLERANCE
    mean: Array = equal @ values / equal.sum(axis=1)
    return mean
