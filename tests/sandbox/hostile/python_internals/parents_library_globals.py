# verdicts: RE
# why: sets the library's own variables in its copy of the memory, forges a reply through them, and fails
import ctypes
import os

with open("/proc/self/maps") as maps:
    paths = {line.split(maxsplit=5)[-1].strip() for line in maps}
for path in paths:
    if path.startswith("/") and not path.startswith(("/usr/", "/lib/")):
        try:
            library = ctypes.CDLL(path)
            for name in ("ctl", "proc_fd", "oom_fd"):
                for fd in range(64):
                    try:
                        ctypes.c_int.in_dll(library, name).value = fd
                        os.write(fd, b"\0" * 48) if fd > 2 else None
                    except (ValueError, OSError):
                        pass
        except OSError:
            pass
print("contained", flush=True)
os._exit(1)
