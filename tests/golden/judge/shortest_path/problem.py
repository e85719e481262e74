"""The length of the shortest way through a grid of 300 x 300, breadth first; -1 when there is none."""
import random
from collections import deque
def _solved(rows):
    h, w = len(rows), len(rows[0])
    far, queue = {(0, 0): 0}, deque([(0, 0)])
    while queue:
        y, x = queue.popleft()
        for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            if 0 <= v < h and 0 <= u < w and rows[v][u] == "." and (v, u) not in far:
                far[v, u] = far[y, x] + 1
                queue.append((v, u))
    return far.get((h - 1, w - 1), -1)
_rng = random.Random(3)
_grids = [["..#", "#..", "##."], [".#.", "#..", "..."], ["".join("#" if (y, x) not in ((0, 0), (299, 299)) and _rng.random() < 0.25 else "." for x in range(300)) for y in range(300)]]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 128}
TESTS = [(f"{len(g)} {len(g[0])}\n" + "\n".join(g) + "\n", f"{_solved(g)}\n") for g in _grids]
