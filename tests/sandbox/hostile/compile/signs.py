# verdicts: CE RE AC
# why: a hundred thousand signs before a number
value = @repeat(100000, "-")@1
print("contained")
