// verdicts: CE
// why: the compiler's own input: empty, or it waits
// also: c
#include "/dev/stdin"
#include "/proc/self/fd/0"
#include "/dev/tty"
int main( {}
