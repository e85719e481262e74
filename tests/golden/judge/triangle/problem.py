"""A triangle of n lines, whose blanks on the left count."""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64, "checker": {"mode": "lines"}}
TESTS = [(f"{n}\n", "".join(" " * (n - i) + "*" * (2 * i - 1) + "\n" for i in range(1, n + 1))) for n in (1, 5)]
