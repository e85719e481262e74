"""Two different positive numbers with the sum n: many answers are right, and a program of the author's checks them."""
_CHECKER = """import sys
n, *found = map(int, (open(sys.argv[1]).read() + " " + open(sys.argv[2]).read()).split())
sys.exit(0 if len(found) == 2 and sum(found) == n and found[0] != found[1] and min(found) > 0 else 1)
"""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64, "checker": {"mode": "program", "language": "python", "code": _CHECKER}}
TESTS = [("3\n", "1 2\n"), ("100\n", "1 99\n")]
