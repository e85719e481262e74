# verdicts: AC
# why: a path far longer than any system call takes, which a recursive cleaner does not survive
# tests: 2
# time_limit_s: 2
import os

left = os.listdir("/tmp") + os.listdir("/dev/shm")
for folder in ("/tmp", "/dev/shm"):
    os.chdir(folder)
    try:
        for _ in range(10000):
            os.mkdir("d" * 30)
            os.chdir("d" * 30)
        with open("bottom", "w") as file:
            file.write("kept")
    except OSError:
        pass
print(left or "contained")
