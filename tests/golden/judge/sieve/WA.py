n = int(input())
composite = bytearray(n + 1)
count = 0
for p in range(1, n + 1):
    if not composite[p]:
        count += 1
        if p * p <= n:
            composite[p * p :: p] = b"1" * len(range(p * p, n + 1, p))
print(count)
