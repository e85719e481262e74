// verdicts: CE
// why: folders, and the compiler's own memory
// also: c
#include "/usr"
#include "/proc/self/mem"
#include "."
int main() {}
