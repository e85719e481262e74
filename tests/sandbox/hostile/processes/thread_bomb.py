# verdicts: AC MLE
# why: starts threads until the system refuses, which it must do below 2000
import os
import threading

started = 0
try:
    while started < 2000:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        started += 1
except RuntimeError:
    pass
print("contained" if started < 2000 else f"{started} threads", flush=True)
os._exit(0)
