"""The sum of n integers; it needs 64 bits."""
import random
_rng = random.Random(1)
_many = [_rng.randrange(-10**11, 10**12) for _ in range(1000)]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [("2\n2000000000 2000000000\n", "4000000000\n"), (f"1000\n{' '.join(map(str, _many))}\n", f"{sum(_many)}\n")]
