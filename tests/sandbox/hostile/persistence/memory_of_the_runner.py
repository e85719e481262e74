# verdicts: AC
# why: what it prints and reads passes through the parent that the next test is forked from; nothing of it may still lie there
# tests: 3
# time_limit_s: 3
import re
import sys

NOTE = b"note-from-" + b"an-earlier-test-"
left = []
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps:
        if " rw" not in line or "[v" in line:
            continue
        start, end = (int(n, 16) for n in line.split()[0].split("-"))
        try:
            memory.seek(start)
            content = memory.read(min(end - start, 32 << 20))
        except (OSError, OverflowError):
            continue
        left += re.findall(NOTE + b"[0-9]+", content)
        del content
test = input()
print(sorted(set(left)) or "contained")
for size in (100, 3000, 30000):
    sys.stderr.write((NOTE.decode() + test + " ") * (size // 30))
    sys.stderr.flush()
