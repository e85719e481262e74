"""The n-th number of Tribonacci modulo 1,000,000,007, by powers of a matrix: n up to 10^18."""
def _product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) % 1000000007 for j in range(3)] for i in range(3)]
def _term(n):
    result, base = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 1], [1, 0, 0], [0, 1, 0]]
    while n:
        if n & 1:
            result = _product(result, base)
        base, n = _product(base, base), n >> 1
    return result[2][0]
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [(f"{n}\n", f"{_term(n)}\n") for n in (0, 10, 10**18)]
