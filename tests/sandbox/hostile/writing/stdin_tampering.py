# verdicts: AC
# why: rewrites, truncates and lengthens its input; the next test must read its own
# tests: 3
import os

line = os.pread(0, 100, 0)
got = [] if line in (b"0\n", b"1\n", b"2\n") else [line]
for attempt in (
    lambda: os.pwrite(0, b"7\n" * 1000, 0),
    lambda: os.ftruncate(0, 0),
    lambda: os.pwrite(0, b"8\n", 1 << 20),
    lambda: os.close(os.open("/proc/self/fd/0", os.O_RDWR | os.O_TRUNC)),
    lambda: os.link("/proc/self/fd/0", "/tmp/linked", follow_symlinks=True),
    lambda: os.fchmod(0, 0o777),
):
    try:
        attempt()
    except OSError:
        pass
print(got or "contained")
