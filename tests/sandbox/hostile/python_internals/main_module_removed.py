# verdicts: AC
# why: takes away what the end of an interpreter relies on
import sys

print("contained")
for name in list(sys.modules):
    del sys.modules[name]
