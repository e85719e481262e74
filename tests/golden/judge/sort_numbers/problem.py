"""Sort 200,000 numbers."""
import random
_rng = random.Random(2)
_numbers = [_rng.randrange(10**9) for _ in range(200_000)]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 128}
TESTS = [("3\n3 1 2\n", "1 2 3\n"), (f"200000\n{' '.join(map(str, _numbers))}\n", " ".join(map(str, sorted(_numbers))))]
