import sys
digits = input()
for _ in range(1000):
    sys.stderr.write("x" * 1000)
print(len(digits))
