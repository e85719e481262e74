# verdicts: AC
# why: the usual signal handlers are in place
import os
import signal

try:
    os.kill(os.getpid(), signal.SIGINT)
    print(signal.getsignal(signal.SIGINT))
except KeyboardInterrupt:
    print("contained")
