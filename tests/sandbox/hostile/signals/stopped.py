# verdicts: TLE
# why: stops itself; nobody continues it
# time_limit_s: 0.05
import os
import signal

print("contained", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
