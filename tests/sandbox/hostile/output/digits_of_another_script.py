# verdicts: WA
# why: Python's int() reads Arabic digits, underscores and plus signs as C++'s streams do not
# output: 12
print("\u0661\u0662")
