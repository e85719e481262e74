// verdicts: AC RE CE MLE
// why: the same untouched: loaded, or refused when it is executed
// also: c
#include <stdio.h>
static char data[4ll << 30];
int main() { puts(data[12345] ? "no" : "contained"); }
