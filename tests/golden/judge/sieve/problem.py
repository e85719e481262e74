"""How many primes are at most n."""
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [("1\n", "0\n"), ("100\n", "25\n"), ("3000000\n", "216816\n")]
