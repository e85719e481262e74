# verdicts: AC
# why: Python does not mind either when sys.stdout is gone
import sys

print("contained", flush=True)
sys.stdout = None
print("nobody hears this")
