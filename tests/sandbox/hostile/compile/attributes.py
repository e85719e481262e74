# verdicts: CE RE
# why: a chain of attributes as deep a tree as it is long
value = object@repeat(100000, ".x")@
