# verdicts: WA
# why: infinity is within no tolerance of anything
# output: 1.5
print("inf")
