x = 1
for i in range(int(input())):
    x = (x * 48271 + i) % 2147483647
print(x)
