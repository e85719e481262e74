# verdicts: MLE
# why: twenty children of 16 MB each, none above the limit of 64 MB by itself; the parent exits 0 with the right output
# time_limit_s: 10
import os
import select

read, write = os.pipe()
for _ in range(20):
    if os.fork() == 0:
        held = b"x" * (16 << 20)
        os.write(write, b"x")
        select.select([], [], [], 60)
        os._exit(len(held) % 2)
for _ in range(20):
    select.select([read], [], [], 0.1)
    if select.select([read], [], [], 0)[0]:
        os.read(read, 1)
print("contained")
