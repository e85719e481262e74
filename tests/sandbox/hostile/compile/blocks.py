# verdicts: CE
# why: a hundred and fifty blocks within each other
@repeat(1, "if 1:\n if 1:\n  if 1:\n   if 1:\n")@@repeat(100, "    if 1:\n")@
print("contained")
