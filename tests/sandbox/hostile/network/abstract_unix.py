# verdicts: AC
# why: a unix socket may exist, and reaches nobody outside: somebody does listen there under this name
import os
import socket

got = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        with socket.socket(socket.AF_UNIX, kind) as one:
            one.connect("\0@abstract_socket@")
            got.append(f"connected, kind {kind}")
    except OSError:
        pass
for path in ("/run/dbus/system_bus_socket", "/run/systemd/journal/socket", "/var/run/docker.sock", "/dev/log", "/run/nscd/socket"):
    if os.path.exists(path):
        got.append(path)
for name in ("unix", "tcp", "arp", "route", "dev"):
    try:
        with open(f"/proc/net/{name}") as file:
            got += [line for line in file.readlines() if "@abstract_socket@" in line or "eth" in line]
    except OSError:
        pass
print(got or "contained")
