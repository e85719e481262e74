# verdicts: WA
# why: the expected output is a token that cannot be guessed: searches its memory, descriptors, files and every process; AC means found
# output: unguessable
# time_limit_s: 5
# tests: 2
import gc
import os
import re

PATTERN = re.compile(b"MADRL" + b"-TOKEN-[0-9a-f]{32}")
found = set()


def search(content):
    found.update(PATTERN.findall(content))


for process in [name for name in os.listdir("/proc") if name.isdigit()] + ["self"]:
    for name in ("environ", "cmdline", "comm", "mountinfo", "status"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                search(file.read())
        except OSError:
            pass
    try:
        with open(f"/proc/{process}/maps") as file:
            ranges = [line.split()[0].split("-") for line in file if " r" in line]
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for start, end in ranges:
                try:
                    memory.seek(int(start, 16))
                    search(memory.read(min(int(end, 16) - int(start, 16), 64 << 20)))
                except (OSError, ValueError, OverflowError):
                    pass
    except OSError:
        pass
for fd in range(256):
    try:
        search(os.pread(fd, 1 << 20, 0))
    except OSError:
        pass
for folder, folders, names in os.walk("/"):
    if folder == "/":  # not the machine's own thousands of folders, which a cold disk takes longer to list than the time limit
        folders[:] = set(folders) - {"proc", "usr", "lib", "lib32", "lib64", "bin", "sbin", "sys"}
    for name in names:
        try:
            if os.path.isfile(f"{folder}/{name}"):
                with open(f"{folder}/{name}", "rb") as file:
                    search(file.read(16 << 20))
        except OSError:
            pass
for item in gc.get_objects():
    if isinstance(item, dict):
        for value in list(item.values()):
            if isinstance(value, (str, bytes, bytearray)):
                search(value.encode(errors="replace") if isinstance(value, str) else bytes(value))
print(found.pop().decode() if found else "contained")
