# verdicts: WA
# why: the same for a decimal fraction
# output: 1.5
print("2." + "9" * 1_000_000)
