# verdicts: AC
# why: locks and leases on files that all programs share tell another program something, at once or later
# tests: 2
import fcntl
import os

held = []
for path in (__file__, "/usr/bin/python3", "/box", "/dev/null", "/tmp"):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for name, attempt in {
        "flock": lambda: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
        "lockf": lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
        "lease": lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        "notify": lambda: fcntl.fcntl(fd, fcntl.F_NOTIFY, fcntl.DN_ACCESS),
    }.items():
        try:
            attempt()
        except OSError:
            continue
        held.append((path, name))
print(held or "contained")
