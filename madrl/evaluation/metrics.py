"""What is reported about a set of sampled responses: distribution fit, validity, accuracy, and the fit's floor.

Covers numbers only: nothing here reads a file or draws a figure. Categories come as indices with OFF_SUPPORT
(``frequency.category_indices``), correctness as a number in [0, 1] or None for ungraded, one entry per response and in
any order. A number that does not exist, because there is nothing to count, is None and never 0.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.divergence import DIVERGENCES, jensen_shannon_terms, jensen_shannon_value
from madrl.errors import MadrlError
from madrl.frequency import OFF_SUPPORT, category_counts
from madrl.targets import shares_of, smooth


def shares(indices: NDArray[np.int64], n_categories: int) -> NDArray[np.float64]:
    """Share of each category among the on-support responses, pooled over prompts. Shape (K,), sums to 1.

    NaN in every place when no response is on-support. Unlike ``frequency.group_frequency``, whose denominator counts
    off-support responses, this is what the paper's JSD is taken of; validity is reported by ``off_support_rate``.
    """
    counts = category_counts(indices, n_categories)
    total = counts.sum()
    return counts / total if total else np.full(n_categories, np.nan)


def off_support_rate(indices: NDArray[np.int64]) -> float | None:
    """Share of all responses that fit no declared category, in [0, 1]; None when there are no responses."""
    return float(np.mean(indices == OFF_SUPPORT)) if indices.size else None


def pass_at_1(correct: Sequence[float | None]) -> float | None:
    """Probability that one sampled response is correct: the mean over all graded responses, off-support ones included.

    Where a verifier gives parts, it is the mean correctness. None when nothing was graded. Ungraded responses are left
    out, not counted as wrong; report ``records.ungraded_rate`` too.
    """
    graded = [verdict for verdict in correct if verdict is not None]
    return sum(graded) / len(graded) if graded else None


def full_marks(correct: Sequence[float | None]) -> float | None:
    """Share of the graded responses whose correctness is 1: what ``pass_at_1`` is where no verifier gives parts.

    None when nothing was graded.
    """
    return pass_at_1([None if of_one is None else float(of_one == 1) for of_one in correct])


def partial_rate(correct: Sequence[float | None]) -> float | None:
    """Share of the graded responses that are correct in part, 0 < correctness < 1; None when nothing was graded."""
    return pass_at_1([None if of_one is None else float(0 < of_one < 1) for of_one in correct])


def jsd_to_target(target: NDArray[np.float64], indices: NDArray[np.int64]) -> float | None:
    """JSD in nats, in [0, log 2], between ``target`` and the pooled on-support ``shares``; None when there are none.

    The estimator is biased upwards: compare it with ``jsd_floor`` at the same number of on-support responses.
    """
    observed = shares(indices, target.size)
    return None if np.isnan(observed).any() else jensen_shannon_value(target, observed)


def divergence_values(target: NDArray[np.float64], pooled: NDArray[np.float64], epsilon: float) -> dict[str, float]:
    """All of ``DIVERGENCES`` between ``target`` and the ``pooled`` shares, by name, in nats (l2: no unit).

    l2, fkl and jsd are taken of the target itself. Forward KL is inf when a wanted category has share 0. Reverse KL
    would be inf as soon as a single response is in an excluded category, which every peaked run has; it is taken of the
    epsilon-smoothed target, as in its reward. That keeps it finite, sets what an excluded category costs, and leaves
    KL(p* || p~*) at a perfect fit: 0 for a uniform target, 0.4 epsilon for the peaked one of five.
    """
    targets = {name: smooth(target, epsilon) if name == "rkl" else target for name in DIVERGENCES}
    return {name: divergence.value(targets[name], pooled) for name, divergence in DIVERGENCES.items()}


def single_category_rate(groups: Sequence[NDArray[np.int64]]) -> float | None:
    """Share of groups whose on-support responses are all in one and the same category, in [0, 1].

    Each group holds the category indices of the responses to one prompt. Off-support responses are left out, because
    they would hide a collapse: of groups of 16 with 5 % off-support, 0.95^16 = 44 % have none. A group with nothing
    on-support is not such a group; a group with one on-support response is. None when there are no groups.
    """
    if not len(groups):
        return None
    return sum(np.unique(group[group != OFF_SUPPORT]).size == 1 for group in groups) / len(groups)


class Floor(NamedTuple):
    """The JSD, in nats, that a policy which sits exactly on the target shows at a finite number of samples."""

    mean: float
    """Expected value (exact)."""
    p95: float
    """95th percentile (Monte Carlo): one honest measurement in twenty is above it."""
    draws: int
    """Simulated measurements behind ``p95``."""


def exceeds(value: float, p95: float) -> bool:
    """Whether a JSD is above the 95th percentile of its floor. Where a handful of responses have few values to show,
    the percentile is one of them, but for rounding."""
    return value > p95 and not math.isclose(value, p95)


FLOOR_DRAWS = 100_000
"""Enough to leave ``p95`` a standard error of less than 1 % of its value."""

Z_95 = 1.645
"""The standard normal's 95th percentile."""

MAX_FLOOR_SAMPLES = 10_000_000
"""The exact mean takes a table of this many numbers; far above it, (K - 1) / (8 samples) is as good."""


MAX_FLOOR_COUNTS = 200_000_000
"""Drawn counts, one for each category and draw, that are in memory together: 1.6 GB."""


def jsd_floor(
    target: NDArray[np.float64],
    samples: int,
    draws: int | None = None,
    seed: int = 0,
    runs: int = 1,
    centre: Callable[..., Any] = np.mean,
) -> Floor:
    """What ``jsd_to_target`` reports for a policy whose true category distribution is ``target``.

    The measured JSD is a sum over categories of t_c(n_c), with counts n ~ Multinomial(samples, p*). Each n_c is
    binomial, so the mean needs no simulation:

        E[JSD] = sum_c sum_k Binomial(k; samples, p*_c) t_c(k),   t_c(k) = jensen_shannon_terms(p*_c, k / samples)

    Only the percentile is drawn, from a generator of its own seeded with ``seed``.

    Args:
        target: p*, shape (K,).
        samples: number of on-support responses that are pooled.
        draws: behind the percentile; None for FLOOR_DRAWS, or as many as there is memory for.
        runs: the percentile is that of ``centre``, numpy's mean or median, of so many measurements.

    Raises MadrlError when ``target`` does not sum to 1, ``samples`` is not in 1..MAX_FLOOR_SAMPLES, ``draws`` is below
    1, draws times categories are above MAX_FLOOR_COUNTS, or ``seed`` is negative.
    """
    target = shares_of(target)
    if not 1 <= samples <= MAX_FLOOR_SAMPLES:
        raise MadrlError(f"samples={samples} is outside 1..{MAX_FLOOR_SAMPLES}: it is the number of pooled responses")
    if draws is None:
        draws = min(FLOOR_DRAWS, MAX_FLOOR_COUNTS // max(target.size, runs))
    if draws < 1:
        raise MadrlError(f"draws={draws} must be at least 1: {FLOOR_DRAWS} is the default")
    if draws * target.size > MAX_FLOOR_COUNTS:
        raise MadrlError(
            f"draws={draws} of {target.size} categories are more than {MAX_FLOOR_COUNTS} numbers in memory: "
            f"take at most draws={MAX_FLOOR_COUNTS // target.size}"
        )
    if seed < 0:
        raise MadrlError(f"seed={seed} must be 0 or more")

    generator = np.random.default_rng(seed)
    mean, drawn = _jsd_on_target(target, samples, draws, generator)
    if runs > 1:
        drawn = centre(generator.choice(drawn, (draws, runs)), axis=1)
    return Floor(mean, float(np.quantile(drawn, 0.95)), draws)


PER_PROMPT_FLOOR_DRAWS = 20_000
"""Leaves the scatter that the 95th percentile is taken of a standard error of 1 %."""

LEAST_DRAWS = 100
"""Simulated prompts for each of many targets, whose errors cancel."""

LEAST_SHAPE = 0.5
"""The gamma distribution's k from which on Wilson and Hilferty's 95th percentile is within 3 % of its own."""

FEW_PROMPTS = 32
"""With a few responses to each of up to so many prompts, their mean has too few values for a gamma distribution: up to
20 % of the policies on the target would be above its 95th percentile. With more prompts it is 5 to 8 %."""


def jsd_per_prompt_floor(
    target: NDArray[np.float64], on_support: Sequence[int], draws: int = PER_PROMPT_FLOOR_DRAWS, seed: int = 0
) -> Floor:
    """What the mean over prompts of a prompt's own JSD is for a policy that answers every prompt exactly on its target.

    Its mean is the mean over prompts of ``jsd_floor`` at each prompt's own target and number of responses, and exact.
    It does not fall with more prompts, only with more responses to each: towards a uniform target over five categories
    it is 0.182 at 4 and 0.0168 at 32. The 95th percentile is that of the gamma distribution with the same mean and
    variance (in the approximation of Wilson and Hilferty, PNAS 1931), as a single prompt's JSD is nearly a multiple of
    a chi-square:

        p95 = mean (1 - 1 / (9 k) + 1.645 / sqrt(9 k))^3,   k = mean^2 / variance

    A mean over FEW_PROMPTS or fewer has few values and no such form, nor has one with k below LEAST_SHAPE, as where
    targets are nearly certain: there it is the percentile of simulated means.

    The variance of a prompt's JSD at each target and number of responses is taken of simulated prompts: of ``draws``
    where there is one target, and of as many for all together, but LEAST_DRAWS for each, where there are several. For
    the mean alone a single draw will do.

    Args:
        target: p*, shape (K,), or that of each prompt, shape (P, K).
        on_support: on-support responses to each prompt, each 1 or more.
    """
    generator = np.random.default_rng(seed)
    targets, which = np.unique(np.atleast_2d(target), axis=0, return_inverse=True)
    of_prompts = np.broadcast_to(which.reshape(-1), len(on_support)).tolist()
    of_each = max(draws // len(targets), min(draws, LEAST_DRAWS))
    mean = variance = 0.0
    parts = []
    for (number, n), prompts in sorted(Counter(zip(of_prompts, on_support, strict=True)).items()):
        expected, drawn = _jsd_on_target(targets[number], n, of_each, generator)
        parts.append((drawn, prompts))
        mean += expected * prompts / len(on_support)
        variance += float(drawn.var()) * prompts / len(on_support) ** 2
    if mean == 0.0:  # a target of one category
        return Floor(0.0, 0.0, of_each)
    shape = mean**2 / variance if variance else math.inf
    if len(on_support) <= FEW_PROMPTS or shape < LEAST_SHAPE:
        sums = sum(generator.choice(drawn, draws) for drawn, prompts in parts for _ in range(prompts))
        return Floor(mean, float(np.quantile(sums, 0.95)) / len(on_support), of_each)
    ninth = 1 / (9 * shape)
    return Floor(mean, mean * (1 - ninth + Z_95 * ninth**0.5) ** 3, of_each)


def _jsd_on_target(
    target: NDArray[np.float64], samples: int, draws: int, generator: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """The exact mean of the measured JSD of a policy on ``target``, and ``draws`` simulated measurements of it."""
    drawn_counts = generator.multinomial(samples, target, size=draws)
    possible_counts = np.arange(samples + 1)
    mean = 0.0
    drawn = np.zeros(draws)
    for category, share in enumerate(target):
        if not 0.0 < share < 1.0:
            continue  # always or never drawn: this category is on the target every time
        terms = jensen_shannon_terms(share, possible_counts / samples)
        mean += float(_binomial(samples, share) @ terms)
        drawn += terms[drawn_counts[:, category]]
    return mean, np.maximum(drawn, 0.0)  # rounding can leave -1e-17


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    """Probability of k successes in n for k = 0..n, shape (n + 1,), for 0 < p < 1."""
    k = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    log_choose = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
    probability: NDArray[np.float64] = np.exp(log_choose + k * np.log(p) + (n - k) * np.log1p(-p))
    return probability
