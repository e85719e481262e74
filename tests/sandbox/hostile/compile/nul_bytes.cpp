// verdicts: AC CE
// why: NUL bytes in the source
// also: c
#include <stdio.h>
// @repeat(3, "\u0000")@
int main() { puts("contained@repeat(1, "\u0000")@"); }
