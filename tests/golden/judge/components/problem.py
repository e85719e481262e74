"""How many parts a graph of n nodes and m edges has, by disjoint sets."""
import random
_rng = random.Random(9)
def _parts(n, edges):
    root = list(range(n + 1))
    def find(a):
        while root[a] != a:
            root[a] = a = root[root[a]]
        return a
    for a, b in edges:
        root[find(a)] = find(b)
    return sum(root[a] == a for a in range(1, n + 1))
_graphs = [(4, [(1, 2), (3, 4)]), (3, []), (20_000, [(_rng.randint(1, 20_000), _rng.randint(1, 20_000)) for _ in range(15_000)])]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(f"{n} {len(e)}\n" + "".join(f"{a} {b}\n" for a, b in e), f"{_parts(n, e)}\n") for n, e in _graphs]
