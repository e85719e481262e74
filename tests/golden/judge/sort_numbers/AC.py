import sys
n, *numbers = map(int, sys.stdin.read().split())
print(*sorted(numbers))
