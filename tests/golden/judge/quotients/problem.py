"""The integer quotients of pairs of numbers up to 10^15, and "error" where there is none."""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [("7 2\n", "3\n"), ("1000000000000000 7\n5 0\n", "142857142857142\nerror\n")]
