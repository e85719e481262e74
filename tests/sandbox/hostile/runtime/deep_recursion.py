# verdicts: RE
# why: RecursionError at Python's usual limit
def down():
    down()


down()
