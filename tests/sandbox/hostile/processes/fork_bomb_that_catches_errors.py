# verdicts: TLE
# memory_limit_mb: 1024
# time_limit_s: 0.3
# why: forks without end and survives every refusal; only the CPU time of all its processes together can end it
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
