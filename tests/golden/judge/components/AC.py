import sys
n, m, *ends = map(int, sys.stdin.read().split())
root = list(range(n + 1))
def find(a):
    while root[a] != a:
        root[a] = a = root[root[a]]
    return a
parts = n
for a, b in zip(ends[::2], ends[1::2]):
    a, b = find(a), find(b)
    if a != b:
        root[a] = b
        parts -= 1
print(parts)
