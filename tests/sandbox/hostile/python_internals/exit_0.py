# verdicts: AC
# why: SystemExit from deep inside, through a finally that prints
def down(n):
    try:
        if n == 0:
            raise SystemExit
        down(n - 1)
    finally:
        if n == 100:
            print("contained")


down(100)
