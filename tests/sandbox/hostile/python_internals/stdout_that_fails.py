# verdicts: RE
# why: the last flush fails: Python exits with status 120
import os
import sys

os.write(1, b"contained\n")
os.close(1)
os.open("/dev/full", os.O_WRONLY)
print("more")
