"""The most worth that n = 60 things of total weight at most W = 5,000 have."""
import random
_rng = random.Random(5)
def _worth(things, w):
    best = [0] * (w + 1)
    for weight, worth in things:
        for left in range(w, weight - 1, -1):
            best[left] = max(best[left], best[left - weight] + worth)
    return best[w]
_cases = [([(3, 4), (4, 5), (2, 3)], 6), ([(1, 1)], 5), ([(_rng.randint(1, 400), _rng.randint(1, 1000)) for _ in range(60)], 5000)]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(f"{len(t)} {w}\n" + "".join(f"{a} {b}\n" for a, b in t), f"{_worth(t, w)}\n") for t, w in _cases]
