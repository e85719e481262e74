// verdicts: CE
// why: a file without an end
// compile_timeout_s: 0.5
// also: c
#include "/dev/zero"
int main() {}
