# verdicts: AC
# why: functions registered with atexit run, the last one first
import atexit

atexit.register(print, "tained")
atexit.register(print, "con", end="")
