# verdicts: AC
# why: only a small clean set of variables, and nothing of the service's own
import os

KNOWN = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "HOME", "TMPDIR", "PWD", "USER", "LOGNAME", "SHELL", "TZ", "PYTHONHASHSEED",
         "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "OMP_NUM_THREADS"}
with open("/proc/self/environ", "rb") as file:
    raw = dict(line.partition(b"=")[::2] for line in file.read().split(b"\0") if line)
got = [item for item in os.environ.items() if item[0] not in KNOWN or "@repository@" in item[1] or "@state@" in item[1]]
got += [item for item in raw.items() if item[0].decode() not in KNOWN or b"planted" in item[1]]
print(got or "contained")
