n, k = map(int, input().split())
table = [7] * (8 * n)
x, total = 1, 0
for i in range(k):
    x = (x * 1103515245 + 12345) % 2**31
    total += table[x % n]
    table[x % n] = i % 251
print(total)
