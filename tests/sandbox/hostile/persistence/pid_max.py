# verdicts: AC
# why: the largest process number is a setting of the namespace: low, it could keep the runner from starting the next test; high or low, it is a note
# tests: 3
import os
import time

path = "/proc/sys/kernel/pid_max"
left = []
with open(path) as file:
    if int(file.read()) == 302:
        left.append("302 left by the last test")
try:
    with open(path, "w") as file:
        file.write("302")
except OSError:
    pass
for _ in range(400):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        break
print(left or "contained")
