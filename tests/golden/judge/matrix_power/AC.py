M = 1000000007
def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) % M for j in range(3)] for i in range(3)]
n = int(input())
result = [[int(i == j) for j in range(3)] for i in range(3)]
base = [[1, 1, 1], [1, 0, 0], [0, 1, 0]]
while n:
    if n & 1:
        result = product(result, base)
    base = product(base, base)
    n >>= 1
print(result[2][0])
