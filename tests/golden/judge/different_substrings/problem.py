"""How many different substrings a word of at most 1,100 letters has: a hash of each would do, the texts themselves are too many."""
import random
_rng = random.Random(10)
def _different(word):
    suffixes = sorted(word[i:] for i in range(len(word)))
    same = (next((k for k, (a, b) in enumerate(zip(one, two)) if a != b), len(one)) for one, two in zip(suffixes, suffixes[1:]))
    return len(word) * (len(word) + 1) // 2 - sum(same)
_words = ["aab", "".join(_rng.choices("abcdefghij", k=1100))]
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 64}
TESTS = [(f"{word}\n", f"{_different(word)}\n") for word in _words]
