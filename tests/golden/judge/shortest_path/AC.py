import sys
from collections import deque
h, w, *rows = sys.stdin.read().split()
h, w = int(h), int(w)
far = [[-1] * w for _ in range(h)]
far[0][0] = 0
queue = deque([(0, 0)])
while queue:
    y, x = queue.popleft()
    for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
        if 0 <= v < h and 0 <= u < w and rows[v][u] == "." and far[v][u] < 0:
            far[v][u] = far[y][x] + 1
            queue.append((v, u))
print(far[-1][-1])
