"""A third of each number, in whatever format: the checker compares numbers."""
_numbers = [1, 2, 10, 1e-9, 12345678901, -7.5]
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [(" ".join(map(str, _numbers)) + "\n", " ".join(f"{x / 3:.12g}" for x in _numbers) + "\n"), ("3\n", "1.0\n")]
