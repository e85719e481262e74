"""Does each single prompt get the target mix, or only all of them together?

Pooled shares can look perfect while every prompt is collapsed: half of the prompts always in Hindi, half always in
French. The plug-in distance of one prompt's few responses is biased by much more than what it is to show; the
statistic here is not biased at all.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def squared_distances(target: Array, counts: Array) -> Array:
    """An unbiased estimate of ||q - p*||^2 = sum_c (q_c - p*_c)^2 for each prompt's own distribution q. Shape (P,).

        sum_c [ n_c (n_c - 1) / (k (k - 1)) - 2 p*_c n_c / k + p*_c^2 ],   k = sum_c n_c

    The first term is the share of pairs of responses that collide in c, which is q_c^2 in expectation. Squared, with no
    1/2 (``l2_value`` has one). Single values are noisy and may be negative; only their mean says something.

    Args:
        target: p*, shape (K,), or that of each prompt, shape (P, K).
        counts: on-support responses of each prompt per category, shape (P, K).

    NaN for a prompt with fewer than two on-support responses, which has no pairs.
    """
    k = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = counts * (counts - 1) / (k * (k - 1)) - 2 * target * counts / k + target**2  # 0 / 0 without a pair
    distances: Array = terms.sum(axis=1)
    return distances


def collapsed_distance(target: Array) -> float:
    """1 - sum_c p*_c^2: the mean distance when every prompt has one category only and the pooled shares are on target.

    A prompt collapsed to c is at 1 - 2 p*_c + sum p*^2; the mean over c drawn from p* is this. ``target`` is of shape
    (K,), or (P, K) where each prompt has its own: then it is the mean over prompts.
    """
    return float(np.mean(1.0 - np.sum(target**2, axis=-1)))
