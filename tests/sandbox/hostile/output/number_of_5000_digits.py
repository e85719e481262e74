# verdicts: WA
# why: a judge in Python refuses to convert more than 4300 digits to an integer; that must not be its own crash
# output: 1
print("1" + "0" * 5000)
