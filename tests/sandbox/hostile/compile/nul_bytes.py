# verdicts: CE
# why: NUL bytes in the source
print("contained")
@repeat(3, "\u0000")@
