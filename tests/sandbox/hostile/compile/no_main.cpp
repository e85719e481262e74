// verdicts: CE
// why: nothing to start
int helper() { return 1; }
