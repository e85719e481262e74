# verdicts: RE MLE
# why: a number of a terabyte
value = 1 << 10**13
print("contained")
