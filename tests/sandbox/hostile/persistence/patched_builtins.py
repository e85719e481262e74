# verdicts: AC
# why: changes the interpreter under the feet of whatever runs in it next
# tests: 3
import atexit
import builtins
import gc
import math
import os
import signal
import sys
import threading

left = []
if math.sqrt(4) != 2 or getattr(builtins, "kept", None) or "kept" in sys.modules or "kept" in sys.path:
    left.append("patched")
if sys.getrecursionlimit() == 12345 or threading.active_count() != 1 or signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL:
    left.append("changed")
if os.environ.get("KEPT") or os.getcwd() == "/usr" or os.umask(0o22) == 0o77 or not gc.isenabled():
    left.append("moved")
print(left or "contained")
builtins.kept = True
math.sqrt = len
sys.modules["kept"] = math
sys.path.insert(0, "kept")
sys.setrecursionlimit(12345)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.environ["KEPT"] = "1"
os.chdir("/usr")
os.umask(0o77)
gc.disable()
atexit.register(lambda: setattr(builtins, "print", None))
for name in list(sys.modules):
    if name not in ("sys", "builtins", "os", "io", "atexit"):
        sys.modules.pop(name)
for name in ("open", "exec", "compile", "print", "len", "int", "input"):
    setattr(builtins, name, None)
