# verdicts: AC
# why: opens files until the system refuses, which it must do below 5000
import os

opened = 0
try:
    while opened < 5000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
except OSError:
    pass
print("contained" if opened < 5000 else f"{opened} descriptors")
