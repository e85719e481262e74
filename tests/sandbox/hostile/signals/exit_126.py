# verdicts: RE
# why: an exit status that launchers and shells use for their own failures
import os

print("contained", flush=True)
os._exit(126)
