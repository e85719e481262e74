"""How deep brackets nest, found by recursion: 50,000 calls deep."""
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 256}
TESTS = [("(()(()))\n", "3\n"), ("(" * 50_000 + ")" * 50_000 + "\n", "50000\n")]
