n, capacity = map(int, input().split())
best = [0] * (capacity + 1)
for _ in range(n):
    weight, worth = map(int, input().split())
    for left in range(weight, capacity + 1):
        best[left] = max(best[left], best[left - weight] + worth)
print(best[capacity])
