# verdicts: RE
# why: crashes the interpreter
import ctypes

ctypes.string_at(0)
