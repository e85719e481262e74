"""The sum of squares up to n, by eight threads (four workers in JavaScript) that share the work."""
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 256}
TESTS = [(f"{n}\n", f"{sum(i * i for i in range(n + 1)) % 1000003}\n") for n in (10, 400_000)]
