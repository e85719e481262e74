# verdicts: AC
# why: a name to resolve carries data out
import socket

try:
    print(socket.getaddrinfo("data-going-out.example.com", 80))
except OSError:
    print("contained")
