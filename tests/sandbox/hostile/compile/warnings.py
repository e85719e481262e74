# verdicts: AC
# why: ten thousand warnings at compile time
@repeat(10000, "value = '\\d' is 'x%d'\n")@
print("contained")
