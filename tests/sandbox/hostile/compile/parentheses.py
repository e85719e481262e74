# verdicts: CE
# why: parentheses deeper than the parser allows
value = @repeat(100000, "(")@1@repeat(100000, ")")@
