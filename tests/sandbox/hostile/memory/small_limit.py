# verdicts: AC MLE
# why: the least memory that can be asked for, in a language whose interpreter nearly fills it
# memory_limit_mb: 16
held = [b"x" * (1 << 20) for _ in range(8)]
print("contained")
