# verdicts: MLE CE
# why: constants that fill 200 MB once they are loaded, before a line of the program has run
# memory_limit_mb: 64
value = [
@repeat(11000, "'%d😀aaaaaaaa'*290,\n")@]
print("contained")
