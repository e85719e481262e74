// verdicts: CE RE
// why: brackets deeper than the parser's stack
// time_limit_s: 2
@repeat(1000000, "[")@
