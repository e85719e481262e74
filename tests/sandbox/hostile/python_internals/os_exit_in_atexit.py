# verdicts: RE
# why: the exit status is decided at the very end
import atexit
import os

print("contained", flush=True)
atexit.register(os._exit, 7)
