# verdicts: AC
# why: links that a cleaner or a copier might follow out of the sandbox, loops, and links in place of folders
# tests: 2
import os

left = [name for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder)]
targets = ["/", "/proc/1/root", "/proc/self/cwd", "/usr/bin", "/etc", "/box", "..", ".", "loop", "/dev/null", "@state@", "x" * 4000]
for folder in ("/tmp", "/dev/shm"):
    os.chdir(folder)
    for number, target in enumerate(targets):
        os.symlink(target, f"{number}")
    os.symlink("loop", "loop")
    os.mkdir("real")
    os.symlink("../real", "real/back")
    os.rename("real", "away")
    os.symlink("/usr", "real")
os.chdir("/")
missing = [path for path in ("/usr/bin/python3", "/box", "/dev/null") if not os.path.exists(path)]
print(left + missing or "contained")
