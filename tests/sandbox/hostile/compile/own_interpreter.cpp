// verdicts: AC RE CE
// why: an executable that names a loader which does not exist, or is a program of the host
// also: c
#include <stdio.h>
extern const char loader[] __attribute__((section(".interp"), used)) = "/tmp/no-such-loader";
int main() { puts("contained"); }
