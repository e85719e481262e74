"""The n-th Fibonacci number, exactly: of 1,000 digits."""
def _fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
LIMITS = {"time_limit_s": 2, "memory_limit_mb": 64}
TESTS = [(f"{n}\n", f"{_fibonacci(n)}\n") for n in (0, 90, 4780)]
