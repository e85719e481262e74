# verdicts: AC
# why: leaves a daemon that keeps stdout open and sleeps; who waits for end of file waits for it, up to the wall limit
# time_limit_s: 0.2
import os
import signal
import time

print("contained", flush=True)
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
