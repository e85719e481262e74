# verdicts: AC
# why: a daemon that ignores every signal waits for the next test
# tests: 2
# requests: 2
import os
import signal
import time

left = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
left += os.listdir("/tmp")
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork():
        os._exit(0)
    while True:
        with open("/tmp/alive", "w") as file:
            file.write("yes")
        time.sleep(0.01)
time.sleep(0.05)
print(left or "contained")
