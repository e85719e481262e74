a, b = 0.0, 1.0
for _ in range(int(input())):
    a, b = b, a + b
print(int(a) if a < 1e300 else a)
