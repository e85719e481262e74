"""Area and perimeter of a polygon, to a relative error of 1e-6."""
import math, random
_rng = random.Random(6)
def _measured(points):
    pairs = list(zip(points, points[1:] + points[:1]))
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs)) / 2, sum(math.dist(a, b) for a, b in pairs)
_angles = sorted(_rng.uniform(0, 2 * math.pi) for _ in range(500))
_polygons = [[(0, 0), (1, 0), (0, 1)], [(round(1e3 * math.cos(a), 3), round(1e3 * math.sin(a), 3)) for a in _angles]]
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(f"{len(p)}\n" + "".join(f"{x} {y}\n" for x, y in p), "%.9f %.9f\n" % _measured(p)) for p in _polygons]
