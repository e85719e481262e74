"""The four divergences of paper Table 1: the value D(p*, q) and the per-category reward R_D(z).

Natural logarithms, so values are in nats. ``target`` is p*, ``empirical`` is q, both of shape (K,). Each reward is
minus the derivative of the value with respect to q(z), plus a constant chosen so that it is zero at q = p*.

Conventions at the edge of the simplex: 0 log 0 = 0; a category with p* = q = 0 has reward 0 under every divergence;
a category with q = 0 < p* has reward +inf under forward KL, reverse KL and JSD (it cannot occur for a category that
was sampled); p* = 0 < q has reward -inf under reverse KL, which is why training smooths the target there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _kl_terms(p: Array, q: Array) -> Array:
    """The summands p_c log(p_c / q_c) of KL(p || q): 0 where p_c = 0, +inf where p_c > 0 = q_c."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms: Array = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
    return terms


def _log_ratio(p: Array, q: Array) -> Array:
    """log(p_c / q_c) per category, with log(0 / 0) = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.log(p) - np.log(q)
    ratio[(p == 0) & (q == 0)] = 0.0
    return ratio


def l2_value(target: Array, empirical: Array) -> float:
    """Half the squared distance, 1/2 sum_c (q_c - p*_c)^2 (with the 1/2, not square-rooted)."""
    return float(0.5 * np.sum((empirical - target) ** 2))


def l2_reward(target: Array, empirical: Array) -> Array:
    """p*(z) - q(z). With a uniform target this is GAPO's frequency reward."""
    return target - empirical


def forward_kl_value(target: Array, empirical: Array) -> float:
    """KL(p* || q)."""
    return float(_kl_terms(target, empirical).sum())


def forward_kl_reward(target: Array, empirical: Array) -> Array:
    """p*(z) / q(z) - 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = target / empirical
    ratio[(target == 0) & (empirical == 0)] = 1.0
    return ratio - 1.0


def reverse_kl_value(target: Array, empirical: Array) -> float:
    """KL(q || p*)."""
    return float(_kl_terms(empirical, target).sum())


def reverse_kl_reward(target: Array, empirical: Array) -> Array:
    """log p*(z) - log q(z)."""
    return _log_ratio(target, empirical)


def jensen_shannon_terms(target: Array, empirical: Array) -> Array:
    """What each category adds to the JSD, 1/2 p* log(p*/m) + 1/2 q log(q/m); the arguments broadcast."""
    mixture = (target + empirical) / 2.0
    return 0.5 * _kl_terms(target, mixture) + 0.5 * _kl_terms(empirical, mixture)


def jensen_shannon_value(target: Array, empirical: Array) -> float:
    """1/2 KL(p* || m) + 1/2 KL(q || m) with m = (p* + q) / 2; at most log 2."""
    return max(0.0, float(jensen_shannon_terms(target, empirical).sum()))  # rounding can leave -1e-17


def jensen_shannon_reward(target: Array, empirical: Array) -> Array:
    """1/2 (log m(z) - log q(z)) with m = (p* + q) / 2; the 1/2 is kept, as the paper does."""
    return 0.5 * _log_ratio((target + empirical) / 2.0, empirical)


@dataclass(frozen=True)
class Divergence:
    """One row of Table 1."""

    name: str
    value: Callable[[Array, Array], float]
    """D(p*, q) in nats."""
    reward: Callable[[Array, Array], Array]
    """R_D(z) for every category, shape (K,); of many groups at once where q has the shape (..., K)."""
    smooths_target: bool
    """Whether training puts the epsilon-smoothed target into the reward (reverse KL and JSD)."""


DIVERGENCES: dict[str, Divergence] = {
    "l2": Divergence("l2", l2_value, l2_reward, smooths_target=False),
    "fkl": Divergence("fkl", forward_kl_value, forward_kl_reward, smooths_target=False),
    "rkl": Divergence("rkl", reverse_kl_value, reverse_kl_reward, smooths_target=True),
    "jsd": Divergence("jsd", jensen_shannon_value, jensen_shannon_reward, smooths_target=True),
}
