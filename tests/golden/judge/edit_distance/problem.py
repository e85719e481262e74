"""The edit distance of two words of 400 letters."""
import random
_rng = random.Random(4)
def _distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
_pairs = [("kitten", "sitting"), ("a", "a"), tuple("".join(_rng.choices("abcd", k=400)) for _ in "ab")]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(f"{a}\n{b}\n", f"{_distance(a, b)}\n") for a, b in _pairs]
