# verdicts: CE
# why: brackets that are never closed
@repeat(100000, "[{(")@
