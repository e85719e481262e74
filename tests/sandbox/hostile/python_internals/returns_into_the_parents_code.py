# verdicts: AC RE
# why: climbs up the frames to whatever called it and replaces their globals, so that what runs after the program is its own
import sys

frame = sys._getframe()
print("contained", flush=True)
while frame:
    for name in list(frame.f_globals):
        if not name.startswith("__") and name not in ("frame", "name", "sys"):
            frame.f_globals[name] = None
    frame = frame.f_back
