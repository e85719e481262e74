import sys
print(sum("7" in line for line in sys.stdin))
