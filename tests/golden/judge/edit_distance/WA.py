a, b = input(), input()
best = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
for i in range(1, len(a) + 1):
    for j in range(1, len(b) + 1):
        best[i][j] = min(best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + 2 * (a[i - 1] != b[j - 1]))
print(best[-1][-1])
