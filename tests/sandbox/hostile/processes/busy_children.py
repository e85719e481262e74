# verdicts: TLE
# why: eight children burn 0.15 s each while the parent only waits; the limit is on their sum
# time_limit_s: 0.6
import os
import time

for _ in range(8):
    if os.fork() == 0:
        while time.process_time() < 0.15:
            pass
        os._exit(0)
for _ in range(8):
    os.wait()
print("contained")
