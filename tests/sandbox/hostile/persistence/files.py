# verdicts: AC
# why: leaves files of every kind and name; neither the next test nor the next request may see one
# tests: 2
# requests: 2
import os
import socket

left = [f"{folder}/{name}" for folder in ("/tmp", "/dev/shm", os.getcwd()) for name in os.listdir(folder)]
for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), os.getcwd()):
    for name in ("file", ".hidden", "new\nline", "-rf", "*", " ", "x" * 255, "\udcff\udcfe", ".moved-1-0", "..."):
        try:
            with open(f"{folder}/{name}", "w") as file:
                file.write("kept")
            os.chmod(f"{folder}/{name}", 0)
        except OSError:
            pass
    try:
        os.mkfifo(f"{folder}/fifo")
    except OSError:
        pass
    try:
        socket.socket(socket.AF_UNIX).bind(f"{folder}/socket")
    except OSError:
        pass
print(left or "contained")
