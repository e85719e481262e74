# verdicts: AC
# why: an interpreter as process 1 comes with a handler for SIGINT, which makes it deaf to nothing else but mortal to that
# tests: 2
import os
import signal

for _ in range(3):
    for number in range(1, 65):
        for target in {1, os.getppid()}:
            try:
                os.kill(target, number)
            except OSError:
                pass
        try:
            signal.pidfd_send_signal(os.pidfd_open(1), number)
        except OSError:
            pass
print("contained")
