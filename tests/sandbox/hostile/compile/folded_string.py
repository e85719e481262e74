# verdicts: RE MLE
# why: a constant of 10 GB, folded by a compiler or built by the program
value = "a" * 10**10
print("contained")
