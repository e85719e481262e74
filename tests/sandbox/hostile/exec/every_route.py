# verdicts: AC
# tried_exec: yes
# time_limit_s: 3
# why: starts whatever the machine may have, itself included, in every way that Python knows; it goes on when refused
import ctypes
import os
import subprocess
import sys
from multiprocessing import Pool

PATHS = [f"/usr/bin/{name}" for name in ("python3", "node", "java", "go", "g++", "perl", "sh", "awk", "sed", "bc", "env")]
PATHS += ["/bin/sh", sys.executable, "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2", "/box/main.py", "/sandbox/runner"]
libc = ctypes.CDLL(None, use_errno=True)
none = (ctypes.c_char_p * 1)(None)
got = []


def in_child(attempt):
    """Whether the attempt, which comes back when it fails, did not come back."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except OSError:
            pass
        os._exit(42)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 42


with open("/tmp/script", "w") as file:
    file.write("#!/usr/bin/python3\nprint('started')\n")
os.chmod("/tmp/script", 0o755)
for path in [*PATHS, "/tmp/script"]:
    argv = [path, "-c", "print('started')"]
    vector = (ctypes.c_char_p * 2)(path.encode(), None)
    for attempt in (subprocess.run, subprocess.check_output, lambda a: os.posix_spawn(a[0], a, {})):
        try:
            attempt(argv)
            got.append(argv)
        except OSError:
            pass
    routes = (
        lambda: os.execv(path, argv),
        lambda: os.execve(os.open(path, os.O_RDONLY), argv, {}),
        lambda: libc.execv(path.encode(), vector),
        lambda: libc.syscall(59, path.encode(), vector, none),
        lambda: libc.syscall(322, -100, path.encode(), vector, none, 0),
        lambda: libc.syscall(59, path.encode(), vector, none, 0, ctypes.c_long(-1), ctypes.c_long(-1)),
    )
    got += [path for route in routes if in_child(route)]
try:
    got.append(os.popen("echo started").read())
except OSError:
    pass
if not os.system("true"):
    got.append("system")
if Pool(2).map(abs, [-1, 2]) != [1, 2]:
    got.append("fork does not work")
print(got or "contained")
