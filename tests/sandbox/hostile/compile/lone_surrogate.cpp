// verdicts: AC CE
// why: text that JSON can carry and no encoding can write
// also: c
#include <stdio.h>
// @repeat(2, "\ud800")@
int main() { puts("contained"); }
