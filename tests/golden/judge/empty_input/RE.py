import sys
print(max(map(int, sys.stdin.read().split())))
