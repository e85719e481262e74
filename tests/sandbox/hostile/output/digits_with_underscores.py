# verdicts: WA
# why: Python's int() and float() skip underscores
# output: 12.5
print("1_2.5")
