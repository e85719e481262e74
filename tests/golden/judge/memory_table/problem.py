"""A table of n bytes, written and read at places that a generator draws: 64 MiB of it, near what a Java heap of the limit can hold in one piece."""
def _drawn(n, k):
    table, x, total = {}, 1, 0
    for i in range(k):
        x = (x * 1103515245 + 12345) % 2**31
        total += table.get(x % n, 7)
        table[x % n] = i % 251
    return total
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 100}
TESTS = [(f"{n} {k}\n", f"{_drawn(n, k)}\n") for n, k in ((1000, 5000), (64 << 20, 20000))]
