# verdicts: RE
# why: an uncaught exception, with a hook that raises another and a stderr that is gone
import sys


def hook(*_):
    raise ValueError("in the hook")


print("contained", flush=True)
sys.excepthook = hook
sys.stderr = None
raise KeyError("uncaught")
