# verdicts: RE MLE TLE
# why: the same with Python's limit lifted: the C stack's, or the memory's
# time_limit_s: 2
import sys
import threading

sys.setrecursionlimit(10**9)


def down(n):
    return sorted([n], key=lambda _: down(n + 1))


down(0)
