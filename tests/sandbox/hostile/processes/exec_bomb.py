# verdicts: TLE MLE
# time_limit_s: 0.3
# why: every copy wants to be a fresh interpreter and is refused; it ends at the CPU limit or at that on memory
import os
import sys

while True:
    try:
        if os.fork() == 0:
            os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", "while True: pass"])
    except OSError:
        pass
