# verdicts: AC
# why: ends the process from a thread while the main one waits for ever; that is exit status 0
# time_limit_s: 0.3
import os
import threading

print("contained", flush=True)
threading.Timer(0.05, os._exit, [0]).start()
threading.Event().wait()
