# verdicts: WA
# why: a number whose exact value would fill the judge's memory
# output: 1.5
print("1e999999999")
