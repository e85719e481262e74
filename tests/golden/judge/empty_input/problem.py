"""The largest of the numbers, of which there may be none: then it says none."""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [("3 9 2\n", "9\n"), ("", "none\n")]
