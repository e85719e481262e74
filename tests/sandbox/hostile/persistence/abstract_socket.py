# verdicts: AC
# why: a name bound in the abstract namespace, held by a daemon, and by a cycle of sockets in flight that nobody has open
# tests: 3
# requests: 2
import array
import os
import socket
import time

NAMES = ["\0kept-by-a-daemon", "\0kept-in-flight"]
left = []
for name in NAMES:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        left.append(name)
    except OSError:
        pass
listeners = []
for name in NAMES:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(name)
        listener.listen()
    except OSError as error:
        left.append((name, error))
    listeners.append(listener)
a, b = socket.socketpair()
fds = array.array("i", [listeners[1].fileno(), a.fileno(), b.fileno()])
for end in (a, b):
    end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print(left or "contained")
