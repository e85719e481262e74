# verdicts: AC
# why: folders that their owner has closed to itself, at every depth, the temporary folders included
# tests: 2
import os

left = []
for folder in ("/tmp", "/dev/shm"):
    left += os.listdir(folder)
    os.makedirs(f"{folder}/a/b/c/d")
    os.makedirs(f"{folder}/.moved-1-0/a/b")
    os.makedirs(f"{folder}/.moved-1-1/a/b")
    for path in ("a/b/c/d", "a/b/c", "a/b", "a", ".moved-1-0/a", ".moved-1-0", "."):
        with open(f"{folder}/{path}/file", "w") as file:
            file.write("kept")
        os.chmod(f"{folder}/{path}", 0)
print(left or "contained")
