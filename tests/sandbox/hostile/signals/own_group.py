# verdicts: RE
# why: SIGKILL to its own process group, in which the runner may be
# tests: 2
import os

os.kill(0, 9)
