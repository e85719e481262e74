for x in map(float, input().split()):
    print("%.2e" % (x / 3))
