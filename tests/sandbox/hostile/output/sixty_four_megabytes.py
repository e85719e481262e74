# verdicts: OLE
# why: prints 64 MB and exits 0
# time_limit_s: 3
import sys

for _ in range(64):
    sys.stdout.write("x" * (1 << 20))
