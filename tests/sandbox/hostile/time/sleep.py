# verdicts: TLE
# why: uses no CPU time; the wall limit ends it
# time_limit_s: 0.05
import time

time.sleep(600)
