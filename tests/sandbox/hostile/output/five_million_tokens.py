# verdicts: WA OLE
# why: as many tokens as fit, to make the judge split and compare them
# time_limit_s: 3
# output: 1
import sys

sys.stdout.write("1 " * 5_000_000)
