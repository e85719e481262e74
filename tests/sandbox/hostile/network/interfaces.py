# verdicts: AC
# why: no interface but a loopback of its own, and that is down
import os
import socket

got = []
try:
    got += [name for _, name in socket.if_nameindex() if name != "lo"]
except OSError:
    pass
try:
    with open("/proc/net/dev") as file:
        got += [line for line in file.readlines()[2:] if not line.strip().startswith(("lo:", "sit0:", "tunl0:", "ip6tnl0:"))]
except OSError:
    pass
if os.path.isdir("/sys/class/net"):
    got += [name for name in os.listdir("/sys/class/net") if name != "lo"]
print(got or "contained")
