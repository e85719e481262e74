# verdicts: AC
# why: runs whatever of the judge lies in the sandbox, with descriptors of its own in the places where the judge's would be
# time_limit_s: 1
import os
import socket
import subprocess

got = []
if os.path.isdir("/sandbox"):
    for name in os.listdir("/sandbox"):
        ours, theirs = socket.socketpair()
        filter_file = os.open("/dev/null", os.O_RDONLY)
        numbers = [str(theirs.fileno()), str(filter_file), "-1", "64", "64", "64"]
        for command in ([f"/sandbox/{name}", *numbers, "/bin/true"], ["/usr/bin/python3", "-s", f"/sandbox/{name}", *numbers]):
            try:
                subprocess.run(command, pass_fds=(theirs.fileno(), filter_file), capture_output=True, timeout=0.3)
            except (OSError, subprocess.TimeoutExpired):
                pass
        try:
            os.unlink(f"/sandbox/{name}")
            got.append(name)
        except OSError:
            pass
print(got or "contained")
