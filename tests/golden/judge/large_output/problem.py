"""The squares of 0 to n - 1, a line each: up to 6 MB."""
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 128}
TESTS = [(f"{n}\n", "".join(f"{i * i}\n" for i in range(n))) for n in (3, 500_000)]
