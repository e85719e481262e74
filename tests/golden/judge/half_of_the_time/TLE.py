x = 1
for i in range(int(input())):
    while i >= 10:
        pass
    x = (x * 48271 + i) % 2147483647
print(x)
