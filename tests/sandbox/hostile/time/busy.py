# verdicts: TLE
# why: a busy loop
# time_limit_s: 0.3
while True:
    pass
