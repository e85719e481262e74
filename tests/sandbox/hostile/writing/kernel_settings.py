# verdicts: AC
# why: settings of its namespaces (IPC limits, pid_max) outlive the test when they can be written; nothing below /proc/sys takes a write
# tests: 2
import os

got = []
for folder, _, names in os.walk("/proc/sys"):
    for name in names:
        path = f"{folder}/{name}"
        try:
            fd = os.open(path, os.O_WRONLY)
        except OSError:
            continue
        try:
            with open(path, "rb") as file:
                content = file.read()
            os.write(fd, content)
            got.append(path)
        except OSError:
            pass
        finally:
            os.close(fd)
print(got or "contained")
