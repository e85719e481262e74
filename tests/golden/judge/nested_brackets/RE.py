import sys
sys.setrecursionlimit(2_000)
text = input()
at = 0
def depth():
    global at
    deepest = 0
    while at < len(text) and text[at] == "(":
        at += 1
        deepest = max(deepest, 1 + depth())
        at += 1
    return deepest
print(depth())
