# verdicts: AC MLE
# why: memory in files: refused before twice the memory limit (the program says so and is right), or counted
# time_limit_s: 10
import os

written = 0
block = b"x" * (1 << 20)
for folder in ("/tmp", "/dev/shm", "."):
    for number in range(16):
        try:
            with open(f"{folder}/{number}-{os.getpid()}", "wb", buffering=0) as file:
                for _ in range(64):
                    written += file.write(block)
        except OSError:
            pass
print("contained" if written <= 128 << 20 else f"{written >> 20} MB")
