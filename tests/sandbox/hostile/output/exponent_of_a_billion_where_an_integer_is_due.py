# verdicts: WA
# why: the same where an integer is expected
# output: 15
print("15e999999999")
