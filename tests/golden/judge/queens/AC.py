n = int(input())
def ways(row, columns, up, down):
    if row == n:
        return 1
    return sum(
        ways(row + 1, columns | {c}, up | {row + c}, down | {row - c})
        for c in range(n)
        if c not in columns and row + c not in up and row - c not in down
    )
print(ways(0, frozenset(), frozenset(), frozenset()))
