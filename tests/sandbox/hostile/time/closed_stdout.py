# verdicts: TLE
# why: closes its streams, so that there is nothing left to read, and sleeps
# time_limit_s: 0.05
import os
import time

os.write(1, b"contained\n")
for fd in (0, 1, 2):
    os.close(fd)
time.sleep(600)
