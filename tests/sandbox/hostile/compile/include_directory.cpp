// verdicts: CE
// why: folders, and the compiler's own memory
#include "/usr"
#include "/proc/self/mem"
#include "."
int main() {}
