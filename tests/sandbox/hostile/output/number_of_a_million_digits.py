# verdicts: WA
# why: converting digits takes time that grows with their square
# output: 1
print("9" * 1_000_000)
