for x in map(float, input().split()):
    print("%.9e" % (x / 3))
