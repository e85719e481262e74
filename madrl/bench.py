"""How long scoring and importing take: ``python -m madrl.bench``.

Times ``score_group`` on random groups under each divergence, and the import of the library beside that of NumPy, which
it needs, in fresh interpreters.
"""

import subprocess
import sys
import time

import numpy as np

from madrl.divergence import DIVERGENCES
from madrl.frequency import OFF_SUPPORT
from madrl.reward import RewardConfig, score_group
from madrl.targets import peak

N_GROUPS = 4096
GROUP_SIZE = 16
N_CATEGORIES = 5

IMPORTS = ("pass", "import numpy", "import madrl; madrl.GroupReward")
STARTS = 5
"""Fresh interpreters for each of IMPORTS; the fastest counts."""


def main() -> None:
    """Print seconds, and groups per second, for each divergence on one core; then milliseconds for each import."""
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
    for code in IMPORTS:
        print(f"python -c {code!r:36} {min(_start_s(code) for _ in range(STARTS)) * 1000:5.0f} ms")


def _start_s(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
