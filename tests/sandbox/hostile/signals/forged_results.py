# verdicts: RE
# why: the same from a forked interpreter, whose parent's socket may have been open a moment ago; and it tries to connect to one
# tests: 2
import os
import socket
import struct

reply = struct.pack("=i5I2Q", 0, 0, 1000, 10, 0, 0, 1000, 1000) + b"contained\n"
for fd in range(3, 1024):
    for attempt in (lambda: os.write(fd, reply), lambda: socket.socket(fileno=os.dup(fd)).send(reply)):
        try:
            attempt()
        except OSError:
            pass
for fd in range(64):
    try:
        with open(f"/proc/1/fd/{fd}", "wb", buffering=0) as file:
            file.write(reply)
    except OSError:
        pass
print("contained", flush=True)
os._exit(1)
