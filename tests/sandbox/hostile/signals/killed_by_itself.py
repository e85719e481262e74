# verdicts: RE
# why: the right output, then SIGKILL from its own hand: no success, and nobody else's fault
import os

print("contained", flush=True)
os.kill(os.getpid(), 9)
