"""How often each word occurs: the most frequent first, then by the alphabet."""
import random
from collections import Counter
_rng = random.Random(8)
_texts = [["b", "a", "b"], _rng.choices(["".join(_rng.choices("abcdefgh", k=3)) for _ in range(300)], k=20_000)]
def _counted(words):
    return "".join(f"{w} {n}\n" for w, n in sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(" ".join(words) + "\n", _counted(words)) for words in _texts]
