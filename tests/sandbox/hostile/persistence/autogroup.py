# verdicts: AC
# why: a note in the scheduler group's nice level, which a session shares with the runner and every later test
# tests: 2
import os

got = []
path = "/proc/self/autogroup"
if os.path.exists(path):
    with open(path) as file:
        level = file.read().split()[-1]
    with open("/proc/1/autogroup") as file:
        runner = file.read().split()[-1]
    if level == "7":
        got.append(f"nice {level} left by the last test")
    try:
        with open(path, "w") as file:
            file.write("7")
    except OSError:
        pass
    with open("/proc/1/autogroup") as file:
        after = file.read().split()[-1]
    if after != runner:
        got.append(f"the runner's nice level went from {runner} to {after}")
print(got or "contained")
