# verdicts: AC
# why: a forked child has what its parent had open, unless somebody closes it
import os

got = []
for fd in range(3, 4096):
    try:
        os.fstat(fd)
        got.append((fd, os.readlink(f"/proc/self/fd/{fd}")))
    except OSError:
        pass
print(got or "contained")
