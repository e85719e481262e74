# verdicts: AC
# why: half of the CPU limit and a nap that is shorter than the wall limit: neither is an excess
# time_limit_s: 0.5
import time

while time.process_time() < 0.25:
    pass
time.sleep(1)
print("contained")
