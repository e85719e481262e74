"""How long scoring takes: ``python -m madrl.bench`` times ``score_group`` on random groups under each divergence."""

import time

import numpy as np

from madrl.divergence import DIVERGENCES
from madrl.frequency import OFF_SUPPORT
from madrl.reward import RewardConfig, score_group
from madrl.targets import peak

N_GROUPS = 4096
GROUP_SIZE = 16
N_CATEGORIES = 5


def main() -> None:
    """Print seconds, and groups per second, for each divergence on one core."""
    rng = np.random.default_rng(0)
    indices = rng.integers(OFF_SUPPORT, N_CATEGORIES, size=(N_GROUPS, GROUP_SIZE))
    correct = (rng.random((N_GROUPS, GROUP_SIZE)) < 0.5).tolist()
    target = peak(N_CATEGORIES)
    print(f"{N_GROUPS} groups of {GROUP_SIZE} responses, {N_CATEGORIES} categories")
    for name in DIVERGENCES:
        config = RewardConfig(divergence=name)
        start = time.perf_counter()
        for group, verdicts in zip(indices, correct, strict=True):
            score_group(group, verdicts, target, config)
        elapsed_s = time.perf_counter() - start
        print(f"{name:4} {elapsed_s:6.3f} s   {N_GROUPS / elapsed_s:8,.0f} groups/s")


if __name__ == "__main__":
    main()
