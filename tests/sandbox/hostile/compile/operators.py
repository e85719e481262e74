# verdicts: CE RE AC
# why: a sum as deep as it is long, which the compiler folds and the interpreter frees
value = 1@repeat(100000, "+1")@
print("contained")
