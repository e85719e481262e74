# verdicts: TLE MLE
# time_limit_s: 0.3
# why: starts fresh interpreters that run the same bomb, outside of whatever started this one; ends at the CPU limit or at that on memory
import os
import sys

BOMB = """
import os, sys
while True:
    try:
        if os.fork() == 0:
            os.execv(sys.executable or '/usr/bin/python3', ['python3', '-c', sys.argv[1], sys.argv[1]])
    except OSError:
        pass
"""
os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", BOMB, BOMB])
