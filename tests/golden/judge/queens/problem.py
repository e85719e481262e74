"""In how many ways n queens stand on a board without threatening each other, by backtracking."""
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [("1\n", "1\n"), ("3\n", "0\n"), ("8\n", "92\n")]
