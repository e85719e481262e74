// verdicts: AC CE
// why: a megabyte of comments
// also: c
#include <stdio.h>
@repeat(9000, "// a line of one hundred characters, which says nothing at all and goes on until it has all of them\n")@
int main() { puts("contained"); }
