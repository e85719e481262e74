i = 0
while True:
    print("i * i =", i * i)
    i += 1
