# verdicts: AC
# why: no folder but the two temporary ones takes a file, a folder, a link or a rename
# time_limit_s: 5
import os

got = []
for folder, names, _ in os.walk("/"):
    if folder.count("/") == 3:  # not thousands of folders more, which take long to list from a cold disk
        names.clear()
    if folder.startswith(("/proc/", "/tmp", "/dev/shm")):
        names.clear()
        continue
    target = os.path.join(folder, "planted")
    for attempt in (
        lambda: os.close(os.open(target, os.O_WRONLY | os.O_CREAT)),
        lambda: os.close(os.open(folder, os.O_RDWR | os.O_TMPFILE)),
        lambda: os.mkdir(target),
        lambda: os.symlink("/etc", target),
        lambda: os.utime(folder),
        lambda: os.chmod(folder, 0o777),
    ):
        try:
            attempt()
            got.append(folder)
        except OSError:
            pass
print(sorted(set(got)) or "contained")
