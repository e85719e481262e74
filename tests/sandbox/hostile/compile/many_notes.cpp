// verdicts: AC
// why: megabytes of diagnostics about a program that compiles
// also: c
#include <stdio.h>
@repeat(9000, "#pragma message \"a remark that is as long as it likes to be, and says nothing %d\"\n")@
int main() { puts("contained"); }
