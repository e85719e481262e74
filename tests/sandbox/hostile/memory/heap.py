# verdicts: MLE
# why: takes and touches memory without end
# time_limit_s: 3
held = []
while True:
    held.append(b"x" * (1 << 20))
