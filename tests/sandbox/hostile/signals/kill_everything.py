# verdicts: AC
# why: the same where the runner is an interpreter that handles signals
# tests: 2
import os

for number in (19, 15, 2, 1, 9):
    try:
        os.kill(-1, number)
    except OSError:
        pass
print("contained")
