// verdicts: CE
// why: the compiler's own environment and command line
// also: c
#include "/proc/self/environ"
#include "/proc/self/cmdline"
#include "/proc/1/environ"
int main() {}
