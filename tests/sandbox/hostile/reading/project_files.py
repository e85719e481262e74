# verdicts: AC
# why: looks for the judge itself: where it is outside, and what of the outside is mounted
import os

got = []
for place in ("@repository@", "@repository@/sandbox/api.py", "@state@", os.path.dirname("@state@"), "/root", "/home", "/var", "/opt",
              "/srv", "/mnt", "/boot", "/media"):
    for root in ("", "/proc/1/root", "/proc/self/root"):
        try:
            got.append((root + place, os.listdir(root + place)[:5]))
        except NotADirectoryError:
            got.append(root + place)
        except OSError:
            pass
for folder, folders, names in os.walk("/"):
    if folder == "/":  # not the machine's own thousands of folders, which a cold disk takes longer to list than the time limit
        folders[:] = set(folders) - {"proc", "usr", "lib", "lib32", "lib64", "bin", "sbin"}
    got += [f"{folder}/{name}" for name in names if name in ("api.py", "judging.py", "judge_service.py", "enter")]
print(got or "contained")
