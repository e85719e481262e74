# verdicts: AC
# why: notes in the times and the mode of the folders that outlive a test
# tests: 2
import os

NOTE = 123456789
left = []
for folder in ("/tmp", "/dev/shm", "/", "/dev", "/dev/pts", "/box"):
    try:
        status = os.stat(folder)
        if NOTE in (int(status.st_mtime), int(status.st_atime)) or status.st_mode & 0o7777 == 0o751:
            left.append((folder, status))
        os.utime(folder, (NOTE, NOTE))
        os.chmod(folder, 0o751)
    except OSError:
        pass
print(left or "contained")
