"""How many lines of 12 MB of input hold a 7, at a memory limit of 16 MB: to be read in pieces."""
import random
_rng = random.Random(7)
_lines = [str(_rng.randrange(10**11, 10**12)) for _ in range(1000)]
_text = "\n".join(_lines) + "\n"
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 16}
TESTS = [("7\n8\n71\n", "2\n"), (_text * 923, f"{923 * sum('7' in line for line in _lines)}\n")]
