# verdicts: AC
# why: nothing of the host's processes is visible, not even that they are there
import os

seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
got = [pid for pid in seen if pid not in (1, os.getpid())]
for number in (@service_pid@, os.getppid() + 1000):
    try:
        os.kill(number, 0)
        got.append(f"{number} exists")
    except OSError:
        pass
print(got or "contained")
