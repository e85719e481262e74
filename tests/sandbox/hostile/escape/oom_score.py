# verdicts: AC
# why: when the machine runs out of memory a program goes first; it may not talk itself out of that
got = []
with open("/proc/self/oom_score_adj") as file:
    first = int(file.read())
if first < 900:
    got.append(f"starts with {first}")
for value in (first - 1, 0, -1000):
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(value))
        got.append(f"set to {value}")
    except OSError:
        pass
print(got or "contained")
