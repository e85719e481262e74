// verdicts: CE
// why: nothing to start
// also: c
int helper() { return 1; }
