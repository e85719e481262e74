import sys
digits = input()
while True:
    sys.stderr.write("x" * 1000)
print(len(digits))
