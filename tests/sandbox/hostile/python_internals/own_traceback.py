# verdicts: RE MLE OLE
# why: an exception whose text is 50 MB, raised five hundred calls deep: too long to be printed, or too large
def down(n):
    if n == 0:
        raise ValueError("x" * 50_000_000)
    down(n - 1)


down(500)
