# verdicts: AC
# why: changes its own source, compiled code and folder, so that the next test would run something else
# tests: 2
import os

got = []
here = os.path.dirname(os.path.abspath(__file__))
paths = {__file__, here, "/box", "/sandbox", *(f"{folder}/{name}" for folder in (here, "/box", "/sandbox") if os.path.isdir(folder)
                                              for name in os.listdir(folder))}
for path in paths:
    for attempt in (
        lambda: os.close(os.open(path, os.O_WRONLY)),
        lambda: os.truncate(path, 0),
        lambda: os.chmod(path, 0o777),
        lambda: os.unlink(path),
        lambda: os.rmdir(path),
        lambda: os.rename(path, path + "~"),
        lambda: os.rename(path, "/tmp/moved"),
        lambda: os.link(path, "/tmp/linked"),
        lambda: os.utime(path),
        lambda: os.replace("/dev/null", path),
    ):
        try:
            attempt()
            got.append(path)
        except OSError:
            pass
print(got or "contained")
