# verdicts: RE
# why: an object whose flush raises in place of sys.stdout: Python exits with status 120
import os
import sys


class Broken:
    def write(self, text):
        return len(text)

    def flush(self):
        raise OSError("no")


os.write(1, b"contained\n")
sys.stdout = Broken()
