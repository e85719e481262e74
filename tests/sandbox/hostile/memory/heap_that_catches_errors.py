# verdicts: MLE AC
# why: counted and ended by the limit, or refused near it (the program catches that and says so)
# time_limit_s: 3
held = []
try:
    while len(held) < 256:
        held.append(b"x" * (1 << 20))
except MemoryError:
    pass
had = len(held)
held = []
print("contained" if had < 192 else f"had {had} MB")
