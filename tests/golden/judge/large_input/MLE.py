import sys
lines = list(sys.stdin)
digits = [[int(c) for c in line.strip()] for line in lines]
print(sum(7 in line for line in digits))
