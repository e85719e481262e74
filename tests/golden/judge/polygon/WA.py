import math
n = int(input())
points = [tuple(map(float, input().split())) for _ in range(n)]
pairs = list(zip(points, points[1:]))
print(abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs)) / 2, sum(math.dist(a, b) for a, b in pairs))
