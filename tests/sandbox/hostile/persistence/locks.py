# verdicts: AC
# why: locks and leases on files that all tests share, held by a child that outlives the test
# tests: 2
import fcntl
import os
import time

left = []
for path in (__file__, "/usr/bin/python3", "/box", "/dev/null"):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for attempt in (lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)):
        try:
            attempt()
        except OSError as error:
            left.append((path, error))
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError:
        pass
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print(left or "contained")
