# verdicts: AC
# why: the judge itself listens on loopback
import socket
import urllib.request

got = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", @service_port@)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("::1", @service_port@)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53)),
    (socket.AF_INET, socket.SOCK_RAW, ("127.0.0.1", 0)),
):
    try:
        with socket.socket(family, kind) as one:
            got.append(f"socket {family} {kind}")
            one.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
            one.connect(address)
            got.append(f"connected to {address}")
    except OSError:
        pass
try:
    got.append(urllib.request.urlopen("http://127.0.0.1:@service_port@/health", timeout=1).read(20))
except OSError:
    pass
print(got or "contained")
