# verdicts: WA
# why: every comparison with nan is false; a checker that asks "is the difference too large" accepts it
# output: 1.5
print("nan")
