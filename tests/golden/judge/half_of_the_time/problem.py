"""A hash of n rounds, which cannot be shortened: each language's right program takes nearly half of the time limit."""
def _hash(n):
    x = 1
    for i in range(n):
        x = (x * 48271 + i) % 2147483647
    return x
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [("10\n", f"{_hash(10)}\n"), ("8000000\n", "1060845269\n")]
