# verdicts: CE RE
# why: the same for calls
value = object@repeat(100000, "()")@
