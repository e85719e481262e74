# verdicts: RE TLE MLE
# why: overwrites interpreter objects at random; whatever happens happens in the program's own process
# tests: 2
import ctypes

for item in (None, True, 0, (), "", b"", type, object, print):
    ctypes.memset(id(item), 0x41, 16)
